//! Errors of an export.

use gage_figures::FiguresError;
use gage_record::RecordError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Error of an export.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run folder cannot be read.
    #[error(transparent)]
    Report(#[from] FiguresError),

    /// A process is writing to the run.
    #[error("run '{run_id}' is being written by another process, and has no figures before it ends")]
    BeingWritten {
        /// The run.
        run_id: String,
    },

    /// The run was interrupted.
    #[error("run '{run_id}' is {status} and not finished: its figures would cover only a part")]
    NotEnded {
        /// The run.
        run_id: String,
        /// The status in its manifest.
        status: &'static str,
    },

    /// The run has no figures.
    #[error(
        "run '{run_id}' has no figures: it was killed before it wrote them, or lost its summary.json; continue it with --resume"
    )]
    NoFigures {
        /// The run.
        run_id: String,
    },

    /// The run has no samples.
    #[error("run '{run_id}' has no samples: there is nothing to export")]
    Empty {
        /// The run.
        run_id: String,
    },

    /// The file already exists.
    #[error("{} already exists", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },

    /// A file cannot be written.
    #[error("failed to write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ExportError {
    pub(super) fn write(path: &Path, source: impl Into<io::Error>) -> ExportError {
        ExportError::Write { path: path.to_owned(), source: source.into() }
    }
}

impl From<RecordError> for ExportError {
    fn from(error: RecordError) -> ExportError {
        ExportError::Report(error.into())
    }
}
