//! Errors of an export.

use gage_figures::FiguresError;
use gage_record::RecordError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run was not exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run folder cannot be read.
    #[error(transparent)]
    Report(#[from] FiguresError),

    /// The run goes on, was interrupted or killed.
    #[error("run '{run_id}' is {status} and not finished: its figures would cover only a part")]
    NotEnded {
        /// The run.
        run_id: String,
        /// The state, as its manifest says.
        status: &'static str,
    },

    /// The run has written no figures.
    #[error(
        "run '{run_id}' holds no summary.json: it was killed before it wrote its figures; continue it with --resume"
    )]
    NoFigures {
        /// The run.
        run_id: String,
    },

    /// The run has no samples.
    #[error("run '{run_id}' holds no samples: there is nothing to export")]
    Empty {
        /// The run.
        run_id: String,
    },

    /// Something is there already.
    #[error("{} is there already", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },

    /// A file cannot be written.
    #[error("failed to write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
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
