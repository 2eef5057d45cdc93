//! Result of a comparison, as written to JSON and rendered.

use super::format::shortened;
use super::identity::Difference;
use super::unscored::UnscoredReason;
use super::verdict::Verdict;
use gage_figures::Interval;
use serde::Serialize;
use std::collections::BTreeMap;

/// Comparison of two runs over the same samples. Differences are `new − base` in the units of the score;
/// "better" and "worse" follow the direction of the metric.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Version of this format.
    pub format_version: u32,
    /// The baseline.
    pub base: ComparedRun,
    /// The new run, compared with the baseline.
    pub new: ComparedRun,
    /// Verdict of the gate. Without a gate, it is set only if the runs cannot be compared.
    pub verdict: Option<Verdict>,
    /// True if both are the same run, or copies of it.
    pub same_run: bool,
    /// Reason why no metric can be judged; absent if metrics can be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Differences besides the model.
    pub differences: Vec<Difference>,
    /// Gates of the baseline's suite that this comparison lacks or loosens; empty if its gate differs from that of the new
    /// run's suite.
    pub gate_changes: Vec<GateChange>,
    /// Warnings that weaken a verdict: samples that are no longer clustered, margins wider than all scores.
    pub warnings: Vec<ComparisonWarning>,
    /// Pairing of the samples of each task.
    pub tasks: Vec<TaskPairing>,
    /// Tasks and metrics that are not compared, because only one run has them or they have no scores; serialized as text.
    pub not_compared: Vec<NotCompared>,
    /// Every metric of every task.
    pub metrics: Vec<MetricComparison>,
    /// Each metric that several tasks share, over all their samples.
    pub overall: Vec<Overall>,
}

/// A task, or a metric of a task, that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCompared {
    /// The task.
    pub task_id: String,
    /// The metric; `None` for the whole task.
    pub metric_id: Option<String>,
    /// Reason why it is not compared.
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
    /// Display name: the id or, if both runs share it, the folder name. The latter has as many parent folders as needed to
    /// distinguish the runs, and is followed by the id if that differs.
    pub label: String,
    /// The folder, as given.
    pub folder: String,
    /// Final status of the run.
    pub status: &'static str,
    /// The models that its tasks use.
    pub models: Vec<String>,
}

/// Number of samples of a task with a partner, and of those without one, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskPairing {
    /// The task.
    pub task_id: String,
    /// Samples of either run, including those that neither run reached; a sample in both counts once.
    pub total: u64,
    /// Samples in both runs, with the same content.
    pub paired: u64,
    /// Samples only in the baseline.
    pub only_in_base: u64,
    /// Samples only in the new run.
    pub only_in_new: u64,
    /// Samples with the same id in both runs, but made from different rows.
    pub different_content: u64,
    /// Planned samples that neither run reached, because both were stopped first.
    pub not_reached: u64,
    /// Ids that occur more than once in one of the runs, so their samples cannot be paired.
    pub duplicate_ids: u64,
}

/// One metric, or a sub-score of it, over the samples that were scored in both runs.
#[derive(Clone, Debug, Serialize)]
pub struct MetricComparison {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// The sub-score; absent for the primary score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_score: Option<String>,
    /// Scorer versions, base first; if they differ, the difference is listed.
    pub scorer_versions: [String; 2],
    /// True if a higher score is better.
    pub higher_is_better: bool,
    /// Samples scored in both runs.
    pub n: u64,
    /// Share of the samples of either run that is scored in both.
    pub coverage: f64,
    /// Number of paired samples without a score in the baseline, by reason.
    pub unscored_base: BTreeMap<UnscoredReason, u64>,
    /// Number of paired samples without a score in the new run, by reason.
    pub unscored_new: BTreeMap<UnscoredReason, u64>,
    /// Samples of either run with scores that are not finite numbers.
    pub not_finite: u64,
    /// Samples of either run with scores beyond ±1e100, which are too large to compare: the metric is invalid.
    pub too_large: u64,
    /// Mean of the n samples in the baseline.
    pub base: Option<f64>,
    /// Mean of the n samples in the new run.
    pub new: Option<f64>,
    /// `new − base`.
    pub difference: Option<f64>,
    /// The 95 % confidence interval of the difference.
    pub interval: Option<Interval>,
    /// Number of samples that became worse.
    pub worse: u64,
    /// Number of samples that became better.
    pub better: u64,
    /// Number of independent clusters of the n samples; absent if the suite defines none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
    /// The test for a loss.
    pub test: TestNote,
    /// Smallest loss that this run would have detected with a probability of 80 %.
    pub smallest_visible: Option<f64>,
    /// Result of the gate; absent if the metric is not gated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateNote>,
    /// The samples that became worse by the most, the worst first.
    pub flips: Vec<Flip>,
    /// Counts of each error tag in base and new, the largest change first.
    pub error_tags: Vec<TagDrift>,
    /// Comparison of each slice of the samples.
    pub slices: Vec<SliceDrift>,
}

impl MetricComparison {
    /// Returns the name used in reports: `exact_match of arithmetic`.
    pub(super) fn name(&self) -> String {
        let sub_score = self.sub_score.iter().map(|name| format!(" · {name}")).collect::<String>();
        shortened(&format!("{}{sub_score} of {}", self.metric_id, self.task_id))
    }
}

/// Name of the test of a figure of all samples.
pub(super) const BOOTSTRAP: &str = "bootstrap";

/// Result of the test for whether the new run is worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestNote {
    /// `mcnemar`, `student`, `bootstrap` or `none`.
    pub name: &'static str,
    /// The p-value of "worse".
    pub worse: f64,
    /// The p-value of "better".
    pub better: f64,
}

impl TestNote {
    /// There was nothing to test.
    pub const NONE: TestNote = TestNote { name: "none", worse: 1.0, better: 1.0 };

    /// Returns whether a figure of all samples was tested, rather than the mean of their scores.
    pub(super) fn is_of_corpus(&self) -> bool {
        self.name == BOOTSTRAP
    }
}

/// Requirements of a gate on a metric, and the result.
#[derive(Clone, Debug, Serialize)]
pub struct GateNote {
    /// The largest loss that is accepted.
    pub margin: f64,
    /// The level of both tests.
    pub alpha: f64,
    /// Minimum coverage.
    pub min_coverage: f64,
    /// The p-value of "worse", adjusted by Holm's procedure over all gated metrics.
    pub worse_adjusted: f64,
    /// The p-value against a loss of the margin or more; for scores of 0 and 1, it is from a test at the level `alpha`.
    pub margin_p_value: f64,
    /// Estimated number of samples that would decide a difference of the observed size in four runs of five; only if
    /// this run is inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_needed: Option<u64>,
    /// The verdict.
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
    /// Error tags of the new score: the reasons why it is low.
    pub error_tags: Vec<String>,
}

/// Counts of an error tag in both runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TagDrift {
    /// The tag.
    pub tag: String,
    /// Samples of the baseline with the tag.
    pub base: u64,
    /// Samples of the new run with the tag.
    pub new: u64,
    /// Samples that became worse and have the tag in the new run.
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
    /// Number of samples that became worse.
    pub worse: u64,
    /// Number of samples that became better.
    pub better: u64,
    /// The two-sided p-value of "changed".
    pub p_value: f64,
    /// The p-value after adjustment by Benjamini and Hochberg, over all slices of the comparison.
    pub q_value: f64,
}

/// A metric over all tasks that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// The metric.
    pub metric_id: String,
    /// Number of tasks that have the metric.
    pub tasks: u64,
    /// Samples scored in both runs.
    pub n: u64,
    /// Their mean in the baseline.
    pub base: f64,
    /// Their mean in the new run.
    pub new: f64,
    /// `new − base`.
    pub difference: f64,
    /// The 95 % confidence interval of the difference; samples of one cluster of a task count together.
    pub interval: Option<Interval>,
}

/// A gate of the baseline's suite that the new run's suite dropped or loosened, or that has nothing to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateChange {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// True if the metric is no longer gated.
    pub is_lost: bool,
    /// Description of the change.
    pub what: String,
}

/// A warning about the samples or the gate of a task that weakens a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparisonWarning {
    /// The task; absent if the warning is about the whole comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Description of the warning.
    pub what: String,
}

impl Comparison {
    /// Returns all warnings, in words: [`Comparison::gate_changes`], then [`Comparison::warnings`].
    pub fn warned(&self) -> impl Iterator<Item = &str> {
        let gates = self.gate_changes.iter().map(|change| change.what.as_str());
        gates.chain(self.warnings.iter().map(|warning| warning.what.as_str()))
    }
}
