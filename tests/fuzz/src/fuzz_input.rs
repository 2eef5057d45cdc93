//! An input, shown as a byte string.

use std::fmt;

/// An input of a target.
#[derive(Clone, PartialEq, Eq)]
pub struct FuzzInput(pub Vec<u8>);

impl fmt::Debug for FuzzInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}
