//! JUnit XML: a test suite for every task, a test case for every metric.

use super::{change_of, counts_of};
use crate::compare::reason;
use crate::compare::result::{Comparison, MetricComparison};
use crate::compare::verdict::Verdict;
use gage_core::printable_html;

/// Writes a comparison in the form that build servers read. What does not pass is a failure, what is
/// invalid an error; a metric that is not gated passes.
pub fn junit_xml(comparison: &Comparison) -> String {
    let count = |wanted: fn(Verdict) -> bool, task_id: Option<&str>| {
        let metrics = comparison.metrics.iter();
        metrics
            .filter(|metric| task_id.is_none_or(|task_id| metric.task_id == task_id))
            .filter(|metric| metric.gate.as_ref().is_some_and(|gate| wanted(gate.verdict)))
            .count()
    };
    let is_refused =
        comparison.refusal.is_some() && comparison.metrics.iter().all(|metric| metric.gate.is_none());
    let refused = usize::from(is_refused);
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml += &format!(
        "<testsuites name=\"gage-host compare\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        comparison.metrics.len() + refused,
        count(is_failure, None),
        count(is_error, None) + refused
    );
    if let (Some(refusal), true) = (&comparison.refusal, is_refused) {
        xml += "  <testsuite name=\"gage-host compare\" tests=\"1\" failures=\"0\" errors=\"1\">\n";
        xml += "    <testcase classname=\"gage-host compare\" name=\"comparison\">\n";
        xml += &format!("      <error type=\"INVALID\" message=\"{}\"/>\n", escape(refusal));
        xml += "    </testcase>\n  </testsuite>\n";
    }
    for task in &comparison.tasks {
        let of_task = || comparison.metrics.iter().filter(|metric| metric.task_id == task.task_id);
        xml += &format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
            escape(&task.task_id),
            of_task().count(),
            count(is_failure, Some(&task.task_id)),
            count(is_error, Some(&task.task_id))
        );
        of_task().for_each(|metric| xml += &case(metric));
        xml += "  </testsuite>\n";
    }
    xml + "</testsuites>\n"
}

fn is_failure(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Regression | Verdict::Inconclusive)
}

fn is_error(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Mismatch | Verdict::Incomplete)
}

fn case(metric: &MetricComparison) -> String {
    let name = match &metric.sub_score {
        Some(sub_score) => format!("{}.{sub_score}", metric.metric_id),
        None => metric.metric_id.clone(),
    };
    let mut xml =
        format!("    <testcase classname=\"{}\" name=\"{}\">\n", escape(&metric.task_id), escape(&name));
    if let Some(gate) = metric.gate.as_ref().filter(|gate| gate.verdict != Verdict::Pass) {
        let element = if is_failure(gate.verdict) { "failure" } else { "error" };
        let flips: Vec<String> = metric
            .flips
            .iter()
            .map(|flip| {
                let (id, tags) = (reason::shortened(&flip.sample_id), flip.error_tags.join(" "));
                let (base, new) = (reason::number(flip.base), reason::number(flip.new));
                format!("{id}: {base} → {new} {}", reason::shortened(&tags)).trim_end().to_owned()
            })
            .collect();
        xml += &format!(
            "      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n",
            gate.verdict,
            escape(&gate.reason),
            escape(&flips.join("\n"))
        );
    }
    let output = format!("{}\n{}", change_of(metric), counts_of(metric));
    xml + &format!("      <system-out>{}</system-out>\n    </testcase>\n", escape(&output))
}

/// A text as XML 1.0 may hold it: what it cannot hold at all is escaped as for a terminal.
fn escape(text: &str) -> String {
    printable_html(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}
