//! The work that a row still needs.

use gage_core::Sample;
use gage_data::Rejection;
use gage_record::{RecordError, SampleRecord};
use std::sync::Arc;

/// A row that needs work.
pub(crate) enum RowWork {
    /// It is for the model, or is no Sample.
    Row(PreparedRow),
    /// The model has answered it in an earlier process; its scores, or those of a neighbour, are wanting.
    Answered(Box<SampleRecord>),
    /// The model has answered it in an earlier process; its judges are to be asked.
    AwaitingJudges(Box<SampleRecord>),
}

/// A row, once for each time that it is asked.
pub(crate) struct PreparedRow {
    /// The number in the task, repeats counted.
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    /// The Sample, which its repeats share.
    pub(crate) result: Result<Arc<Sample>, Box<Rejection>>,
}

/// Why reading ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("row {row} has changed since the run began")]
    Changed { row: u64 },
}
