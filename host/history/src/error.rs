//! Errors of a folder's history, each with what to do.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The folder of runs cannot be read.
    #[error("failed to read the folder of runs {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The index fails, though it was whole when it was opened.
    #[error("failed to use the index {}; delete it: it is rebuilt from the runs", .path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The samples of a run cannot be read.
    #[error(transparent)]
    Record(#[from] gage_record::RecordError),

    /// The file of baselines is not what it should be.
    #[error("{} cannot be used: {reason}; mend it, or delete it and choose the baselines again", .path.display())]
    Baselines {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The file of baselines cannot be read or written.
    #[error("failed to {action} {}", .path.display())]
    BaselinesIo {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },

    /// There is no run of this name.
    #[error("there is no run '{run}' in {}{hint}", .folder.display())]
    UnknownRun {
        /// What was asked for.
        run: String,
        /// Where it was looked for.
        folder: PathBuf,
        /// The nearest one.
        hint: String,
    },

    /// Folders that were copied hold runs of one id.
    #[error("several folders hold a run with the id '{run_id}': {folders}; name the folder")]
    SeveralRuns {
        /// What was asked for.
        run_id: String,
        /// The names of the folders.
        folders: String,
    },

    /// No run is of this suite.
    #[error("no run in {} is of the suite '{suite}'{hint}; suites are: {known}", .folder.display())]
    UnknownSuite {
        /// What was asked for.
        suite: String,
        /// Where it was looked for.
        folder: PathBuf,
        /// The nearest one.
        hint: String,
        /// What there is.
        known: String,
    },

    /// No run of the suite has figures of this metric.
    #[error(
        "no run of the suite '{suite}' that has ended has figures of the metric '{metric}'{hint}; metrics are: {known}"
    )]
    UnknownMetric {
        /// The suite.
        suite: String,
        /// What was asked for.
        metric: String,
        /// The nearest one.
        hint: String,
        /// What there is.
        known: String,
    },

    /// The run does not say of which suite it is.
    #[error("run '{run_id}' does not name its suite: it has no gage.lock, like a run that was killed")]
    NoSuite {
        /// The run.
        run_id: String,
    },

    /// A run that has not ended was to be a baseline.
    #[error("run '{run_id}' is {status} and not finished, so it cannot be a baseline")]
    NotEnded {
        /// The run.
        run_id: String,
        /// The state.
        status: &'static str,
    },

    /// A run of which something was edited was to be a baseline.
    #[error(
        "run '{run_id}' cannot be a baseline: {edited}; restore it from a copy, and see what `gage-host verify` says"
    )]
    Edited {
        /// The run.
        run_id: String,
        /// What cannot be trusted, and why.
        edited: String,
    },

    /// Nobody chose a baseline for the suite.
    #[error("the suite '{suite}' has no baseline in {}; choose one with `gage-host runs baseline RUN`", .folder.display())]
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
        /// The run that was chosen.
        run_id: String,
        /// The folder of runs.
        folder: PathBuf,
        /// The folders that hold copies of it, as the end of a clause; empty where there are not several.
        copies: String,
    },

    /// The baseline holds other samples than when it was chosen.
    #[error(
        "the baseline of the suite '{suite}', run '{run_id}', holds other samples than when it was chosen: it was resumed or made again; choose it again with `gage-host runs baseline {run_id}`, or another"
    )]
    BaselineChanged {
        /// The suite.
        suite: String,
        /// The run that was chosen.
        run_id: String,
    },

    /// A run was to be compared with the baseline that it is itself.
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

/// `; did you mean 'x'?`, or nothing.
pub(crate) fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    gage_core::nearest(typed, known).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// Names for a message.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
