//! Completeness: the part of its planned work that a run has done.

use std::collections::BTreeMap;

/// Completeness of each task; a task that is not listed is complete.
pub type Completeness = BTreeMap<String, TaskCompleteness>;

/// Completeness of a task. Coverage refers to all planned samples, so a run that was stopped after one of a hundred does
/// not claim full coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskCompleteness {
    /// The task is complete: there are no further records.
    #[default]
    Whole,
    /// The task was stopped early; holds its planned number of records: samples times repeats.
    Of(u64),
    /// The task was stopped early, and its planned number of records is unknown, as with a filter.
    Unknown,
}

impl TaskCompleteness {
    /// Returns the number of missing records, given the number of existing ones.
    pub(crate) fn missing(self, records: u64) -> u64 {
        match self {
            TaskCompleteness::Of(all) => all.saturating_sub(records),
            TaskCompleteness::Whole | TaskCompleteness::Unknown => 0,
        }
    }
}
