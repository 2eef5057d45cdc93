//! The outcome of a run: how it ended, what it lacks, what was written.

use gage_backend::RecordingError;
use gage_engine::{RunUsage, StopReason, TaskReport, TooManyInvalid};
use gage_figures::WrittenReports;
use gage_record::RunStatus;
use std::path::PathBuf;

/// The outcome of a run, or of answers that were scored again.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The id of the run.
    pub run_id: String,
    /// The folder.
    pub folder: PathBuf,
    /// The status, as the manifest has it.
    pub status: RunStatus,
    /// Why it ended.
    pub ending: Ending,
    /// Why it ended early, in words, as the manifest has it.
    pub ended_by: Option<String>,
    /// Everything in which the run falls short of what its suite asks for.
    pub shortfalls: Vec<Shortfall>,
    /// What each task did, in the order of the suite.
    pub tasks: Vec<TaskReport>,
    /// What all processes of the run have used.
    pub usage: RunUsage,
    /// Whether the suite limits the cost or the tokens of the run.
    pub has_usage_budget: bool,
    /// The figures and the other reports.
    pub reports: WrittenReports,
    /// Why the HTTP exchanges were not recorded, if they were to be.
    pub recording_error: Option<RecordingError>,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every task ended, and the suite asks for nothing more.
    Complete,
    /// Every task ended, and the run falls short of what the suite asks for.
    Incomplete,
    /// The data of a task could not be read to its end.
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

    /// The status that the manifest gets.
    pub(crate) fn status(&self) -> RunStatus {
        match self {
            Ending::Complete => RunStatus::Complete,
            Ending::Incomplete | Ending::UnreadableData => RunStatus::Incomplete,
            Ending::Stopped(StopReason::Budget(_) | StopReason::FailFast(_)) => RunStatus::Incomplete,
            Ending::Stopped(
                StopReason::Requested | StopReason::BackendRefused { .. } | StopReason::ModelLost { .. },
            ) => RunStatus::Interrupted,
        }
    }

    /// Why the run ended early, for the manifest.
    pub(crate) fn ended_by(&self) -> Option<String> {
        let Ending::Stopped(reason) = self else { return None };
        match reason {
            StopReason::Requested => None,
            StopReason::Budget(text) => Some(format!("budget: {text}")),
            StopReason::FailFast(text) => Some(format!("fail_fast: {text}")),
            StopReason::BackendRefused { backend_id, message } => {
                Some(format!("refused: {backend_id}: {message}"))
            }
            StopReason::ModelLost { backend_id, message } => {
                Some(format!("model lost: {backend_id}: {message}"))
            }
        }
    }
}

/// Something in which a run falls short of what its suite asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortfall {
    /// More rows are not Samples than a dataset allows.
    InvalidRows(TooManyInvalid),
    /// The first failed sample ended its task or the run (`fail_fast`).
    FailedFast {
        /// The sample and its failure, in words.
        sample: String,
        /// Whether the whole run ended.
        is_whole_run: bool,
    },
    /// Fewer samples of a task were scored than the suite asks for.
    Coverage(CoverageShortfall),
    /// The run whose answers were scored again had ended early.
    ParentEndedEarly {
        /// The id of that run.
        run_id: String,
        /// Why it ended.
        reason: String,
    },
    /// The run whose answers were scored again has not come to its end.
    ParentUnfinished {
        /// The id of that run.
        run_id: String,
        /// The status.
        status: RunStatus,
    },
}

/// A task of which fewer samples were scored than the suite asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageShortfall {
    /// The task.
    pub task_id: String,
    /// The samples that were scored.
    pub scored: u64,
    /// All samples.
    pub total: u64,
    /// Whether there are at least `total` samples, and perhaps more.
    pub total_is_least: bool,
    /// The share of samples that were scored.
    pub coverage: f64,
    /// The share that the suite asks for.
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
