//! The errors that end a run.

use crate::plan::PlannedDataset;
use crate::session::ChangedModelFile;
use gage_data::DataError;
use gage_observe::ObserveError;
use gage_record::{RecordError, is_redacted};

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run folder cannot be written or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Nobody can be told of what happens.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A dataset or a model file is not what it was when the run began.
    #[error("{what}: {message}; restore it and resume, or start a new run")]
    Changed {
        /// The dataset or the backend.
        what: String,
        /// What is different.
        message: String,
    },
    /// The run cannot be resumed, since it would not be the same run.
    #[error("the run cannot be resumed, because its configuration has \
        changed:\n  {}{}", .0.join("\n  "), help_of(.0))]
    IdentityMismatch(Vec<String>),
    /// The run has more samples than it is to have.
    #[error(
        "the run cannot be resumed with at most {most} samples of each task: sample {recorded} of \
         `{task_id}` is recorded already, and recorded samples are kept"
    )]
    FewerSamples {
        /// The task.
        task_id: String,
        /// The number of the last of its samples that is in the journal, counted from 1.
        recorded: u64,
        /// How many it is to have.
        most: u64,
    },
    /// Samples were begun and not recorded; a bug.
    #[error("{begun} samples were started, and {recorded} were recorded; resume the run")]
    LostSamples {
        /// How many were handed to the scorers.
        begun: u64,
        /// How many are in the journal.
        recorded: u64,
    },
    /// A part of this program panicked or is missing; a bug.
    #[error("internal error: the {0} failed")]
    Internal(&'static str),
}

impl RunError {
    /// The rows of a dataset are not those that the run is about.
    pub(crate) fn data_changed(dataset: &PlannedDataset, why: &impl std::fmt::Display) -> RunError {
        RunError::Changed { what: dataset.spec.shown_source(), message: why.to_string() }
    }
}

/// What to do where a value is another that nobody may see.
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
