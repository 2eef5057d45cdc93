//! Errors of patterns and of searches.

use std::fmt;

/// An error in a pattern, in the words that Python uses for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    message: String,
    position: Option<usize>,
}

impl PatternError {
    /// Returns an error at a character, counted from 0.
    pub(crate) fn at(message: impl Into<String>, position: usize) -> PatternError {
        PatternError { message: message.into(), position: Some(position) }
    }

    /// Returns an error of the pattern as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> PatternError {
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

/// A search that was given up; in a component the host ends it before that.
#[derive(Clone, Debug)]
pub struct SearchError(pub(crate) fancy_regex::Error);

impl From<fancy_regex::Error> for SearchError {
    fn from(error: fancy_regex::Error) -> SearchError {
        SearchError(error)
    }
}

impl fmt::Display for SearchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for SearchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
