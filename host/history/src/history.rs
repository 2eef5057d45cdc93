//! History of a folder of runs: its index, and its runs.

use crate::HistoryError;
use crate::error::{hint, list};
use crate::index::{INDEX_FILE, Index};
use crate::refresh::{ChangedRuns, RefreshReport, RunUpdate};
use crate::run::HistoryRun;
use crate::scan::has_runs;
use gage_record::{MissingManifest, RecordError, RunFolder, RunStatus};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// History of the runs in a folder. Reads use the index as of the last [`History::refresh`].
pub struct History {
    pub(crate) folder: PathBuf,
    pub(crate) index: Index,
}

/// A run folder whose manifest is unreadable or missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableRun {
    /// The run folder.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl History {
    /// Opens the index of a folder of runs, and creates it if the folder contains a run. Reads no run: see
    /// [`History::refresh`].
    ///
    /// # Errors
    /// Fails if the folder cannot be read. A damaged index is rebuilt, see [`History::notes`]. If the index cannot
    /// be written, it is kept in memory.
    pub fn open(folder: &Path) -> Result<History, HistoryError> {
        let failed = |source| HistoryError::Folder { path: folder.to_owned(), source };
        // Leaves no file in a folder without runs.
        let is_kept = folder.join(INDEX_FILE).exists() || has_runs(folder).map_err(failed)?;
        Ok(History { index: Index::open(folder, is_kept)?, folder: folder.to_owned() })
    }

    /// Reads the run folders that are new or were modified since the last refresh.
    ///
    /// # Errors
    /// Fails if the folder cannot be read. If the index fails, one in memory replaces it. An unreadable run is not
    /// an error, see [`History::unreadable`].
    pub fn refresh(&mut self) -> Result<RefreshReport, HistoryError> {
        let update = self.changed_runs()?.read();
        self.apply(&update)
    }

    /// Finds the run folders that are new or were modified since the last refresh: the first step of
    /// [`History::refresh`]. [`ChangedRuns::read`] is the second one, and [`History::apply`] the last.
    ///
    /// # Errors
    /// Fails if the folder cannot be read. If the index fails, one in memory replaces it.
    pub fn changed_runs(&mut self) -> Result<ChangedRuns, HistoryError> {
        match ChangedRuns::find(&self.index, &self.folder) {
            // Another version of the program may have just recreated the tables.
            Err(HistoryError::Index { source, .. }) if self.index.is_file() => {
                self.index = self.index.without_file(&source)?;
                ChangedRuns::find(&self.index, &self.folder)
            }
            found => found,
        }
    }

    /// Adds runs that were read.
    ///
    /// # Errors
    /// If the index fails, one in memory replaces it, and all runs are read again. Fails if the folder cannot be read then.
    pub fn apply(&mut self, update: &RunUpdate) -> Result<RefreshReport, HistoryError> {
        match update.write(&self.index) {
            Ok(report) if report.damaged > 0 => {
                let path = self.index.path().display();
                let note = format!("the index {path} was damaged, and all runs were read again");
                self.index.add_note(note);
                Ok(report)
            }
            // The disk may be full.
            Err(HistoryError::Index { source, .. }) if self.index.is_file() => {
                self.index = self.index.without_file(&source)?;
                ChangedRuns::find(&self.index, &self.folder)?.read().write(&self.index)
            }
            other => other,
        }
    }

    /// Returns the folder of runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns messages about opening the index, for display.
    pub fn notes(&self) -> &[String] {
        self.index.notes()
    }

    /// Returns all runs, oldest first.
    ///
    /// # Errors
    /// Fails if the index fails.
    pub fn runs(&self) -> Result<Vec<HistoryRun>, HistoryError> {
        self.select("", &[])
    }

    /// Returns a run by its folder name, or by its id.
    ///
    /// # Errors
    /// Fails if there is no such run, or the index fails. Also fails if several folders have this id and none has
    /// this name.
    pub fn run(&self, name: &str) -> Result<HistoryRun, HistoryError> {
        let mut found = self.select("WHERE folder = ?1 OR run_id = ?1", &[name])?;
        // A copied folder has the id of the original.
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
                if MissingManifest::of(&path).is_run() {
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

    /// Returns the runs with this folder name or this id.
    pub(crate) fn runs_named(&self, folder: &str, run_id: &str) -> Result<Vec<HistoryRun>, HistoryError> {
        self.select("WHERE folder = ?1 OR run_id = ?2", &[folder, run_id])
    }

    /// Returns run folders whose manifest is unreadable or missing.
    ///
    /// # Errors
    /// Fails if the index fails.
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

    /// Returns the runs of a suite, oldest first.
    ///
    /// # Errors
    /// Fails if no run belongs to it, or the index fails.
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

#[cfg(unix)]
#[cfg(test)]
mod foreign_index_tests;
#[cfg(test)]
mod tests;
