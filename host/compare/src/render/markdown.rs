//! Markdown of a comparison, for pull requests and the summaries of build servers.

use super::{SAME_RUN, change_of, counts_of, drift_lines};
use crate::format;
use crate::reason;
use crate::result::{Comparison, Flip, MetricComparison};
use gage_core::{printable_html, printable_line};

/// Writes a comparison as GitHub-flavoured Markdown. Third-party text is never interpreted as markup.
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("## {}\n\n", escape(&comparison.headline()));
    for (name, run) in [("base", &comparison.base), ("new", &comparison.new)] {
        let models = escape(&run.models.join(", "));
        text += &format!("- **{name}**: {} ({models}), {}\n", escape(&run.label), run.status);
    }
    if comparison.same_run {
        text += &format!("- **{SAME_RUN}**\n");
    }
    let causes = reason::causes(&comparison.tasks);
    if !causes.is_empty() {
        text += &format!("- samples in only one of the runs: {causes}\n");
    }
    for difference in &comparison.differences {
        let allowed = if difference.allowed { " (allowed)" } else { "" };
        text += &format!(
            "- **{} differ**{allowed}: {}\n",
            difference.part.name(),
            escape(&format::shortened(&format::with_short_digests(&difference.what)))
        );
    }
    for what in comparison.warned() {
        text += &format!("- **warning**: {}\n", escape(what));
    }
    if !comparison.metrics.is_empty() {
        text += "\n| metric | verdict | change | samples |\n| --- | --- | --- | --- |\n";
    }
    for metric in comparison.by_importance() {
        let verdict = metric.gate.as_ref().map_or("", |gate| gate.verdict.word());
        text += &format!(
            "| {} | {verdict} | {} | {} |\n",
            escape(&metric.name()),
            change_of(metric),
            counts_of(metric)
        );
    }
    comparison.by_importance().into_iter().for_each(|metric| text += &details(metric));
    for what in &comparison.not_compared {
        text += &format!("\nNot compared: {}\n", escape(&format::shortened(&what.to_string())));
    }
    text
}

fn details(metric: &MetricComparison) -> String {
    let reason = metric.gate.as_ref().map(|gate| gate.reason.as_str()).unwrap_or_default();
    let lines: Vec<String> = drift_lines(metric).iter().map(|line| format!("- {}\n", escape(line))).collect();
    if reason.is_empty() && lines.is_empty() && metric.flips.is_empty() {
        return String::new();
    }
    let mut text = format!("\n### {}\n\n", escape(&metric.name()));
    if !metric.flips.is_empty() {
        text += "| became worse | base | new | tags |\n| --- | ---: | ---: | --- |\n";
    }
    for Flip { sample_id, base, new, error_tags } in &metric.flips {
        text += &format!(
            "| {} | {} | {} | {} |\n",
            escape(&format::shortened(sample_id)),
            format::number(*base),
            format::number(*new),
            escape(&format::shortened(&error_tags.join(", ")))
        );
    }
    if !metric.flips.is_empty() {
        text.push('\n');
    }
    lines.iter().for_each(|line| text += line);
    if !reason.is_empty() {
        let gap = if lines.is_empty() { "" } else { "\n" };
        text += &format!("{gap}{}\n", escape(reason));
    }
    text
}

/// Escapes a text so that Markdown shows it verbatim: no markup, table cells or mentions.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable_html(&printable_line(text)).chars() {
        match character {
            '|' | '`' | '*' | '_' | '[' | ']' | '~' | '\\' | '@' | '!' | '$' => {
                escaped += &format!("&#{};", u32::from(character));
            }
            other => escaped.push(other),
        }
    }
    escaped
}
