//! What is wrong with a pattern.

use std::fmt;

/// An error in a pattern, in the words that Python uses for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    message: String,
    position: Option<usize>,
}

impl PatternError {
    /// An error at a character, counted from 0.
    pub(super) fn at(message: impl Into<String>, position: usize) -> PatternError {
        PatternError { message: message.into(), position: Some(position) }
    }

    /// An error of the pattern as a whole.
    pub(super) fn whole(message: impl Into<String>) -> PatternError {
        PatternError { message: message.into(), position: None }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match self.position {
            Some(position) => write!(formatter, " at position {position}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PatternError {}
