//! Annotations for GitHub's runners: workflow commands, one a line.

use crate::result::Comparison;
use crate::verdict::Verdict;

/// An annotation for every gated metric, or one for all where nothing can be said: errors for what fails,
/// warnings for what cannot be told and for [`Comparison::warned`], notices for what passes. Ends with a newline.
///
/// Escaped as the runner reads it: `%`, line breaks, and in titles also `:` and `,`.
pub fn github_annotations(comparison: &Comparison) -> String {
    let mut text: String =
        comparison.warned().map(|what| annotation("warning", "gage-host compare", what)).collect();
    if let (Some(refusal), Some(verdict)) = (&comparison.refusal, comparison.verdict) {
        return text + &line(verdict, "gage-host compare", refusal);
    }
    for metric in comparison.by_importance() {
        if let Some(gate) = &metric.gate {
            text += &line(gate.verdict, &metric.name(), &gate.reason);
        }
    }
    text
}

fn line(verdict: Verdict, title: &str, message: &str) -> String {
    let level = match verdict {
        Verdict::Pass => "notice",
        Verdict::Inconclusive => "warning",
        Verdict::Regression | Verdict::Mismatch | Verdict::Incomplete => "error",
    };
    annotation(level, &format!("{verdict} {title}"), message)
}

fn annotation(level: &str, title: &str, message: &str) -> String {
    let title = data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}\n", data(message))
}

fn data(text: &str) -> String {
    let text = gage_core::printable(text);
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
