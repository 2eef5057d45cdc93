//! Run folders for these tests, written by the code that writes real ones.

use super::super::{CompareOptions, Comparison, compare};
use gage_config::GateSpec;
use gage_figures::RecordedRun;
use gage_figures::test_records::{self, sample};
use gage_figures::{
    Completeness, Phases, TaskCompleteness, TaskDescription, no_custom_aggregators, write_reports,
};
use gage_record::{JournalEntry, JournalWriter, Manifest, RunFolder, RunStatus, SampleRecord};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A run folder to be written.
pub(super) struct Run {
    pub(super) records: Vec<SampleRecord>,
    pub(super) tasks: Vec<TaskDescription>,
    pub(super) identity: Value,
    pub(super) status: RunStatus,
    /// Completeness of the task `t`.
    pub(super) reach: TaskCompleteness,
}

/// A task with the metric `m`.
pub(super) fn task(task_id: &str) -> TaskDescription {
    TaskDescription {
        dataset_id: "rows".to_owned(),
        timing_metrics: Vec::new(),
        ..test_records::task(task_id)
    }
}

/// Identity of a run, as in its manifest.
pub(super) fn identity(model: &str, task: &Value) -> Value {
    json!({
        "config": {
            "api_version": "gage/v1alpha1", "kind": "PipelineConfig",
            "datasets": [{"dataset_id": "rows", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
            "backends": [{"backend_id": "b", "type": "openai_http",
                          "config": {"base_url": "http://127.0.0.1:1/v1", "model": model}}],
            "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "b"}],
            "metrics": ["m"],
            "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
            "tasks": [task],
        },
        "datasets": {"rows": {"digest": "sha256:aa", "bytes": 10}},
        "plugins": {"m": {
            "component": "text", "version": "1", "digest": "sha256:bb", "wit_version": "0.1.0", "scorer_version": "1", "limits": {},
        }},
        "prompts": {"dut": {"prompt_id": "p", "digest": "sha256:cc"}},
        "backends": {"b": {"type": "openai_http", "model": model}},
    })
}

impl Run {
    /// A run of the task `t` in which sample i has score i.
    pub(super) fn of(scores: &[f64]) -> Run {
        let record = |(index, score): (usize, &f64)| {
            let mut record = sample("t", index as u64, *score, 1.0);
            record.timing_metrics.clear();
            record.row_digest = format!("{index:016x}");
            record
        };
        Run {
            records: scores.iter().enumerate().map(record).collect(),
            tasks: vec![task("t")],
            identity: identity("model", &json!({"task_id": "t", "dataset_id": "rows"})),
            status: RunStatus::Complete,
            reach: TaskCompleteness::Whole,
        }
    }

    /// Writes the run folder.
    pub(super) fn write(self, root: &Path, run_id: &str) -> PathBuf {
        let folder = RunFolder::create(root, run_id).unwrap();
        let mut manifest = Manifest::new(run_id, "0.1.0", serde_json::from_value(self.identity).unwrap());
        manifest.write(&folder).unwrap();
        let mut journal = JournalWriter::open(&folder).unwrap().writer;
        let entries: Vec<JournalEntry> =
            self.records.iter().map(JournalEntry::FinishedWithoutScores).collect();
        journal.append_batch(entries).unwrap();
        let reaches = Completeness::from([("t".to_owned(), self.reach)]);
        let written =
            write_reports(&folder, &self.tasks, &reaches, &Phases::default(), &no_custom_aggregators)
                .unwrap();
        // The manifest of a running or killed run lists no files yet.
        if self.status != RunStatus::Running {
            manifest.files = written.files;
        }
        manifest.finish(self.status);
        manifest.write(&folder).unwrap();
        folder.path().to_owned()
    }
}

/// A gate on the metric `m`.
pub(super) fn gate(margin: f64) -> Vec<GateSpec> {
    vec![GateSpec::new("m", margin)]
}

/// Compares two runs.
pub(super) fn compared(base: Run, new: Run, gate: Vec<GateSpec>) -> Comparison {
    compared_with(base, new, CompareOptions { gate, ..CompareOptions::default() })
}

/// Compares two runs with the given options.
pub(super) fn compared_with(base: Run, new: Run, options: CompareOptions) -> Comparison {
    let root = tempfile::tempdir().unwrap();
    let (base, new) = (base.write(root.path(), "base"), new.write(root.path(), "new"));
    let (base, new) = (RecordedRun::open(&base).unwrap(), RecordedRun::open(&new).unwrap());
    compare(&base, &new, &options).unwrap()
}

/// `count` scores of 1, except that the first `wrong` are 0.
pub(super) fn scores(count: usize, wrong: usize) -> Vec<f64> {
    (0..count).map(|number| if number < wrong { 0.0 } else { 1.0 }).collect()
}
