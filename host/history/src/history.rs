//! The runs in a folder, and the suites that they are of.

use crate::error::{hint, list};
use crate::index::{INDEX_FILE, Index};
use crate::refresh::{RefreshReport, count, refresh};
use crate::scan::{bytes_below, has_runs};
use crate::{Baseline, HistoryError};
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

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// Its id.
    pub run_id: String,
    /// Its folder.
    pub path: PathBuf,
    /// The suite that it is of: the name in its `gage.lock`. A run that was killed has none.
    pub suite: Option<String>,
    /// The models under test, each once.
    pub model: Option<String>,
    /// Its state, as its manifest says.
    pub status: RunStatus,
    /// Whether a process writes to it now.
    pub is_written: bool,
    /// When it began, RFC 3339 in UTC.
    pub created_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// Version of the program that wrote it.
    pub host_version: String,
    /// Version of the manifest's format.
    pub format_version: u32,
    /// The run whose answers it scored again.
    pub parent_run: Option<String>,
    /// How many samples it was to have, where it has figures.
    pub samples: Option<u64>,
    /// Whether there are more than `samples`, and nobody knows how many: it was stopped before it had read them all.
    pub total_is_least: bool,
    /// How many of them it did not come to, since it was stopped before.
    pub not_reached: u64,
    /// Scored samples over all of them; at most that where `total_is_least`.
    pub coverage: Option<f64>,
    /// Of everything that it was made from, the model too; of its `gage.lock`.
    pub lock_digest: Option<String>,
    /// The same without the models that were asked: equal for runs that can be compared.
    pub definition_digest: Option<String>,
    /// Of its `samples.jsonl`.
    pub samples_digest: Option<String>,
    /// Bytes of all its files.
    pub bytes: u64,
    /// What of it cannot be trusted, where its manifest or its figures were edited.
    pub edited: Option<String>,
    /// Its figures, in the order of the suite.
    pub figures: Vec<HistoryFigure>,
}

/// A figure of a run, as `summary.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryFigure {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// The value; none where nothing was scored.
    pub value: Option<f64>,
    /// Scored samples.
    pub n: u64,
    /// All samples, those too that a run which was stopped did not come to.
    pub total: u64,
    /// Whether there are more than `total`, and nobody knows how many.
    pub total_is_least: bool,
    /// Scored records over all records; at most that where `total_is_least`.
    pub coverage: f64,
    /// The standard error.
    pub stderr: Option<f64>,
    /// The lower end of the 95 % interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether more is better.
    pub higher_is_better: bool,
}

/// A suite of which there are runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// How many runs are of it.
    pub runs: u64,
    /// When the first of them began.
    pub first: String,
    /// When the last of them began.
    pub last: String,
    /// The run that others are compared with, where somebody chose one.
    pub baseline: Option<Baseline>,
}

/// The folder of a run whose manifest cannot be read, or is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadableRun {
    /// The folder.
    pub path: PathBuf,
    /// Why not.
    pub reason: String,
}

impl HistoryRun {
    /// What the run is doing, in a word: one that says that it runs and to which nobody writes was killed.
    pub fn state(&self) -> &'static str {
        match (self.status, self.is_written) {
            (RunStatus::Running, false) => "killed",
            (status, _) => status.name(),
        }
    }

    /// Whether it came to its end, so that its figures are those of the whole suite.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, RunStatus::Complete | RunStatus::Incomplete)
    }

    /// What it is called beside other runs: its id, or where its folder has another name, as a copy has, that name with
    /// the id behind it.
    pub fn label(&self) -> String {
        label_of(self.folder_name(), &self.run_id)
    }

    /// Whether both are one run, of which one folder is a copy.
    pub(crate) fn is_copy_of(&self, other: &HistoryRun) -> bool {
        self.run_id == other.run_id && self.created_at == other.created_at
    }

    /// The name of its folder.
    pub fn folder_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
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

    /// The suites of which there are runs, by name.
    ///
    /// # Errors
    /// When the index fails, and when the baselines cannot be read.
    pub fn suites(&self) -> Result<Vec<Suite>, HistoryError> {
        let mut suites = self.index.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT suite, count(*), min(created_at), max(created_at) FROM runs WHERE suite IS NOT NULL
                 GROUP BY suite ORDER BY suite",
            )?;
            let suite = |row: &Row<'_>| {
                let (name, runs) = (row.get(0)?, count(row.get(1)?));
                Ok(Suite { name, runs, first: row.get(2)?, last: row.get(3)?, baseline: None })
            };
            statement.query_map([], suite)?.collect::<rusqlite::Result<Vec<Suite>>>()
        })?;
        let baselines = self.baselines()?;
        for suite in &mut suites {
            suite.baseline = baselines.iter().find(|baseline| baseline.suite == suite.name).cloned();
        }
        Ok(suites)
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
            run.bytes = bytes_below(&run.path);
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

/// `nightly`, or of a folder with another name `copy (nightly)`: the name of the folder is what commands take.
pub(crate) fn label_of(folder: &str, run_id: &str) -> String {
    if folder == run_id { run_id.to_owned() } else { format!("{folder} ({run_id})") }
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
