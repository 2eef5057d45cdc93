//! JUnit XML: a test suite for every task, a test case for every metric.

use super::{change_of, counts_of};
use crate::compare::gate_changes::GateChange;
use crate::compare::reason;
use crate::compare::result::{Comparison, MetricComparison};
use crate::compare::verdict::Verdict;
use gage_core::printable_html;

/// Writes a comparison in the form that build servers read. What does not pass is a failure, what is invalid an error;
/// a metric that is not gated is skipped, with the reason, and what passes says why in its output.
pub fn junit_xml(comparison: &Comparison) -> String {
    let is_refused =
        comparison.refusal.is_some() && comparison.metrics.iter().all(|metric| metric.gate.is_none());
    let mut parts = Vec::new();
    if let (Some(refusal), true) = (&comparison.refusal, is_refused) {
        let error = format!("      <error type=\"INVALID\" message=\"{}\"/>\n", escape(refusal));
        parts.push(("gage-host compare", vec![case("gage-host compare", "comparison", Kind::Error, &error)]));
    }
    for task in &comparison.tasks {
        parts.push((&task.task_id, cases_of(comparison, &task.task_id)));
    }
    // A gate may have been on a task that is gone.
    for change in &comparison.gate_changes {
        if !parts.iter().any(|(name, _)| *name == change.task_id) {
            parts.push((&change.task_id, cases_of(comparison, &change.task_id)));
        }
    }
    let count = |kind: Kind| {
        let cases = parts.iter().flat_map(|(_, cases)| cases);
        cases.filter(|case| case.kind == kind).count()
    };
    let tests: usize = parts.iter().map(|(_, cases)| cases.len()).sum();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml += &format!(
        "<testsuites name=\"gage-host compare\" tests=\"{tests}\" failures=\"{}\" errors=\"{}\">\n",
        count(Kind::Failure),
        count(Kind::Error)
    );
    for (name, cases) in &parts {
        let count = |kind: Kind| cases.iter().filter(|case| case.kind == kind).count();
        xml += &format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
            escape(name),
            cases.len(),
            count(Kind::Failure),
            count(Kind::Error),
            count(Kind::Skipped)
        );
        cases.iter().for_each(|case| xml += &case.xml);
        xml += "  </testsuite>\n";
    }
    xml + "</testsuites>\n"
}

/// What came of a test case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

struct Case {
    kind: Kind,
    xml: String,
}

fn case(class: &str, name: &str, kind: Kind, content: &str) -> Case {
    let (class, name) = (escape(class), escape(name));
    let xml = format!("    <testcase classname=\"{class}\" name=\"{name}\">\n{content}    </testcase>\n");
    Case { kind, xml }
}

/// The metrics of a task, and those whose gate is lost with them.
fn cases_of(comparison: &Comparison, task_id: &str) -> Vec<Case> {
    let changes = || comparison.gate_changes.iter().filter(|change| change.task_id == task_id);
    let metrics = || comparison.metrics.iter().filter(|metric| metric.task_id == task_id);
    let mut cases: Vec<Case> = metrics()
        .map(|metric| of_metric(metric, changes().find(|change| change.metric_id == metric.metric_id)))
        .collect();
    let is_gone = |change: &&GateChange| !metrics().any(|metric| metric.metric_id == change.metric_id);
    let gone = changes().filter(is_gone);
    cases.extend(gone.map(|change| case(task_id, &change.metric_id, Kind::Skipped, &skipped(&change.what))));
    cases
}

fn of_metric(metric: &MetricComparison, change: Option<&GateChange>) -> Case {
    let name = match &metric.sub_score {
        Some(sub_score) => format!("{}.{sub_score}", metric.metric_id),
        None => metric.metric_id.clone(),
    };
    let figures = format!("{}\n{}", change_of(metric), counts_of(metric));
    let (kind, content, output) = match &metric.gate {
        None => {
            let why = change.map_or("no gate asks anything of this metric", |change| change.what.as_str());
            (Kind::Skipped, skipped(why), figures)
        }
        Some(gate) if gate.verdict == Verdict::Pass => {
            let mut output = format!("PASS: {}\n{figures}", gate.reason);
            if let Some(change) = change {
                output += &format!("\nwarning: {}", change.what);
            }
            (Kind::Passed, String::new(), output)
        }
        Some(gate) => {
            let is_failure = matches!(gate.verdict, Verdict::Regression | Verdict::Inconclusive);
            let (kind, element) =
                if is_failure { (Kind::Failure, "failure") } else { (Kind::Error, "error") };
            let content = format!(
                "      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n",
                gate.verdict,
                escape(&gate.reason),
                escape(&flips_of(metric))
            );
            (kind, content, figures)
        }
    };
    let output = format!("      <system-out>{}</system-out>\n", escape(&output));
    case(&metric.task_id, &name, kind, &(content + &output))
}

fn skipped(why: &str) -> String {
    format!("      <skipped message=\"{}\"/>\n", escape(why))
}

/// The samples that became worse by most, a line each.
fn flips_of(metric: &MetricComparison) -> String {
    let lines = metric.flips.iter().map(|flip| {
        let (id, tags) = (reason::shortened(&flip.sample_id), flip.error_tags.join(" "));
        let (base, new) = (reason::number(flip.base), reason::number(flip.new));
        format!("{id}: {base} → {new} {}", reason::shortened(&tags)).trim_end().to_owned()
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// A text as XML 1.0 may hold it: what it cannot hold at all is escaped as for a terminal.
fn escape(text: &str) -> String {
    printable_html(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}
