//! JUnit XML of a comparison: a test suite for every task, a test case for every metric.

use super::{change_of, counts_of};
use crate::format;
use crate::result::{Comparison, ComparisonWarning, GateChange, MetricComparison, NotCompared};
use crate::verdict::Verdict;
use gage_core::printable;
use itertools::Itertools as _;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::io;

/// Name of the report, and of the case with the reason why the runs cannot be compared.
const REPORT_NAME: &str = "gage-host compare";

/// Name of the case for a task that only one of the runs has.
const WHOLE_TASK: &str = "the whole task";

/// Writes a comparison as JUnit XML for build servers.
///
/// A metric that does not pass is a failure, and an invalid one is an error. An ungated metric is skipped, with the reason.
/// A metric that passes has the reason in its output.
///
/// # Errors
/// If the XML cannot be written, which does not happen for any comparison.
pub fn junit_xml(comparison: &Comparison) -> io::Result<String> {
    let mut report = Report::new(REPORT_NAME);
    let is_refused =
        comparison.refusal.is_some() && comparison.metrics.iter().all(|metric| metric.gate.is_none());
    if let (Some(refusal), true) = (&comparison.refusal, is_refused) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("INVALID").set_message(xml_text(refusal));
        let mut suite = TestSuite::new(REPORT_NAME);
        suite.add_test_case(case(REPORT_NAME, "comparison", status));
        report.add_test_suite(suite);
    }
    for task_id in task_ids(comparison) {
        let mut suite = TestSuite::new(xml_text(task_id));
        suite.add_test_cases(cases_of(comparison, task_id));
        report.add_test_suite(suite);
    }
    report.to_string().map_err(io::Error::other)
}

/// Returns the tasks that were compared, then those that only one of the runs has or that lost their gates.
fn task_ids(comparison: &Comparison) -> Vec<&str> {
    let compared = comparison.tasks.iter().map(|task| &task.task_id);
    let lone = comparison.not_compared.iter().filter(|one| one.metric_id.is_none()).map(|one| &one.task_id);
    let ungated = comparison.gate_changes.iter().map(|change| &change.task_id);
    compared.chain(lone).chain(ungated).map(String::as_str).unique().collect()
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(xml_text(name), status);
    case.set_classname(xml_text(class));
    case
}

/// Returns the cases of a task: its metrics, including those that lost their gate, and anything that only one run has.
fn cases_of(comparison: &Comparison, task_id: &str) -> Vec<TestCase> {
    let changes = || comparison.gate_changes.iter().filter(|change| change.task_id == task_id);
    let metrics = || comparison.metrics.iter().filter(|metric| metric.task_id == task_id);
    let of_task = |warning: &&ComparisonWarning| warning.task_id.as_deref().is_none_or(|one| one == task_id);
    let warnings: Vec<&ComparisonWarning> = comparison.warnings.iter().filter(of_task).collect();
    let mut cases: Vec<TestCase> = metrics()
        .map(|metric| {
            of_metric(metric, changes().find(|change| change.metric_id == metric.metric_id), &warnings)
        })
        .collect();
    let is_gone = |change: &&GateChange| !metrics().any(|metric| metric.metric_id == change.metric_id);
    let gone = changes().filter(is_gone);
    cases.extend(gone.map(|change| case(task_id, &change.metric_id, skipped(&change.what))));
    let is_said = |one: &&NotCompared| {
        let metric_id = one.metric_id.as_ref();
        metric_id.is_some_and(|metric_id| changes().any(|change| change.metric_id == *metric_id))
    };
    let left = comparison.not_compared.iter().filter(|one| one.task_id == task_id && !is_said(one));
    cases.extend(left.map(|one| {
        let name = one.metric_id.as_deref().unwrap_or(WHOLE_TASK);
        case(task_id, name, skipped(&format!("not compared: {}", one.why)))
    }));
    cases
}

fn of_metric(
    metric: &MetricComparison,
    change: Option<&GateChange>,
    warnings: &[&ComparisonWarning],
) -> TestCase {
    let name = match &metric.sub_score {
        Some(sub_score) => format!("{}.{sub_score}", metric.metric_id),
        None => metric.metric_id.clone(),
    };
    let mut figures = format!("{}\n{}", change_of(metric), counts_of(metric));
    warnings.iter().for_each(|warning| figures += &format!("\nwarning: {}", warning.what));
    let (status, output) = match &metric.gate {
        None => {
            let why = change.map_or("this metric is not gated", |change| change.what.as_str());
            (skipped(why), figures)
        }
        Some(gate) if gate.verdict == Verdict::Pass => {
            let mut output = format!("PASS: {}\n{figures}", gate.reason);
            if let Some(change) = change {
                output += &format!("\nwarning: {}", change.what);
            }
            (TestCaseStatus::success(), output)
        }
        Some(gate) => {
            let mut status = TestCaseStatus::non_success(match gate.verdict {
                Verdict::Regression | Verdict::Inconclusive => NonSuccessKind::Failure,
                _ => NonSuccessKind::Error,
            });
            status
                .set_type(gate.verdict.to_string())
                .set_message(xml_text(&gate.reason))
                .set_description(xml_text(&flips_of(metric)));
            (status, figures)
        }
    };
    let mut case = case(&metric.task_id, &name, status);
    case.set_system_out(xml_text(&output));
    case
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(xml_text(why));
    status
}

/// Lists the samples that became worse by the most, one per line.
fn flips_of(metric: &MetricComparison) -> String {
    let lines = metric.flips.iter().map(|flip| {
        let (id, tags) = (format::shortened(&flip.sample_id), flip.error_tags.join(" "));
        let (base, new) = (format::number(flip.base), format::number(flip.new));
        format!("{id}: {base} → {new} {}", format::shortened(&tags)).trim_end().to_owned()
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Escapes characters that XML 1.0 cannot represent. `quick-junit` escapes markup but drops control characters; escaping
/// these first, as for a terminal, keeps third-party names complete.
fn xml_text(text: &str) -> String {
    printable(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}
