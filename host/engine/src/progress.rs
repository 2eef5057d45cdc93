//! Progress of a running run.

use gage_core::{MetricResult, Outcome};
use gage_record::{ErrorNote, SampleRecord, ScoresEntry};

/// A sample that is finished and in the journal.
#[derive(Clone, Copy, Debug)]
pub struct FinishedSample<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The number of its row.
    pub index: u64,
    /// The id.
    pub sample_id: &'a str,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where it failed.
    pub error: Option<&'a ErrorNote>,
    /// What the metrics said, in the order of the suite.
    pub metrics: &'a [MetricResult],
    /// What those said that read a clock.
    pub timing_metrics: &'a [MetricResult],
    /// Whether its answer was told of before.
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

    pub(crate) fn of_record(record: &'a SampleRecord) -> FinishedSample<'a> {
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

/// Hears how a run goes on. Called from several threads, and of several tasks at once; must not block.
pub trait Progress: Send + Sync {
    /// A task begins. `total` is the number of its samples, where it is known; `done` of them
    /// were answered by an earlier process, or finished without an answer. `mean` is the first metric whose figure is
    /// the mean of its scores.
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64, mean: Option<&str>);

    /// A sample has its turn: its model is asked, or asked again after a wait.
    fn request_began(&self, task_id: &str);

    /// The model of a sample has answered or failed, or the request waits to be sent again.
    fn request_ended(&self, task_id: &str);

    /// An answer is in the journal, and awaits its scores.
    fn sample_answered(&self, task_id: &str);

    /// A sample is finished and in the journal.
    fn sample_finished(&self, finished: &FinishedSample<'_>);

    /// A task ends.
    fn task_finished(&self, task_id: &str);
}
