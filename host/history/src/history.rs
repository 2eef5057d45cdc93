//! The history of a folder of runs: its index, and the runs in it.

use crate::HistoryError;
use crate::error::{hint, list};
use crate::index::{INDEX_FILE, Index};
use crate::refresh::{RefreshReport, refresh};
use crate::run::HistoryRun;
use crate::scan::has_runs;
use gage_record::{MissingManifest, RecordError, RunFolder, RunStatus};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;
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
    /// When the folder cannot be read. A damaged index is made again, see [`History::notes`]; one that cannot be written
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
        let sql = format!("SELECT folder, document FROM runs {condition} ORDER BY created_at, folder");
        let run_in = |row: &Row<'_>| {
            let run = serde_json::from_str(&row.get::<_, String>(1)?)
                .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, Box::new(error)))?;
            Ok(HistoryRun { path: self.folder.join(row.get::<_, String>(0)?), ..run })
        };
        connection.prepare(&sql)?.query_map(params_from_iter(values), run_in)?.collect()
    }
}

#[cfg(test)]
mod tests;
