//! Outcome of a run: its ending, its shortfalls and the written reports.

use gage_backend::BatchReport;
use gage_engine::{ConcurrencyLimit, RunUsage, StopReason, TaskReport, TooManyInvalid};
use gage_figures::WrittenReports;
use gage_record::RunStatus;
use std::path::PathBuf;

/// Outcome of a run, or of scoring answers again.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The id of the run.
    pub run_id: String,
    /// The run folder.
    pub folder: PathBuf,
    /// The status, as in the manifest.
    pub status: RunStatus,
    /// The reason for its ending.
    pub ending: Ending,
    /// The reason for an early ending, in words, as in the manifest.
    pub ended_by: Option<String>,
    /// Everything that the run lacks according to its suite.
    pub shortfalls: Vec<Shortfall>,
    /// The limits of the suite that held the run below the concurrency that the user set.
    pub limits: Vec<ConcurrencyLimit>,
    /// Reports of the tasks, in the order of the suite.
    pub tasks: Vec<TaskReport>,
    /// Usage of all processes of the run.
    pub usage: RunUsage,
    /// True if the suite limits the run's cost or tokens.
    pub has_usage_budget: bool,
    /// True if a model of the suite is a file of answers.
    pub has_given_answers: bool,
    /// True if the run was merged from shards, so that this process asked no model.
    pub is_merged: bool,
    /// The figures and the other reports.
    pub reports: WrittenReports,
    /// What became of the requests that are answered in bulk. `None` if there is no batch.
    pub batch: Option<BatchReport>,
}

/// Reason why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every task ended, and nothing is missing.
    Complete,
    /// Every task ended, but the run falls short of the suite's requirements.
    Incomplete,
    /// The data of a task could not be fully read.
    UnreadableData,
    /// The run was stopped.
    Stopped(StopReason),
}

impl Ending {
    pub(crate) fn new(stopped: Option<StopReason>, has_unread_data: bool, falls_short: bool) -> Ending {
        match stopped {
            Some(reason) => Ending::Stopped(reason),
            None if has_unread_data => Ending::UnreadableData,
            None if falls_short => Ending::Incomplete,
            None => Ending::Complete,
        }
    }

    /// Returns the status for the manifest.
    pub(crate) fn status(&self) -> RunStatus {
        match self {
            Ending::Complete => RunStatus::Complete,
            Ending::Incomplete | Ending::UnreadableData => RunStatus::Incomplete,
            Ending::Stopped(StopReason::Budget(_) | StopReason::FailFast(_)) => RunStatus::Incomplete,
            Ending::Stopped(
                StopReason::Requested
                | StopReason::AwaitsBatch
                | StopReason::BackendRefused { .. }
                | StopReason::ModelLost { .. }
                | StopReason::ServerLost { .. },
            ) => RunStatus::Interrupted,
        }
    }

    /// Returns the reason for an early ending, for the manifest.
    pub(crate) fn ended_by(&self) -> Option<String> {
        let Ending::Stopped(reason) = self else { return None };
        match reason {
            StopReason::Requested => None,
            StopReason::AwaitsBatch => Some("requests wait for the results of their batch".to_owned()),
            StopReason::Budget(text) => Some(format!("budget: {text}")),
            StopReason::FailFast(text) => Some(format!("fail_fast: {text}")),
            StopReason::BackendRefused { backend_id, message } => {
                Some(format!("refused: {backend_id}: {message}"))
            }
            StopReason::ModelLost { backend_id, message } => {
                Some(format!("model lost: {backend_id}: {message}"))
            }
            StopReason::ServerLost { backend_id, message } => {
                Some(format!("server lost: {backend_id}: {message}"))
            }
        }
    }
}

/// A requirement of the suite that a run does not meet.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// A dataset has more invalid rows than it allows.
    InvalidRows(TooManyInvalid),
    /// The first failed sample ended its task or the run (`fail_fast`).
    FailedFast {
        /// The sample and its failure, in words.
        sample: String,
        /// True if the whole run ended.
        is_whole_run: bool,
    },
    /// Fewer samples of a task were scored than the suite requires.
    Coverage(CoverageShortfall),
    /// A metric reads a path at which no sample has a value.
    UnfoundPath {
        /// The task.
        task_id: String,
        /// The parameter with the path, and similar paths that exist, in words.
        message: String,
    },
    /// A metric found nothing to score in any answer.
    NoPrediction {
        /// The task.
        task_id: String,
        /// The metric.
        metric_id: String,
        /// Number of answers.
        answers: u64,
    },
    /// The parent run, whose answers were scored, had ended early.
    ParentEndedEarly {
        /// The id of that run.
        run_id: String,
        /// The reason why it ended.
        reason: String,
    },
    /// The shards that the run was merged from lack records.
    MissingRecords {
        /// Number of shards that lack some.
        shards: u64,
        /// Number of missing records, if known.
        records: Option<u64>,
    },
    /// The parent run, whose answers were scored, has not finished.
    ParentUnfinished {
        /// The id of that run.
        run_id: String,
        /// The status.
        status: RunStatus,
    },
}

/// A task, or one of its metrics, with fewer scored samples than the suite requires.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageShortfall {
    /// The task.
    pub task_id: String,
    /// The metric, if only this metric lacks scores.
    pub metric_id: Option<String>,
    /// Number of scored samples.
    pub scored: u64,
    /// Total number of samples.
    pub total: u64,
    /// True if `total` is a lower bound.
    pub total_is_least: bool,
    /// Fraction of samples that were scored.
    pub coverage: f64,
    /// Fraction that the suite requires.
    pub min_coverage: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ending_has_one_status() {
        let lost = || StopReason::ModelLost { backend_id: "b".to_owned(), message: "gone".to_owned() };
        let budget = || StopReason::Budget("max_time".to_owned());
        for (stopped, has_unread_data, falls_short, status) in [
            (None, false, false, RunStatus::Complete),
            (None, false, true, RunStatus::Incomplete),
            (None, true, false, RunStatus::Incomplete),
            (Some(StopReason::Requested), false, false, RunStatus::Interrupted),
            (Some(StopReason::AwaitsBatch), false, true, RunStatus::Interrupted),
            (Some(lost()), true, true, RunStatus::Interrupted),
            (Some(budget()), false, false, RunStatus::Incomplete),
        ] {
            let ending = Ending::new(stopped.clone(), has_unread_data, falls_short);
            assert_eq!(ending.status(), status, "{stopped:?} {has_unread_data} {falls_short}");
        }
    }

    #[test]
    fn only_early_ends_are_named_in_the_manifest() {
        let budget = Ending::Stopped(StopReason::Budget("max_time".to_owned()));
        assert_eq!(budget.ended_by().as_deref(), Some("budget: max_time"));
        assert_eq!(Ending::Stopped(StopReason::Requested).ended_by(), None);
        assert_eq!(Ending::Incomplete.ended_by(), None);
    }
}
