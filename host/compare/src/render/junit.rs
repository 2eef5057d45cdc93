//! JUnit XML: a test suite for every task, a test case for every metric.

use super::{change_of, counts_of};
use crate::gate_changes::GateChange;
use crate::reason;
use crate::result::{Comparison, MetricComparison, NotCompared};
use crate::verdict::Verdict;
use crate::warnings::ComparisonWarning;
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
    // Tasks that only one of the runs has, with what their gates were.
    let lone = comparison.not_compared.iter().filter(|one| one.metric_id.is_none()).map(|one| &one.task_id);
    for task_id in lone.chain(comparison.gate_changes.iter().map(|change| &change.task_id)) {
        if !parts.iter().any(|(name, _)| name == task_id) {
            parts.push((task_id, cases_of(comparison, task_id)));
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

/// What the case of a task is called that only one of the runs has.
const WHOLE_TASK: &str = "the whole task";

/// The metrics of a task, those whose gate is lost with them, and what only one of the runs has.
fn cases_of(comparison: &Comparison, task_id: &str) -> Vec<Case> {
    let changes = || comparison.gate_changes.iter().filter(|change| change.task_id == task_id);
    let metrics = || comparison.metrics.iter().filter(|metric| metric.task_id == task_id);
    let of_task = |warning: &&ComparisonWarning| warning.task_id.as_deref().is_none_or(|one| one == task_id);
    let warnings: Vec<&ComparisonWarning> = comparison.warnings.iter().filter(of_task).collect();
    let mut cases: Vec<Case> = metrics()
        .map(|metric| {
            of_metric(metric, changes().find(|change| change.metric_id == metric.metric_id), &warnings)
        })
        .collect();
    let is_gone = |change: &&GateChange| !metrics().any(|metric| metric.metric_id == change.metric_id);
    let gone = changes().filter(is_gone);
    cases.extend(gone.map(|change| case(task_id, &change.metric_id, Kind::Skipped, &skipped(&change.what))));
    let is_said = |one: &&NotCompared| {
        let metric_id = one.metric_id.as_ref();
        metric_id.is_some_and(|metric_id| changes().any(|change| change.metric_id == *metric_id))
    };
    let left = comparison.not_compared.iter().filter(|one| one.task_id == task_id && !is_said(one));
    cases.extend(left.map(|one| {
        let name = one.metric_id.as_deref().unwrap_or(WHOLE_TASK);
        case(task_id, name, Kind::Skipped, &skipped(&format!("not compared: {}", one.why)))
    }));
    cases
}

fn of_metric(
    metric: &MetricComparison,
    change: Option<&GateChange>,
    warnings: &[&ComparisonWarning],
) -> Case {
    let name = match &metric.sub_score {
        Some(sub_score) => format!("{}.{sub_score}", metric.metric_id),
        None => metric.metric_id.clone(),
    };
    let mut figures = format!("{}\n{}", change_of(metric), counts_of(metric));
    warnings.iter().for_each(|warning| figures += &format!("\nwarning: {}", warning.what));
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
