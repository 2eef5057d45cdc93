//! Errors from computing or reading figures.

use gage_core::shown_name;
use thiserror::Error;

/// Reason why there are no figures.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FiguresError {
    /// The run folder cannot be read or written.
    #[error(transparent)]
    Record(#[from] gage_record::RecordError),

    /// A record belongs to a task that the run does not have.
    #[error("a record belongs to task '{}', which the run does not have; its tasks are: {known}", shown_name(.task_id))]
    UnknownTask {
        /// The task of the record.
        task_id: String,
        /// The tasks of the run.
        known: String,
    },

    /// A record has a result of a metric that its task does not have.
    #[error(
        "sample '{}' of task '{}' has a result of metric '{}', which the task does not have",
        shown_name(.sample_id), shown_name(.task_id), shown_name(.metric_id)
    )]
    UnknownMetric {
        /// The task.
        task_id: String,
        /// The sample.
        sample_id: String,
        /// The metric of the record.
        metric_id: String,
    },

    /// The file was written by a newer program.
    #[error(
        "{file} has format version {found}, and this program reads up to {supported}; use a newer gage-host"
    )]
    NewerFormat {
        /// The file's name.
        file: &'static str,
        /// The version.
        found: u64,
        /// The newest version that can be read.
        supported: u32,
    },

    /// A file does not have the expected content.
    #[error("failed to read {file}")]
    Read {
        /// The file's name.
        file: &'static str,
        /// The cause.
        source: serde_json::Error,
    },

    /// Figures cannot be written as JSON.
    #[error("failed to write {file}")]
    Write {
        /// The file's name.
        file: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
}
