//! The report of a task.

use crate::limits::cancel_token::StopReason;
use crate::limits::invalid_rows::TooManyInvalid;
use gage_core::OutcomeCounts;
use gage_data::{DataError, MissingField};
use std::time::Duration;

/// Result of a task in this process.
#[derive(Debug, Default)]
pub struct TaskReport {
    /// The task.
    pub task_id: String,
    /// Outcome counts of the samples that this process finished.
    pub counts: OutcomeCounts,
    /// Total number of records planned, samples times repeats, if known. For a shard, only its own.
    pub planned: Option<u64>,
    /// Total number of records of the task in all shards, if known.
    pub records_of_all_shards: Option<u64>,
    /// Number of samples that the model answered in an earlier process. This process only judged and scored them.
    pub resumed: u64,
    /// Number of rows that the dataset's filter excluded.
    pub filtered: u64,
    /// Fields that the filter uses but none of the rows read had.
    pub missing_fields: Vec<MissingField>,
    /// The invalid rows, if too many of them ended the task.
    pub too_many_invalid: Option<TooManyInvalid>,
    /// The error, if the data could not be read to the end. The task ended there, and the rows read before it count.
    pub failure: Option<DataError>,
    /// The reason, if the task or its run was stopped early.
    pub cut_off: Option<StopReason>,
    /// Time spent loading and preparing rows.
    pub reading: Duration,
    /// Time from the first request to the last answer.
    pub inference: Duration,
    /// Time spent scoring, summed over threads.
    pub evaluation: Duration,
}

impl TaskReport {
    /// Returns true if the task ended before all of its rows were processed.
    pub fn ended_early(&self) -> bool {
        self.cut_off.is_some() || self.failure.is_some() || self.too_many_invalid.is_some()
    }
}
