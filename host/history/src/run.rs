//! A run in the history of a folder, and its figures.

use gage_record::RunStatus;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// The id.
    pub run_id: String,
    /// The folder.
    pub path: PathBuf,
    /// The suite that it is of: the name in its `gage.lock`. A run that was killed has none.
    pub suite: Option<String>,
    /// The models under test, each once.
    pub model: Option<String>,
    /// The state, as its manifest says.
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
    /// The figures, in the order of the suite.
    pub figures: Vec<HistoryFigure>,
}

/// A figure of a run, as `summary.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl HistoryRun {
    /// What the run is doing, in a word: one that says that it runs and to which nobody writes was killed.
    pub fn state(&self) -> &'static str {
        match (self.status, self.is_written) {
            (RunStatus::Running, false) => "killed",
            (status, _) => status.name(),
        }
    }

    /// Returns whether it came to its end, so that its figures are those of the whole suite.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, RunStatus::Complete | RunStatus::Incomplete)
    }

    /// What it is called beside other runs: its id, or where its folder has another name, as a copy has, that name with
    /// the id after it.
    pub fn label(&self) -> String {
        label_of(self.folder_name(), &self.run_id)
    }

    /// Returns whether both are one run, of which one folder is a copy.
    pub(crate) fn is_copy_of(&self, other: &HistoryRun) -> bool {
        self.run_id == other.run_id && self.created_at == other.created_at
    }

    /// The name of its folder.
    pub fn folder_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// `nightly`, or of a folder with another name `copy (nightly)`: the name of the folder is what commands take.
pub(crate) fn label_of(folder: &str, run_id: &str) -> String {
    if folder == run_id { run_id.to_owned() } else { format!("{folder} ({run_id})") }
}
