//! History of a folder of runs, shared by several commands.

use crate::terminal;
use gage_history::{Baseline, History, HistoryError, HistoryRun};
use gage_record::RunStatus;
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

/// The baseline for a run, which applies if none is named.
pub(super) struct BaselineOfRun {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// Number of finished runs of the suite since the baseline, each of which was or will be compared with it.
    pub(super) newer_runs: u32,
}

/// Returns the baseline for a run.
pub(super) fn baseline_of(run: &Path) -> Result<BaselineOfRun, HistoryError> {
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
    let baseline = history.baseline_for(&history.run(&name)?)?;
    let runs = baseline.suite.as_deref().map(|suite| history.runs_of(suite)).transpose()?.unwrap_or_default();
    let is_compared = |run: &&HistoryRun| {
        let is_newer = run.created_at >= baseline.created_at && run.path != baseline.path;
        is_newer && run.status == RunStatus::Complete && run.parent_run.is_none()
    };
    let newer_runs = runs.iter().filter(is_compared).count();
    Ok(BaselineOfRun { folder: baseline.path, newer_runs: u32::try_from(newer_runs).unwrap_or(u32::MAX) })
}

/// Prints the error. A failing index is not a user error.
pub(super) fn refuse(error: HistoryError) -> anyhow::Error {
    match error {
        HistoryError::Index { .. } => error.into(),
        error => terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), None).into(),
    }
}
