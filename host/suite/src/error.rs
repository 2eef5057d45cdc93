//! Errors of a frozen suite, each with what to do.

use gage_config::{Problems, shown_path};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file of a suite cannot be made, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// A document is wrong, with the places.
    #[error("{} cannot be used", shown_path(.path))]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problems: Box<Problems>,
    },
    /// What was asked for cannot be done with these files.
    #[error("{message}")]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", shown_path(.path))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why it failed.
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

    /// What to do about it.
    pub fn help(&self) -> Option<&str> {
        match self {
            SuiteError::Refused { help, .. } => help.as_deref(),
            SuiteError::Document { .. } | SuiteError::Io { .. } => None,
        }
    }
}
