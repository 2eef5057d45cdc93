//! Baselines of suites: a small text file next to the runs, because it cannot be rebuilt from them.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

use crate::error::list;
use crate::run::label_of;
use crate::{History, HistoryError, HistoryRun};
use gage_core::foreign_file::{self, FileLimit};
use gage_record::rfc3339;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of the file in the folder of runs.
pub const BASELINES_FILE: &str = "baselines.json";

/// Version of its format. Readers reject a newer one.
pub const BASELINES_VERSION: u64 = 1;

/// Its maximum size. A suite takes about 200 bytes.
const MAX_SIZE: FileLimit = FileLimit::new("baselines", 4 << 20);

/// Empty lock file, held while the baselines are rewritten.
const LOCK_FILE: &str = ".baselines.lock";

/// State of a baseline, which determines whether runs can be compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineState {
    /// Unchanged since it was chosen.
    There,
    /// The run no longer exists, or belongs to another suite.
    Gone,
    /// The samples have changed since the run was chosen.
    Changed,
    /// The manifest or the figures were edited.
    Edited,
}

/// The run that other runs are compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Baseline {
    /// The suite.
    pub suite: String,
    /// The run.
    pub run_id: String,
    /// The run folder.
    pub path: PathBuf,
    /// Time when it was chosen, RFC 3339 in UTC.
    pub chosen_at: String,
    /// State of the run.
    pub state: BaselineState,
}

impl Baseline {
    /// Returns the name of its folder.
    pub fn folder_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns its label in lists, as from [`HistoryRun::label`].
    pub fn label(&self) -> String {
        label_of(self.folder_name(), &self.run_id)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Baselines {
    format_version: u64,
    baselines: Vec<ChosenBaseline>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChosenBaseline {
    suite: String,
    run_id: String,
    /// Name of its folder, if it differs from the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Digest of its `samples.jsonl`.
    samples: Option<String>,
    chosen_at: String,
}

impl History {
    /// Returns the baselines of all suites, sorted by name.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or the index fails.
    pub fn baselines(&self) -> Result<Vec<Baseline>, HistoryError> {
        let mut found = Vec::new();
        for chosen in read(&self.folder)?.baselines {
            found.push(self.find_chosen(chosen)?);
        }
        found.sort_by(|one, other| one.suite.cmp(&other.suite));
        Ok(found)
    }

    /// Returns the baseline of a suite, or `None` if none was chosen. Its run may be gone.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or the index fails.
    pub fn baseline(&self, suite: &str) -> Result<Option<Baseline>, HistoryError> {
        Ok(self.baselines()?.into_iter().find(|baseline| baseline.suite == suite))
    }

    /// Returns the run to compare another one with: the baseline of its suite.
    ///
    /// # Errors
    /// Fails if the run has no suite, the suite has no baseline, or the run is itself the baseline. Also fails if the
    /// baseline is gone or has changed.
    pub fn baseline_for(&self, run: &HistoryRun) -> Result<HistoryRun, HistoryError> {
        let Some(suite) = run.suite.clone() else {
            return Err(HistoryError::NoSuite { run_id: run.run_id.clone() });
        };
        let Some(baseline) = self.baseline(&suite)? else {
            return Err(HistoryError::NoBaseline { suite, folder: self.folder.clone() });
        };
        let run_id = baseline.run_id.clone();
        match baseline.state {
            BaselineState::Gone => {
                let copies = self.copies_text(&suite, &run_id)?;
                Err(HistoryError::BaselineGone { suite, run_id, folder: self.folder.clone(), copies })
            }
            BaselineState::Changed => Err(HistoryError::BaselineChanged { suite, run_id }),
            BaselineState::There | BaselineState::Edited if baseline.path == run.path => {
                Err(HistoryError::IsBaseline { suite, run_id })
            }
            // Callers report an edited baseline.
            BaselineState::There | BaselineState::Edited => {
                // Looked up by folder, because other runs may have the same id.
                self.run(baseline.folder_name())
            }
        }
    }

    /// Lists the folders with copies of a suite's baseline, if there are several and the original is gone.
    fn copies_text(&self, suite: &str, run_id: &str) -> Result<String, HistoryError> {
        let chosen = read(&self.folder)?.baselines.into_iter().find(|chosen| chosen.suite == suite);
        let samples = chosen.and_then(|chosen| chosen.samples);
        let runs = self.runs_named(run_id, run_id)?;
        let is_copy = |run: &&HistoryRun| {
            run.run_id == run_id && run.suite.as_deref() == Some(suite) && run.samples_digest == samples
        };
        let folders: Vec<&str> = runs.iter().filter(is_copy).map(HistoryRun::folder_name).collect();
        Ok(match folders.len() {
            0 | 1 => String::new(),
            _ => format!("; copies of it are in {}, and the choice is ambiguous", list(folders)),
        })
    }

    /// Makes a run the baseline of its suite, and replaces any other.
    ///
    /// # Errors
    /// Fails if the run has not ended, has no suite, or was edited in its manifest or figures. Also fails if the file
    /// cannot be written.
    pub fn choose_baseline(&mut self, run: &HistoryRun) -> Result<Baseline, HistoryError> {
        let Some(suite) = run.suite.clone() else {
            return Err(HistoryError::NoSuite { run_id: run.run_id.clone() });
        };
        if !run.has_ended() {
            return Err(HistoryError::NotEnded { run_id: run.run_id.clone(), status: run.state() });
        }
        if let Some(edited) = run.edited.clone() {
            return Err(HistoryError::Edited { run_id: run.run_id.clone(), edited });
        }
        let folder = Some(run.folder_name().to_owned()).filter(|name| *name != run.run_id);
        let chosen = ChosenBaseline {
            suite,
            run_id: run.run_id.clone(),
            folder,
            samples: run.samples_digest.clone(),
            chosen_at: rfc3339(SystemTime::now()),
        };
        change(&self.folder, |all| {
            all.retain(|other| other.suite != chosen.suite);
            all.push(chosen.clone());
            all.sort_by(|one, other| one.suite.cmp(&other.suite));
        })?;
        self.find_chosen(chosen)
    }

    /// Removes the baseline of a suite. Returns true if there was one.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn remove_baseline(&mut self, suite: &str) -> Result<bool, HistoryError> {
        if !read(&self.folder)?.baselines.iter().any(|chosen| chosen.suite == suite) {
            return Ok(false);
        }
        change(&self.folder, |all| all.retain(|chosen| chosen.suite != suite))?;
        Ok(true)
    }

    /// Finds the chosen run: in its folder, or if that is gone, in the only other folder with the same run.
    fn find_chosen(&self, chosen: ChosenBaseline) -> Result<Baseline, HistoryError> {
        let folder = chosen.folder.as_deref().unwrap_or(&chosen.run_id);
        let is_chosen =
            |run: &HistoryRun| run.run_id == chosen.run_id && run.suite.as_ref() == Some(&chosen.suite);
        let is_as_it_was = |run: &HistoryRun| run.samples_digest == chosen.samples && run.has_ended();
        let mut runs = self.runs_named(folder, &chosen.run_id)?;
        runs.retain(is_chosen);
        let state_of = |run: &HistoryRun| match run.edited {
            Some(_) => BaselineState::Edited,
            None => BaselineState::There,
        };
        let (state, path) = match runs.iter().find(|run| run.folder_name() == folder) {
            Some(run) if is_as_it_was(run) => (state_of(run), run.path.clone()),
            Some(run) => (BaselineState::Changed, run.path.clone()),
            None => match runs.iter().filter(|run| is_as_it_was(run)).collect::<Vec<_>>().as_slice() {
                // The folder was renamed.
                [moved] => (state_of(moved), moved.path.clone()),
                _ => (BaselineState::Gone, self.folder.join(folder)),
            },
        };
        let ChosenBaseline { suite, run_id, chosen_at, .. } = chosen;
        Ok(Baseline { suite, run_id, path, chosen_at, state })
    }
}

fn read(folder: &Path) -> Result<Baselines, HistoryError> {
    let path = folder.join(BASELINES_FILE);
    let text = match foreign_file::read_below(folder, BASELINES_FILE, MAX_SIZE) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Baselines::default()),
        Err(source) => return Err(HistoryError::BaselinesIo { action: "read", path, source }),
    };
    let baselines: Baselines = match serde_json::from_slice(&text) {
        Ok(baselines) => baselines,
        Err(error) => return Err(HistoryError::Baselines { path, reason: error.to_string() }),
    };
    if baselines.format_version > BASELINES_VERSION {
        let found = baselines.format_version;
        let reason =
            format!("it has format version {found}, and this program reads up to {BASELINES_VERSION}");
        return Err(HistoryError::Baselines { path, reason });
    }
    Ok(baselines)
}

/// Updates the file atomically, and locks out other processes.
fn change(folder: &Path, change: impl FnOnce(&mut Vec<ChosenBaseline>)) -> Result<(), HistoryError> {
    let path = folder.join(BASELINES_FILE);
    let failed =
        |source: io::Error| HistoryError::BaselinesIo { action: "write", path: path.clone(), source };
    let mut options = OpenOptions::new();
    let options = options.create(true).truncate(false).write(true);
    let lock = foreign_file::open_to_write(&folder.join(LOCK_FILE), options).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut baselines = read(folder)?;
    change(&mut baselines.baselines);
    baselines.format_version = BASELINES_VERSION;
    let text = serde_json::to_string_pretty(&baselines).map_err(|error| failed(error.into()))?;
    let temporary = folder.join(format!(".{BASELINES_FILE}.tmp"));
    let written = foreign_file::create_anew(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&temporary, &path)).map_err(failed)
}
