//! An answer of a file, and the sample that it is for.

use crate::row::RowPosition;
use gage_core::ModelOutput;

/// An entry of a file of answers.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenAnswer {
    /// Place in the file.
    pub place: RowPosition,
    /// The task that it is for; any if it names none.
    pub task_id: Option<Box<str>>,
    /// The sample that it is for.
    pub key: AnswerKey,
    /// The answers to the repeats of the sample. Empty if there is none: then the entry stands for a repeat without one.
    pub outputs: Vec<ModelOutput>,
    /// The reason why there is no answer, as the file gives it.
    pub error: Option<Box<str>>,
}

/// The sample that an answer is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AnswerKey {
    /// The sample with this id.
    Id(Box<str>),
    /// The sample of this row, from 0.
    Row(u64),
    /// The answer is the one with this number among those of its task, from 0.
    Order(u64),
}
