//! The remaining work of a row.

use gage_core::Sample;
use gage_data::Rejection;
use gage_record::{RecordError, SampleRecord};
use std::sync::Arc;

/// A row that needs work.
pub(crate) enum RowWork {
    /// The row is for the model, or is not a Sample.
    Row(PreparedRow),
    /// An earlier process got the answer. Its scores, or those of a neighbour, are missing.
    Answered(Box<SampleRecord>),
    /// An earlier process got the answer. Its judges are still to be asked.
    AwaitingJudges(Box<SampleRecord>),
}

/// A row, once for each time it is asked.
pub(crate) struct PreparedRow {
    /// The row number in the task, counting repeats.
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    /// Time to prepare the row, in milliseconds.
    pub(crate) preprocess_ms: f64,
    /// True if an earlier process recorded that the backend failed on it.
    pub(crate) has_failed_before: bool,
    /// The Sample, shared by all repeats.
    pub(crate) result: Result<Arc<Sample>, Box<Rejection>>,
}

/// Reason that reading ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("row {row} has changed since the run began")]
    Changed { row: u64 },
    /// Nothing stopped the reading, and fewer rows came than were counted, or more. `expected` is the smallest number
    /// possible if they were not counted.
    #[error("{expected} samples were expected, and {read} were read")]
    LostRows { expected: u64, read: u64 },
}
