//! Errors in sources.

use std::path::PathBuf;

/// A source that cannot be read or parsed.
#[derive(Debug)]
pub struct SourceError {
    /// The file.
    pub path: PathBuf,
    /// Description of the problem.
    pub message: String,
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for SourceError {}
