//! Completeness: how far a run came of what it was to do.

use std::collections::BTreeMap;

/// How far each task came; one that is not named came to its end.
pub type Completeness = BTreeMap<String, TaskCompleteness>;

/// How far a run came of a task. Coverage is of all that the task was to do, so that a run that was stopped after one
/// sample of a hundred does not claim to know all about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskCompleteness {
    /// To its end: there are no more records than those that it has.
    #[default]
    Whole,
    /// It was stopped before its end, and was to have so many records: samples times repeats.
    Of(u64),
    /// It was stopped before its end, and nobody knows how many records it was to have, as under a filter.
    Unknown,
}

impl TaskCompleteness {
    /// Returns how many records are missing behind so many.
    pub(crate) fn missing(self, records: u64) -> u64 {
        match self {
            TaskCompleteness::Of(all) => all.saturating_sub(records),
            TaskCompleteness::Whole | TaskCompleteness::Unknown => 0,
        }
    }
}
