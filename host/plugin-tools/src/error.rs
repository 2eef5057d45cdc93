//! Errors of the tools for plugin authors.

use std::path::Path;

/// A problem of a project or a tool, with advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ToolError {
    /// Description and place of the problem. Has several lines if it includes a tool's output.
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
}

impl ToolError {
    /// Creates an error without advice.
    pub fn new(message: impl Into<String>) -> ToolError {
        ToolError { message: message.into(), help: None }
    }

    /// Creates an error with advice.
    pub fn with_help(message: impl Into<String>, help: impl Into<String>) -> ToolError {
        ToolError { message: message.into(), help: Some(help.into()) }
    }

    /// Creates the error of a file or folder that could not be used.
    pub(crate) fn io(doing: &str, path: &Path, error: &std::io::Error) -> ToolError {
        ToolError::new(format!("cannot {doing} {}: {error}", path.display()))
    }
}
