//! Annotations for GitHub's runners: workflow commands, one per line.

use crate::result::Comparison;
use crate::verdict::Verdict;

/// Returns an annotation for every gated metric, or a single one if no metric can be judged.
///
/// Failures are errors, passes are notices; inconclusive verdicts and [`Comparison::warned`] are warnings. The text ends with
/// a newline.
///
/// It is escaped as the runner expects: `%`, line breaks, and in titles also `:` and `,`.
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
