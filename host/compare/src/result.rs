//! Result of a comparison, as it is written as JSON and rendered.

use super::format::shortened;
use super::identity::Difference;
use super::unscored::UnscoredReason;
use super::verdict::Verdict;
use gage_figures::Interval;
use serde::Serialize;
use std::collections::BTreeMap;

/// Two runs of the same samples, side by side. Differences are `new − base` in the units of the score;
/// "better" and "worse" follow the direction of the metric.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Version of this format.
    pub format_version: u32,
    /// What everything is measured against.
    pub base: ComparedRun,
    /// What is measured.
    pub new: ComparedRun,
    /// The answer of the gate; without one only why the runs cannot be compared, if they cannot.
    pub verdict: Option<Verdict>,
    /// Whether both are one and the same run, or copies of it.
    pub same_run: bool,
    /// Why nothing can be said of any metric; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// What differs besides the model, and need not.
    pub differences: Vec<Difference>,
    /// What the suite of the baseline asks, and the gate of this comparison does not; empty where the gate is another one
    /// than that of the suite of the new run.
    pub gate_changes: Vec<GateChange>,
    /// What makes an answer say less than it seems to: samples that are no longer counted in clusters, margins that are
    /// wider than all scores.
    pub warnings: Vec<ComparisonWarning>,
    /// How the samples of each task were paired.
    pub tasks: Vec<TaskPairing>,
    /// Tasks and metrics that are not compared, since only one of the runs has them or they have no scores; as texts.
    pub not_compared: Vec<NotCompared>,
    /// Every metric of every task.
    pub metrics: Vec<MetricComparison>,
    /// For each metric that several tasks have, all their samples together.
    pub overall: Vec<Overall>,
}

/// A task, or a metric of a task, that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCompared {
    /// The task.
    pub task_id: String,
    /// The metric; none for the task with all its metrics.
    pub metric_id: Option<String>,
    /// Why not.
    pub why: &'static str,
}

impl std::fmt::Display for NotCompared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NotCompared { task_id, metric_id, why } = self;
        match metric_id {
            Some(metric_id) => write!(formatter, "metric {metric_id} of task {task_id}: {why}"),
            None => write!(formatter, "task {task_id}: {why}"),
        }
    }
}

impl Serialize for NotCompared {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One of the two runs.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedRun {
    /// The id.
    pub run_id: String,
    /// What it is called: its id; where both runs have one id the name of its folder, with as much before it as tells
    /// the folders apart, and the id behind it where that is another.
    pub label: String,
    /// The folder, as it was given.
    pub folder: String,
    /// How it ended.
    pub status: &'static str,
    /// The models that its tasks asked.
    pub models: Vec<String>,
}

/// How many samples of a task have a partner, and why the others have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskPairing {
    /// The task.
    pub task_id: String,
    /// Samples of either run; one that both have counts once, and those count that neither run came to.
    pub total: u64,
    /// In both runs, with the same content.
    pub paired: u64,
    /// Only in the baseline.
    pub only_in_base: u64,
    /// Only in the new run.
    pub only_in_new: u64,
    /// In both by id, and made from different rows.
    pub different_content: u64,
    /// Samples that were to be asked, and that neither run came to, since both were stopped before.
    pub not_reached: u64,
    /// Ids that occur more than once in one of the runs, so that nobody knows which are partners.
    pub duplicate_ids: u64,
}

/// One metric, or a further figure of it, over the samples that were scored in both runs.
#[derive(Clone, Debug, Serialize)]
pub struct MetricComparison {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// The further figure; absent for the primary score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_score: Option<String>,
    /// Versions of the scoring, base first; equal, or the difference is listed.
    pub scorer_versions: [String; 2],
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Samples scored in both runs.
    pub n: u64,
    /// Of the samples of either run the share that is scored in both.
    pub coverage: f64,
    /// Why samples that have a partner have no score in the baseline, and how many.
    pub unscored_base: BTreeMap<UnscoredReason, u64>,
    /// The same for the new run.
    pub unscored_new: BTreeMap<UnscoredReason, u64>,
    /// Scores that are no finite numbers.
    pub not_finite: u64,
    /// Samples of either run whose scores are beyond ±1e100, which is too large to compare: the metric is invalid.
    pub too_large: u64,
    /// The means of the n samples.
    pub base: Option<f64>,
    /// The same for the new run.
    pub new: Option<f64>,
    /// `new − base`.
    pub difference: Option<f64>,
    /// The 95 % confidence interval of the difference.
    pub interval: Option<Interval>,
    /// How many samples became worse.
    pub worse: u64,
    /// How many became better.
    pub better: u64,
    /// How many independent clusters the n samples come in, where the suite names some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// The test for a loss.
    pub test: TestNote,
    /// The loss that this run would have called with a chance of 80 %.
    pub smallest_visible: Option<f64>,
    /// What the gate says; absent where the metric is not gated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateNote>,
    /// The samples that became worse by most, the worst first.
    pub flips: Vec<Flip>,
    /// How often each reason was given, in base and new; the largest change first.
    pub error_tags: Vec<TagDrift>,
    /// The same figures for parts of the samples.
    pub slices: Vec<SliceDrift>,
}

impl MetricComparison {
    /// What it is called in reports: `exact_match of arithmetic`.
    pub(super) fn name(&self) -> String {
        let sub_score = self.sub_score.iter().map(|name| format!(" · {name}")).collect::<String>();
        shortened(&format!("{}{sub_score} of {}", self.metric_id, self.task_id))
    }
}

/// The test that asks whether the new run is worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestNote {
    /// `mcnemar`, `sign_flip` or `none`.
    pub name: &'static str,
    /// The p-value of "worse".
    pub worse: f64,
    /// The p-value of "better".
    pub better: f64,
    /// Random permutations; absent where the test is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permutations: Option<u32>,
}

impl TestNote {
    /// There was nothing to test.
    pub const NONE: TestNote = TestNote { name: "none", worse: 1.0, better: 1.0, permutations: None };
}

/// What a gate asks of a metric, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct GateNote {
    /// The largest loss that is accepted.
    pub margin: f64,
    /// The level of both tests.
    pub alpha: f64,
    /// Least coverage.
    pub min_coverage: f64,
    /// The p-value of "worse", adjusted by Holm's procedure over all gated metrics.
    pub worse_adjusted: f64,
    /// The p-value against a loss of the margin or more; that of scores of 0 and 1 is of a test at the level `alpha`.
    pub margin_p_value: f64,
    /// About how many samples would show a difference of the observed size to be one or the other in four
    /// runs of five; only where this run cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_needed: Option<u64>,
    /// The answer.
    pub verdict: Verdict,
    /// The reason in words.
    pub reason: String,
}

/// A sample whose score became worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flip {
    /// The sample.
    pub sample_id: String,
    /// The score in the baseline.
    pub base: f64,
    /// The score in the new run.
    pub new: f64,
    /// Why the new score is low.
    pub error_tags: Vec<String>,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagDrift {
    /// The reason.
    pub tag: String,
    /// Records of the baseline.
    pub base: u64,
    /// Records of the new run.
    pub new: u64,
    /// Samples that became worse and have it in the new run.
    pub worse: u64,
}

/// One slice, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceDrift {
    /// The path.
    pub by: String,
    /// The value under it.
    pub key: String,
    /// Samples scored in both runs.
    pub n: u64,
    /// Their mean in the baseline.
    pub base: f64,
    /// Their mean in the new run.
    pub new: f64,
    /// How many became worse.
    pub worse: u64,
    /// How many became better.
    pub better: u64,
    /// The two-sided p-value of "changed".
    pub p_value: f64,
    /// The same after Benjamini and Hochberg, over all slices of the comparison.
    pub q_value: f64,
}

/// A metric over all tasks that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// The metric.
    pub metric_id: String,
    /// How many tasks have it.
    pub tasks: u64,
    /// Samples scored in both runs.
    pub n: u64,
    /// Their mean in the baseline.
    pub base: f64,
    /// Their mean in the new run.
    pub new: f64,
    /// `new − base`.
    pub difference: f64,
    /// Its 95 % confidence interval; samples of one cluster of a task count together.
    pub interval: Option<Interval>,
}

/// A gate that the suite of the baseline has, and that of the new run has no more, or a looser one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateChange {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// Whether nothing is asked of the metric any more.
    pub is_lost: bool,
    /// What changed, in words.
    pub what: String,
}

/// Something about the samples or the gate of a task that makes an answer say less than it seems to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparisonWarning {
    /// The task; absent where it is about the whole comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What it is, in words.
    pub what: String,
}

impl Comparison {
    /// All that is warned of, in words: gates that are lost, and what [`Comparison::warnings`] holds.
    pub fn warned(&self) -> impl Iterator<Item = &str> {
        let gates = self.gate_changes.iter().map(|change| change.what.as_str());
        gates.chain(self.warnings.iter().map(|warning| warning.what.as_str()))
    }
}
