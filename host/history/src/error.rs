//! Errors of a history, each with a hint.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Error of a history.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The folder of runs cannot be read.
    #[error("failed to read the folder of runs {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// The index fails, although it opened without errors.
    #[error("failed to use the index {}; delete it: it is rebuilt from the runs", .path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The samples of a run cannot be read.
    #[error(transparent)]
    Record(#[from] gage_record::RecordError),

    /// The baselines file is invalid.
    #[error("{} cannot be used: {reason}; correct it, or delete it and choose the baselines \
        again", .path.display())]
    Baselines {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },

    /// The baselines file cannot be read or written.
    #[error("failed to {action} {}", .path.display())]
    BaselinesIo {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// No run has this name.
    #[error("there is no run '{run}' in {}{hint}", .folder.display())]
    UnknownRun {
        /// The requested name.
        run: String,
        /// The folder that was searched.
        folder: PathBuf,
        /// A suggestion for a similar name.
        hint: String,
    },

    /// Several folders have runs with this id, because some were copied.
    #[error("several folders hold a run with the id '{run_id}': {folders}; name the folder")]
    SeveralRuns {
        /// The requested id.
        run_id: String,
        /// The names of the folders.
        folders: String,
    },

    /// No run belongs to this suite.
    #[error("no run in {} is of the suite '{suite}'{hint}; suites are: {known}", .folder.display())]
    UnknownSuite {
        /// The requested name.
        suite: String,
        /// The folder that was searched.
        folder: PathBuf,
        /// A suggestion for a similar name.
        hint: String,
        /// The existing suites.
        known: String,
    },

    /// No run of the suite has figures for this metric.
    #[error(
        "no run of the suite '{suite}' that has ended has figures of the metric '{metric}'{hint}; metrics \
         are: {known}"
    )]
    UnknownMetric {
        /// The suite.
        suite: String,
        /// The requested metric.
        metric: String,
        /// A suggestion for a similar name.
        hint: String,
        /// The existing metrics.
        known: String,
    },

    /// The run does not record its suite.
    #[error("run '{run_id}' does not name its suite: it has no gage.lock, like a run that was killed")]
    NoSuite {
        /// The run.
        run_id: String,
    },

    /// An unfinished run cannot be a baseline.
    #[error("run '{run_id}' is {status} and not finished, so it cannot be a baseline")]
    NotEnded {
        /// The run.
        run_id: String,
        /// The status.
        status: &'static str,
    },

    /// An edited run cannot be a baseline.
    #[error(
        "run '{run_id}' cannot be a baseline: {edited}; restore it from a copy, and see what `gage-host \
         verify` says"
    )]
    Edited {
        /// The run.
        run_id: String,
        /// Description of the edit.
        edited: String,
    },

    /// The suite has no baseline.
    #[error("the suite '{suite}' has no baseline in {}; choose one with `gage-host runs baseline \
        RUN`", .folder.display())]
    NoBaseline {
        /// The suite.
        suite: String,
        /// The folder of runs.
        folder: PathBuf,
    },

    /// The baseline was deleted or moved.
    #[error(
        "the baseline of the suite '{suite}', run '{run_id}', is gone from {}{copies}; choose another with \
         `gage-host runs baseline RUN`", .folder.display()
    )]
    BaselineGone {
        /// The suite.
        suite: String,
        /// The chosen run.
        run_id: String,
        /// The folder of runs.
        folder: PathBuf,
        /// The folders with copies of it, as the end of a clause; empty unless there are several.
        copies: String,
    },

    /// The baseline's samples have changed since it was chosen.
    #[error(
        "the baseline of the suite '{suite}', run '{run_id}', has other samples than when it was chosen: it \
         was resumed or made again; choose it again with `gage-host runs baseline {run_id}`, or another"
    )]
    BaselineChanged {
        /// The suite.
        suite: String,
        /// The chosen run.
        run_id: String,
    },

    /// A run cannot be compared with itself as the baseline.
    #[error(
        "run '{run_id}' is itself the baseline of the suite '{suite}'; name another run, or both that are compared"
    )]
    IsBaseline {
        /// The suite.
        suite: String,
        /// The run.
        run_id: String,
    },
}

impl HistoryError {
    pub(crate) fn index(path: &Path, source: rusqlite::Error) -> HistoryError {
        HistoryError::Index { path: path.to_owned(), source: Box::new(source) }
    }
}

/// Returns `; did you mean 'x'?`, or an empty text.
pub(crate) fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    gage_core::nearest(typed, known).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// Formats names for a message.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
