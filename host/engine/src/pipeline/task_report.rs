//! The report of a task.

use crate::limits::cancel_token::StopReason;
use crate::limits::invalid_rows::TooManyInvalid;
use gage_core::OutcomeCounts;
use gage_data::{DataError, MissingField};
use std::time::Duration;

/// What came of a task in this process.
#[derive(Debug, Default)]
pub struct TaskReport {
    /// The task.
    pub task_id: String,
    /// How the samples that this process finished ended.
    pub counts: OutcomeCounts,
    /// How many records it was to have in all, samples times repeats, where that is known.
    pub planned: Option<u64>,
    /// How many of them an earlier process had asked the model about: here they were only judged and scored.
    pub resumed: u64,
    /// Rows that the dataset's filter left out.
    pub filtered: u64,
    /// Fields that the filter names and that no row had that was read.
    pub missing_fields: Vec<MissingField>,
    /// Rows that are no Samples, where there were too many of them: the task ended there.
    pub too_many_invalid: Option<TooManyInvalid>,
    /// Why the data could not be read to its end: the task ended there, and what was read before counts.
    pub failure: Option<DataError>,
    /// Why it ended before its end, where somebody stopped it or its run.
    pub cut_off: Option<StopReason>,
    /// Loading and preparing rows.
    pub reading: Duration,
    /// From the first request to the last answer.
    pub inference: Duration,
    /// Scoring, summed over the threads that did it.
    pub evaluation: Duration,
}

impl TaskReport {
    /// Returns whether it ended before all of its rows were dealt with.
    pub fn ended_early(&self) -> bool {
        self.cut_off.is_some() || self.failure.is_some() || self.too_many_invalid.is_some()
    }
}
