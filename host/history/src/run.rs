//! A run in the history of a folder, and its figures.

use gage_record::RunStatus;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// The id.
    pub run_id: String,
    /// The run folder.
    pub path: PathBuf,
    /// The suite, by its name in `gage.lock`; `None` for a killed run.
    pub suite: Option<String>,
    /// The models under test, without duplicates.
    pub model: Option<String>,
    /// The status in its manifest.
    pub status: RunStatus,
    /// Cause of an early end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// True if a process is writing to it.
    pub is_written: bool,
    /// Start of the run, RFC 3339 in UTC.
    pub created_at: String,
    /// End of the run.
    pub finished_at: Option<String>,
    /// Version of the program that wrote the run.
    pub host_version: String,
    /// Format version of the manifest.
    pub format_version: u32,
    /// The run whose answers were scored again.
    pub parent_run: Option<String>,
    /// Number of planned samples, if the run has figures.
    pub samples: Option<u64>,
    /// True if there are more than `samples`, but the total is unknown, because the run stopped before reading them
    /// all.
    pub total_is_least: bool,
    /// Number of samples that the run did not reach before it was stopped.
    pub not_reached: u64,
    /// Fraction of samples that were scored; an upper bound if `total_is_least`.
    pub coverage: Option<f64>,
    /// Cost of its tokens, in the currency of the suite's prices; `None` without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Description of what the cost leaves out: models without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_prices: Option<String>,
    /// Digest of its `gage.lock`, which covers all inputs including the model.
    pub lock_digest: Option<String>,
    /// Digest of the same inputs without the models under test. Runs can be compared if it is equal.
    pub definition_digest: Option<String>,
    /// Digest of its `samples.jsonl`.
    pub samples_digest: Option<String>,
    /// Total size of its files in bytes.
    pub bytes: u64,
    /// Description of edits to its manifest or figures, if any.
    pub edited: Option<String>,
    /// The figures, in the order of the suite.
    pub figures: Vec<HistoryFigure>,
}

/// A figure of a run, as in `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryFigure {
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// The value, or `None` if nothing was scored.
    pub value: Option<f64>,
    /// Number of scored samples.
    pub n: u64,
    /// Total number of samples, including those that a stopped run did not reach.
    pub total: u64,
    /// True if there are more than `total`, but their number is unknown.
    pub total_is_least: bool,
    /// Fraction of records that were scored; an upper bound if `total_is_least`.
    pub coverage: f64,
    /// The standard error.
    pub stderr: Option<f64>,
    /// Lower bound of the 95 % interval.
    pub low: Option<f64>,
    /// Upper bound of the 95 % interval.
    pub high: Option<f64>,
    /// True if higher values are better.
    pub higher_is_better: bool,
    /// Smallest and largest possible value, if the metric declares both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
}

impl HistoryRun {
    /// Returns the state in one word. A run marked as running is killed if no process is writing to it.
    pub fn state(&self) -> &'static str {
        self.status.state(self.is_written)
    }

    /// Returns true if it finished, so that its figures cover the whole suite.
    pub fn has_ended(&self) -> bool {
        matches!(self.status, RunStatus::Complete | RunStatus::Incomplete)
    }

    /// Returns the label in lists: its id. If the folder has another name, as for a copy, the label is that name
    /// followed by the id.
    pub fn label(&self) -> String {
        label_of(self.folder_name(), &self.run_id)
    }

    /// Returns true if both are the same run, one of them a copied folder.
    pub(crate) fn is_copy_of(&self, other: &HistoryRun) -> bool {
        self.run_id == other.run_id && self.created_at == other.created_at
    }

    /// Returns the name of its folder.
    pub fn folder_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

/// Returns `nightly`, or `copy (nightly)` if the folder has another name. Commands accept the folder name.
pub(crate) fn label_of(folder: &str, run_id: &str) -> String {
    if folder == run_id { run_id.to_owned() } else { format!("{folder} ({run_id})") }
}
