//! History of a folder of runs, shared by several commands.

use crate::terminal;
use gage_history::{Baseline, History, HistoryError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Opens the up-to-date history of a folder of runs, or returns `None` if the folder does not exist. Warns of
/// index problems and unreadable runs.
pub(super) fn open(folder: &Path) -> Result<Option<History>, HistoryError> {
    let mut history = match History::open(folder) {
        Ok(history) => history,
        Err(HistoryError::Folder { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    history.refresh()?;
    for note in history.notes() {
        terminal::eprint_line(format_args!("warning: {}", gage_core::printable(note)));
    }
    Ok(Some(history))
}

/// Returns the baselines of the suites in a folder of runs; empty if the folder does not exist.
pub(super) fn baselines(folder: &Path) -> anyhow::Result<Vec<Baseline>> {
    let found = open(folder).and_then(|history| history.as_ref().map(History::baselines).transpose());
    Ok(found.map_err(refuse)?.unwrap_or_default())
}

/// Returns the folder of the baseline for a run, which applies if none is named.
pub(super) fn baseline_of(run: &Path) -> Result<PathBuf, HistoryError> {
    let failed = |source| HistoryError::Folder { path: run.to_owned(), source };
    // `.` and `..` have no file name.
    let place = match run.file_name() {
        Some(_) => run.to_owned(),
        None => run.canonicalize().map_err(failed)?,
    };
    let root = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let history = open(root)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))?;
    let name = place.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(history.baseline_for(&history.run(&name)?)?.path)
}

/// Prints the error. A failing index is not a user error.
pub(super) fn refuse(error: HistoryError) -> anyhow::Error {
    match error {
        HistoryError::Index { .. } => error.into(),
        error => terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), None).into(),
    }
}
