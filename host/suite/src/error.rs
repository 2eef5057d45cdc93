//! Errors of a frozen suite, each with a hint.

use gage_config::{Problems, shown_path};
use std::io;
use std::path::{Path, PathBuf};

/// Error when a file of a suite is created, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// A document is invalid.
    #[error("{} cannot be used", shown_path(.path))]
    Document {
        /// The file.
        path: PathBuf,
        /// The errors and warnings.
        problems: Box<Problems>,
    },
    /// The request is impossible with these files.
    #[error("{message}")]
    Refused {
        /// The error message.
        message: String,
        /// A hint for fixing it.
        help: Option<String>,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", shown_path(.path))]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl SuiteError {
    pub(crate) fn refused(message: impl Into<String>, help: impl Into<String>) -> SuiteError {
        SuiteError::Refused { message: message.into(), help: Some(help.into()) }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> SuiteError {
        SuiteError::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn document(path: &Path, problems: Problems) -> SuiteError {
        SuiteError::Document { path: path.to_owned(), problems: Box::new(problems) }
    }

    /// Returns the hint for fixing it.
    pub fn help(&self) -> Option<&str> {
        match self {
            SuiteError::Refused { help, .. } => help.as_deref(),
            SuiteError::Document { .. } | SuiteError::Io { .. } => None,
        }
    }
}
