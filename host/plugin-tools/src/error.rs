//! Errors of the tools for plugin authors.

use std::path::Path;

/// What is wrong with a project or a tool, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ToolError {
    /// What is wrong and where; may have several lines, where a tool's output is shown.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl ToolError {
    /// An error that says all there is to say.
    pub fn new(message: impl Into<String>) -> ToolError {
        ToolError { message: message.into(), help: None }
    }

    /// An error with what to do.
    pub fn with_help(message: impl Into<String>, help: impl Into<String>) -> ToolError {
        ToolError { message: message.into(), help: Some(help.into()) }
    }

    /// The error of a file or folder that could not be used.
    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> ToolError {
        ToolError::new(format!("cannot {doing} {}: {error}", path.display()))
    }
}
