//! Errors of a page.

use gage_record::RecordError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error of a page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HtmlError {
    /// A run cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),

    /// A record cannot be written as JSON.
    #[error("failed to write a record as JSON")]
    Json(#[from] serde_json::Error),

    /// The template of the page cannot be rendered.
    #[error("failed to fill in the template of the page")]
    Template(#[from] minijinja::Error),

    /// The page cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// The output cannot be written.
    #[error("cannot write the report")]
    Output(#[from] io::Error),
}
