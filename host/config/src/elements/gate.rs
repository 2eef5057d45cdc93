//! `gate[]`: maximum loss against a baseline, by metric.

use crate::elements::task::TaskSpec;
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Requirement on one metric against a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSpec {
    /// The metric, by id.
    pub metric_id: String,
    /// The task, by id; default every task that has the metric.
    pub task_id: Option<String>,
    /// The largest accepted loss, in units of the score; greater than 0.
    pub margin: f64,
    /// Maximum rate of false verdicts: an unchanged run called a regression, or a loss of the margin called a pass.
    /// From 1e-9 to 0.5; default 0.05.
    pub alpha: f64,
    /// Minimum share of samples that must be scored in both runs; default 0.95.
    pub min_coverage: f64,
    /// Further figures of the metric, each with its own margin.
    pub sub_scores: Vec<SubScoreGate>,
    /// Span of the entry.
    pub span: Span,
}

/// Requirement on a further figure of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct SubScoreGate {
    /// The name.
    pub name: String,
    /// The largest accepted loss, in its own units; greater than 0.
    pub margin: f64,
    /// True if more is better; default: as the metric declares for it.
    pub higher_is_better: Option<bool>,
}

/// The default level of both tests.
const DEFAULT_ALPHA: f64 = 0.05;

/// The default minimum coverage.
const DEFAULT_MIN_COVERAGE: f64 = 0.95;

impl GateSpec {
    /// Creates a gate with a margin and the defaults, not read from a text.
    pub fn new(metric_id: &str, margin: f64) -> GateSpec {
        GateSpec {
            metric_id: metric_id.to_owned(),
            task_id: None,
            margin,
            alpha: DEFAULT_ALPHA,
            min_coverage: DEFAULT_MIN_COVERAGE,
            sub_scores: Vec::new(),
            span: Span { source: 0, start: 0, end: 0 },
        }
    }

    /// Reads the list `gate` of a table.
    pub(crate) fn read_list(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<GateSpec> {
        let items = table.list("gate", problems);
        let gates: Vec<GateSpec> =
            items.into_iter().filter_map(|(node, path)| GateSpec::read(node, path, problems)).collect();
        check_repeated(&gates, problems);
        gates
    }

    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<GateSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let metric_id = table.required_id("metric", problems);
        let task_id = table.text("task", problems);
        table.required("margin", problems);
        let margin = margin(&mut table, problems);
        let alpha = alpha(&mut table, problems);
        let min_coverage = table.float("min_coverage", 0.0..=1.0, problems);
        let sub_scores = read_sub_scores(&mut table, problems);
        table.finish(problems);
        Some(GateSpec {
            metric_id: metric_id?,
            task_id,
            margin: margin?,
            alpha: alpha.unwrap_or(DEFAULT_ALPHA),
            min_coverage: min_coverage.unwrap_or(DEFAULT_MIN_COVERAGE),
            sub_scores,
            span: node.span,
        })
    }

    /// Reports the metrics and tasks that the suite does not have. `all` has the ids of all metrics.
    pub(crate) fn check(&self, tasks: &[Arc<TaskSpec>], all: &BTreeSet<&str>, problems: &mut Problems) {
        let metric_id = self.metric_id.as_str();
        let (is_known, place, of_task) = match &self.task_id {
            None => (all.contains(metric_id), "no task has".to_owned(), None),
            Some(task_id) => match tasks.iter().find(|task| task.task_id == *task_id) {
                Some(task) => {
                    let is_known = task.metrics.iter().any(|metric| metric.metric_id == metric_id);
                    (is_known, format!("the task `{task_id}` does not have"), Some(task))
                }
                None => {
                    problems
                        .error(self.span, "gate.task", format!("there is no task `{task_id}`"))
                        .known(task_id, tasks.iter().map(|task| task.task_id.as_str()));
                    return;
                }
            },
        };
        if is_known {
            return;
        }
        let known = match of_task {
            Some(task) => task.metrics.iter().map(|metric| metric.metric_id.as_str()).collect(),
            None => all.clone(),
        };
        problems
            .error(self.span, "gate.metric", format!("{place} the metric `{metric_id}`"))
            .known(metric_id, known);
    }
}

/// Reports metrics that are gated twice.
fn check_repeated(gates: &[GateSpec], problems: &mut Problems) {
    let mut seen = HashSet::new();
    for gate in gates {
        if !seen.insert((&gate.metric_id, &gate.task_id)) {
            let message = format!("the metric `{}` is gated twice", gate.metric_id);
            problems.error(gate.span, "gate", message).help("remove one of the two, or name another `task`");
        }
    }
}

const MARGIN_HELP: &str = "it is the largest loss that you accept, such as 0.01: no number of samples can \
                           show that nothing at all was lost";
/// Describes the range in words, instead of the digits of the largest representable number.
const POSITIVE: &str = "a number greater than 0";
const ALPHA_RANGE: &str = "a number from 1e-9 to 0.5";
/// The probabilities of exact tests are sums of thousands of terms: below this level, rounding errors would decide.
const MIN_ALPHA: f64 = 1e-9;
const ALPHA_HELP: &str = "it is how often the gate may be wrong, such as 0.05";

fn margin(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<f64> {
    let wanted = |number: f64| number > 0.0 && number.is_finite();
    number(table, "margin", wanted, (POSITIVE, "must be greater than 0", MARGIN_HELP), problems)
}

fn alpha(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<f64> {
    let wanted = |number: f64| (MIN_ALPHA..=0.5).contains(&number);
    number(table, "alpha", wanted, (ALPHA_RANGE, "must be from 1e-9 to 0.5", ALPHA_HELP), problems)
}

/// Reads a number of the given kind; the texts describe the expected value, the range, and the reason.
fn number(
    table: &mut MappingReader<'_>,
    key: &'static str,
    is_wanted: impl Fn(f64) -> bool,
    (wanted, must, help): (&str, &str, &str),
    problems: &mut Problems,
) -> Option<f64> {
    let node = table.get(key)?;
    match number_of(node) {
        Some(number) if is_wanted(number) => Some(number),
        Some(number) => {
            let message = format!("`{key}` {must}, found {}", shown(number));
            problems.error(node.span, &table.path_of(key), message).help(help);
            None
        }
        None => table.mistyped(node, key, wanted, problems),
    }
}

fn number_of(node: &Node) -> Option<f64> {
    match node.value {
        // Whole numbers in a configuration stay far below 2^53.
        NodeValue::Int(number) => Some(number as f64),
        NodeValue::Float(number) => Some(number),
        _ => None,
    }
}

/// Formats a number with few digits.
fn shown(number: f64) -> String {
    if number == 0.0 || (1e-6..1e9).contains(&number.abs()) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

/// Reads `{f1: 0.02, mae: {margin: 0.1, higher_is_better: false}}`.
fn read_sub_scores(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<SubScoreGate> {
    let Some(node) = table.free_map("sub_scores", problems) else { return Vec::new() };
    let path = table.path_of("sub_scores");
    let entries = node.as_map().unwrap_or_default();
    let read = |entry: &crate::node::Entry, problems: &mut Problems| {
        let path = format!("{path}.{}", entry.key);
        let (margin, higher_is_better) = match number_of(&entry.node) {
            Some(margin) if margin > 0.0 && margin.is_finite() => (margin, None),
            Some(margin) => {
                let message =
                    format!("the margin of `{}` must be greater than 0, found {}", entry.key, shown(margin));
                problems.error(entry.node.span, &path, message).help(MARGIN_HELP);
                return None;
            }
            None => {
                let mut table = MappingReader::open(&entry.node, path, problems)?;
                table.required("margin", problems);
                let margin = margin(&mut table, problems);
                let higher_is_better = table.boolean("higher_is_better", problems);
                table.finish(problems);
                (margin?, higher_is_better)
            }
        };
        Some(SubScoreGate { name: entry.key.clone(), margin, higher_is_better })
    };
    entries.iter().filter_map(|entry| read(entry, problems)).collect()
}
