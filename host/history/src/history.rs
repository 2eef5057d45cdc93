//! The history of a folder of runs: its index, and the runs in it.

use crate::HistoryError;
use crate::error::{hint, list};
use crate::index::{INDEX_FILE, Index};
use crate::refresh::{RefreshReport, count, refresh};
use crate::run::{HistoryFigure, HistoryRun};
use crate::scan::has_runs;
use gage_record::{MissingManifest, RecordError, RunFolder, RunStatus};
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What the runs in a folder were. Reads are of the index as [`History::refresh`] left it.
pub struct History {
    pub(crate) folder: PathBuf,
    pub(crate) index: Index,
}

/// The folder of a run whose manifest cannot be read, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableRun {
    /// The folder.
    pub path: PathBuf,
    /// Why not.
    pub reason: String,
}

impl History {
    /// Opens the index of a folder of runs; makes it where the folder holds a run. Reads no run: see
    /// [`History::refresh`].
    ///
    /// # Errors
    /// When the folder cannot be read. A damaged index is made anew, see [`History::notes`]; one that cannot be written
    /// lives in memory.
    pub fn open(folder: &Path) -> Result<History, HistoryError> {
        let failed = |source| HistoryError::Folder { path: folder.to_owned(), source };
        // No file is left in a folder that is none of runs.
        let is_kept = folder.join(INDEX_FILE).exists() || has_runs(folder).map_err(failed)?;
        Ok(History { index: Index::open(folder, is_kept)?, folder: folder.to_owned() })
    }

    /// Reads the run folders that are new or were written to since the index was last brought up to date.
    ///
    /// # Errors
    /// When the folder cannot be read. An index that fails is replaced by one in memory. A run that cannot be read is no error, see
    /// [`History::unreadable`].
    pub fn refresh(&mut self) -> Result<RefreshReport, HistoryError> {
        match refresh(&self.index, &self.folder) {
            // A full disk, or a program of another version that has just made its own tables.
            Err(HistoryError::Index { source, .. }) if self.index.is_file() => {
                self.index = self.index.without_file(&source)?;
                refresh(&self.index, &self.folder)
            }
            other => other,
        }
    }

    /// The folder of runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was found and done when the index was opened, in words for a person.
    pub fn notes(&self) -> &[String] {
        self.index.notes()
    }

    /// All runs, the oldest first.
    ///
    /// # Errors
    /// When the index fails.
    pub fn runs(&self) -> Result<Vec<HistoryRun>, HistoryError> {
        self.select("", &[])
    }

    /// A run by the name of its folder, or by its id.
    ///
    /// # Errors
    /// When there is none, when several folders hold a run of this id and none has this name, and when the index fails.
    pub fn run(&self, name: &str) -> Result<HistoryRun, HistoryError> {
        let mut found = self.select("WHERE folder = ?1 OR run_id = ?1", &[name])?;
        // A folder that was copied has the id of another.
        if let Some(place) = found.iter().position(|run| run.folder_name() == name) {
            return Ok(found.swap_remove(place));
        }
        if found.len() > 1 {
            let folders = list(found.iter().map(HistoryRun::folder_name));
            return Err(HistoryError::SeveralRuns { run_id: name.to_owned(), folders });
        }
        match found.pop() {
            Some(run) => Ok(run),
            None => {
                let path = self.folder.join(name);
                if MissingManifest::of(&path) == MissingManifest::Lost {
                    return Err(RecordError::NotARunFolder { path }.into());
                }
                let known = self.names("SELECT folder FROM runs ORDER BY created_at DESC")?;
                Err(HistoryError::UnknownRun {
                    run: name.to_owned(),
                    folder: self.folder.clone(),
                    hint: hint(name, known.iter().map(String::as_str)),
                })
            }
        }
    }

    /// The runs in a folder of this name, and those with this id.
    pub(crate) fn runs_named(&self, folder: &str, run_id: &str) -> Result<Vec<HistoryRun>, HistoryError> {
        self.select("WHERE folder = ?1 OR run_id = ?2", &[folder, run_id])
    }

    /// Folders of runs whose manifest cannot be read, or is gone.
    ///
    /// # Errors
    /// When the index fails.
    pub fn unreadable(&self) -> Result<Vec<UnreadableRun>, HistoryError> {
        self.index.read(|connection| {
            let mut statement =
                connection.prepare("SELECT folder, reason FROM unreadable ORDER BY folder")?;
            let unreadable = |row: &Row<'_>| {
                let folder: String = row.get(0)?;
                Ok(UnreadableRun { path: self.folder.join(folder), reason: row.get(1)? })
            };
            statement.query_map([], unreadable)?.collect()
        })
    }

    /// The runs of a suite, the oldest first.
    ///
    /// # Errors
    /// When no run is of it, and when the index fails.
    pub fn runs_of(&self, suite: &str) -> Result<Vec<HistoryRun>, HistoryError> {
        let runs = self.select("WHERE suite = ?1", &[suite])?;
        if runs.is_empty() {
            let known =
                self.names("SELECT DISTINCT suite FROM runs WHERE suite IS NOT NULL ORDER BY suite")?;
            let names = || known.iter().map(String::as_str);
            return Err(HistoryError::UnknownSuite {
                suite: suite.to_owned(),
                folder: self.folder.clone(),
                hint: hint(suite, names()),
                known: list(names()),
            });
        }
        Ok(runs)
    }

    fn names(&self, sql: &str) -> Result<Vec<String>, HistoryError> {
        self.index.read(|connection| connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    fn select(&self, condition: &str, values: &[&str]) -> Result<Vec<HistoryRun>, HistoryError> {
        let mut runs = self.index.read(|connection| self.read_runs(connection, condition, values))?;
        for run in runs.iter_mut().filter(|run| run.status == RunStatus::Running) {
            run.is_written = RunFolder::is_being_written(&run.path);
            run.bytes = RunFolder::bytes_below(&run.path);
        }
        Ok(runs)
    }

    fn read_runs(
        &self,
        connection: &Connection,
        condition: &str,
        values: &[&str],
    ) -> rusqlite::Result<Vec<HistoryRun>> {
        let mut figures: HashMap<String, Vec<HistoryFigure>> = HashMap::new();
        let sql = format!(
            "SELECT task_id, metric_id, value, n, total, coverage, stderr, low, high, higher_is_better, folder,
                total_is_least
             FROM figures WHERE folder IN (SELECT folder FROM runs {condition}) ORDER BY folder, position"
        );
        let mut statement = connection.prepare(&sql)?;
        let read =
            statement.query_map(params_from_iter(values), |row| Ok((row.get(10)?, figure_in(row)?)))?;
        for row in read {
            let (folder, figure): (String, HistoryFigure) = row?;
            figures.entry(folder).or_default().push(figure);
        }
        let sql = format!(
            "SELECT run_id, suite, model, status, created_at, finished_at, host_version, format_version, parent_run,
                samples, coverage, lock_digest, definition_digest, samples_digest, bytes, folder, not_reached, total_is_least, edited
             FROM runs {condition} ORDER BY created_at, folder"
        );
        let run_in = |row: &Row<'_>| {
            let folder: String = row.get(15)?;
            Ok(HistoryRun {
                run_id: row.get(0)?,
                suite: row.get(1)?,
                model: row.get(2)?,
                status: status_in(&row.get::<_, String>(3)?),
                is_written: false,
                created_at: row.get(4)?,
                finished_at: row.get(5)?,
                host_version: row.get(6)?,
                format_version: row.get(7)?,
                parent_run: row.get(8)?,
                samples: row.get::<_, Option<i64>>(9)?.map(count),
                not_reached: count(row.get(16)?),
                total_is_least: row.get(17)?,
                coverage: row.get(10)?,
                lock_digest: row.get(11)?,
                definition_digest: row.get(12)?,
                samples_digest: row.get(13)?,
                bytes: count(row.get(14)?),
                edited: row.get(18)?,
                figures: figures.remove(&folder).unwrap_or_default(),
                path: self.folder.join(&folder),
            })
        };
        connection.prepare(&sql)?.query_map(params_from_iter(values), run_in)?.collect()
    }
}

fn figure_in(row: &Row<'_>) -> rusqlite::Result<HistoryFigure> {
    Ok(HistoryFigure {
        task_id: row.get(0)?,
        metric_id: row.get(1)?,
        value: row.get(2)?,
        n: count(row.get(3)?),
        total: count(row.get(4)?),
        coverage: row.get(5)?,
        stderr: row.get(6)?,
        low: row.get(7)?,
        high: row.get(8)?,
        higher_is_better: row.get(9)?,
        total_is_least: row.get(11)?,
    })
}

fn status_in(name: &str) -> RunStatus {
    let known = [RunStatus::Interrupted, RunStatus::Complete, RunStatus::Incomplete];
    known.into_iter().find(|status| status.name() == name).unwrap_or(RunStatus::Running)
}

#[cfg(test)]
mod tests;
