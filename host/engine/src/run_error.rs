//! The errors that end a run.

use crate::plan::PlannedDataset;
use crate::session::ChangedModelFile;
use gage_core::{ChangedFile, ResourceShortage, Shard};
use gage_data::DataError;
use gage_observe::ObserveError;
use gage_record::{RecordError, is_redacted};
use std::path::{Path, PathBuf};

/// Reason that a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run folder cannot be written or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The run's observers cannot be set up.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// An input has changed since the run started: a dataset, a model file, a plugin or a chat template.
    #[error("{what}: {message}; restore it and resume, or start a new run")]
    Changed {
        /// The input.
        what: String,
        /// The difference.
        message: String,
    },
    /// The run cannot be resumed, because it would not be the same run.
    #[error("the run cannot be resumed, because its configuration has \
        changed:\n  {}{}", .0.join("\n  "), help_of(.0))]
    IdentityMismatch(Vec<String>),
    /// The recorded answers cannot be judged again, because the model would give other answers now.
    #[error("the recorded answers cannot be judged again, because more than their judges and metrics has \
        changed:\n  {}{}", .0.join("\n  "), help_of(.0))]
    OtherAnswers(Vec<String>),
    /// The run folder has another part of a run than is to be written.
    #[error(
        "the run folder {run_id} cannot be continued: {difference}; use the command that started it, or name another run with \
         --run-id"
    )]
    OtherShard {
        /// The id of the run folder.
        run_id: String,
        /// The difference.
        difference: String,
    },
    /// Another shard of the run was made from other inputs.
    #[error(
        "shard {other} of the run was made from other inputs than this one:\n  {}{}",
        .differences.join("\n  "),
        help_of(.differences)
    )]
    OtherInputs {
        /// The other shard.
        other: Shard,
        /// The places that differ, with the value of that shard and the one of this.
        differences: Vec<String>,
    },
    /// The run has more samples than its limit.
    #[error(
        "the run cannot be resumed with at most {most} samples of each task: sample {recorded} of \
         `{task_id}` is recorded already, and recorded samples are kept"
    )]
    FewerSamples {
        /// The task.
        task_id: String,
        /// The number of its last sample in the journal, counted from 1.
        recorded: u64,
        /// The sample limit.
        most: u64,
    },
    /// The recording to continue lacks exchanges of the run.
    #[error("{}", incomplete_recording(.path, *exchanges, *answers, *is_whole))]
    IncompleteRecording {
        /// The recording.
        path: PathBuf,
        /// Number of exchanges in the recording.
        exchanges: u64,
        /// Number of answers of HTTP servers in the journal.
        answers: u64,
        /// True if every process of the run has recorded its exchanges.
        is_whole: bool,
    },
    /// The machine has too little of a resource, which is not a result of any sample.
    #[error(transparent)]
    Shortage(#[from] ResourceShortage),
    /// Some samples were counted or started, but not recorded; a bug.
    #[error("{expected} samples were expected, and {recorded} were recorded; resume the run")]
    LostSamples {
        /// Number of samples that the dataset has, or that were handed to the scorers.
        expected: u64,
        /// Number of samples that were read or recorded.
        recorded: u64,
    },
    /// A part of this program panicked or is missing. This is a bug.
    #[error("internal error: the {0} failed")]
    Internal(&'static str),
}

impl RunError {
    /// Builds the error for a dataset whose rows differ from those of the run.
    pub(crate) fn data_changed(dataset: &PlannedDataset, why: &impl std::fmt::Display) -> RunError {
        RunError::Changed { what: dataset.spec.shown_source(), message: why.to_string() }
    }

    /// Builds the error for a changed file, such as a `plugin`.
    pub(crate) fn changed_file(kind: &str, changed: &ChangedFile) -> RunError {
        let what = format!("the {kind} {}", changed.path.display());
        RunError::Changed { what, message: format!("the file changed during the run: {changed}") }
    }
}

/// Describes a recording that lacks exchanges of a run, with advice.
fn incomplete_recording(path: &Path, exchanges: u64, answers: u64, is_whole: bool) -> String {
    let path = path.display();
    let lack = match is_whole {
        true => format!("has {exchanges} exchanges, and the journal has {answers} answers of HTTP servers"),
        false => {
            format!("lacks answers of the run, a part of which ran without --record ({answers} answers)")
        }
    };
    format!(
        "the run cannot be resumed with --record: the recording {path} {lack}; name the file that recorded the run from its \
         start, or resume without --record"
    )
}

/// Returns the advice to show if a difference involves a redacted value.
fn help_of(differences: &[String]) -> &'static str {
    match differences.iter().any(|one| is_redacted(one)) {
        true => {
            "\n  (`redacted` names values that are not recorded, by their digests: set their variables to \
             their values at the start of the run)"
        }
        false => "",
    }
}

impl From<ChangedModelFile> for RunError {
    fn from(changed: ChangedModelFile) -> RunError {
        let ChangedModelFile { backend_id, message } = changed;
        RunError::Changed { what: format!("the model of the backend `{backend_id}`"), message }
    }
}
