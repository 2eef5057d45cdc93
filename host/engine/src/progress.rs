//! Progress of a running run.

use gage_core::{MetricResult, Outcome};
use gage_record::{ErrorNote, SampleRecord, ScoresEntry};

/// The mean of a metric over the first answers of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSoFar {
    /// The metric.
    pub metric_id: String,
    /// The mean of its scores.
    pub mean: f64,
    /// Number of its scores.
    pub n: u64,
}

/// A sample that is finished and in the journal.
#[derive(Clone, Copy, Debug)]
pub struct FinishedSample<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The row number in the task.
    pub index: u64,
    /// The Sample's ID.
    pub sample_id: &'a str,
    /// The outcome.
    pub outcome: Outcome,
    /// The error, if the sample failed.
    pub error: Option<&'a ErrorNote>,
    /// Results of the metrics, in suite order.
    pub metrics: &'a [MetricResult],
    /// Results of the metrics that read a clock.
    pub timing_metrics: &'a [MetricResult],
    /// True if its answer was reported before.
    pub was_answered: bool,
}

impl<'a> FinishedSample<'a> {
    pub(crate) fn of_scores(entry: &'a ScoresEntry) -> FinishedSample<'a> {
        FinishedSample {
            task_id: &entry.task_id,
            index: entry.index,
            sample_id: &entry.sample_id,
            outcome: entry.outcome,
            error: entry.scores.error.as_ref(),
            metrics: &entry.scores.metrics,
            timing_metrics: &entry.scores.timing_metrics,
            was_answered: true,
        }
    }

    /// Describes a finished record.
    pub fn of_record(record: &'a SampleRecord) -> FinishedSample<'a> {
        FinishedSample {
            task_id: &record.task_id,
            index: record.index,
            sample_id: &record.sample_id,
            outcome: record.outcome,
            error: record.error.as_ref(),
            metrics: &record.metrics,
            timing_metrics: &record.timing_metrics,
            was_answered: false,
        }
    }
}

/// A metric whose figure is the mean of its scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanMetric<'m> {
    /// Its id.
    pub metric_id: &'m str,
    /// Smallest and largest possible score; infinite where it declares no bound.
    pub bounds: [f64; 2],
}

/// Total usage of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunUsage {
    /// Tokens of all prompts, including judge prompts, as far as the backends report them.
    pub prompt_tokens: u64,
    /// Tokens of all completions.
    pub completion_tokens: u64,
    /// Cost at the suite's prices. `None` if the suite has no prices.
    pub cost: Option<f64>,
    /// Description of what the cost leaves out: models without a price. `None` if it covers all.
    pub missing_prices: Option<String>,
    /// Number of answers whose token usage the backend does not report.
    pub uncounted: u64,
}

/// Observes the progress of a run. Called from several threads, and for several tasks at once. Must not block.
pub trait Progress: Send + Sync {
    /// A task starts. `total` is the number of its samples, if known. `done` of them were answered by an earlier
    /// process, or finished without an answer. `mean` is the first metric whose result is the mean of its scores.
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64, mean: Option<MeanMetric<'_>>);

    /// A sample's request starts, for the first time or again after a wait.
    fn request_began(&self, task_id: &str);

    /// A sample's request ends: the model answered or failed, or the request waits to be resent.
    fn request_ended(&self, task_id: &str);

    /// An answer is in the journal and awaits its scores.
    fn sample_answered(&self, task_id: &str);

    /// A reply was counted. `usage` is that of the whole run so far.
    fn usage_counted(&self, usage: &RunUsage);

    /// Some answers were scored for display, because no batch is complete yet. Nothing of that is recorded.
    fn figures_so_far(&self, _task_id: &str, _figures: &[FigureSoFar]) {}

    /// A sample is finished and in the journal.
    fn sample_finished(&self, finished: &FinishedSample<'_>);

    /// A task ends.
    fn task_finished(&self, task_id: &str);
}
