//! Small run folders for tests.

use gage_record::format::{LOCK_FILE, SAMPLES_FILE, SUMMARY_FILE};
use gage_record::{Manifest, RunFolder, RunIdentity, RunStatus};
use serde_json::{Value, json};
use std::path::Path;

/// A finished run of ten samples with one metric.
#[derive(Clone, Debug)]
pub(crate) struct TestRun {
    pub(crate) run_id: &'static str,
    pub(crate) suite: &'static str,
    pub(crate) model: &'static str,
    /// Data of the suite.
    pub(crate) data: &'static str,
    /// One `1` or `0` per sample, or another character if it was not scored.
    pub(crate) scores: &'static str,
    pub(crate) minute: u8,
    pub(crate) status: RunStatus,
}

impl TestRun {
    /// Creates a run of the suite `words`.
    pub(crate) fn new(run_id: &'static str, minute: u8, scores: &'static str) -> TestRun {
        let status = RunStatus::Complete;
        TestRun { run_id, suite: "words", model: "one", data: "a", scores, minute, status }
    }

    /// Writes its folder, or rewrites it.
    pub(crate) fn write(&self, root: &Path) {
        let _ = std::fs::remove_dir_all(root.join(self.run_id));
        let folder = RunFolder::create(root, self.run_id).unwrap();
        let mut manifest = Manifest::new(self.run_id, "0.1.0", self.identity());
        manifest.created_at = format!("2026-01-01T00:{:02}:00Z", self.minute);
        manifest.write(&folder).unwrap();
        let lock = format!(
            "format: gage-lock\nformat_version: 1\nsuite:\n  name: {}\ndatasets:\n  rows:\n    digest: {}\n\
             backends:\n  model:\n    model: {}\nsettings:\n  backends:\n    model:\n      type: {}\n",
            self.suite, self.data, self.model, self.model
        );
        let samples: String =
            (0..).zip(self.scores.chars()).map(|(index, score)| line(index, score)).collect();
        for (name, text) in
            [(LOCK_FILE, lock), (SAMPLES_FILE, samples), (SUMMARY_FILE, self.summary().to_string())]
        {
            let digest = folder.write_atomically(name, text.as_bytes()).unwrap();
            manifest.files.insert(name.to_owned(), digest);
        }
        manifest.status = self.status;
        manifest.write(&folder).unwrap();
    }

    fn identity(&self) -> RunIdentity {
        let identity = json!({
            "config": {
                "api_version": "gage/v1alpha1",
                "kind": "PipelineConfig",
                "datasets": [{"dataset_id": "rows", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
                "backends": [{"backend_id": "model", "type": "openai_http", "config": {"base_url": "http://127.0.0.1:1/v1", "model": self.model}}],
                "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "model"}],
                "metrics": ["exact_match"],
                "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
            },
            "backends": {"model": {"type": "openai_http", "model": self.model}},
        });
        serde_json::from_value(identity).unwrap()
    }

    fn summary(&self) -> Value {
        let total = self.scores.len();
        let right = self.scores.matches('1').count();
        let scored = right + self.scores.matches('0').count();
        let coverage = scored as f64 / total as f64;
        let figure = json!({
            "task_id": "rows", "metric_id": "exact_match", "value": right as f64 / scored as f64, "n": scored,
            "total": total, "coverage": coverage, "stderr": 0.1, "higher_is_better": true,
            "interval": {"low": 0.2, "high": 0.8},
        });
        json!({
            "format_version": 1, "samples": {"total": total, "coverage": coverage},
            "tasks": [{"task_id": "rows"}], "metrics": [figure],
        })
    }
}

fn line(index: u64, score: char) -> String {
    let card = score.to_digit(10).map(|score| json!({"primary_score": score}));
    let outcome = if card.is_some() { "scored" } else { "backend_error" };
    let result = json!({"metric_id": "exact_match", "schema_version": "v1", "scorer_version": "1", "outcome": outcome, "card": card});
    let line = json!({
        "task_id": "rows", "index": index, "sample_id": format!("q{index}"), "outcome": outcome, "sample": null,
        "model_output": null, "metrics": [result],
    });
    format!("{line}\n")
}
