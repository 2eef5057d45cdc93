//! Manifests of run folders.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_config::load_recorded;
use gage_core::Digest;
use gage_figures::RecordedRun;
use gage_record::format::MANIFEST_FILE;
use gage_record::{Manifest, RunIdentity, RunReader, RunStatus};
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use std::io;
use tempfile::TempDir;

/// Manifests.
pub const TARGET: Target = Target { name: "manifests", cases: 500, seeds, inputs, check };

/// Id of the runs of all targets.
pub const RUN_ID: &str = "run";

const NAMES: &[&str] = &[
    "format_version",
    "run_id",
    "journal_id",
    "created_at",
    "finished_at",
    "host_version",
    "parent_run",
    "is_rejudged",
    "has_recording",
    "status",
    "ended_by",
    "identity",
    "host",
    "config",
    "datasets",
    "plugins",
    "prompts",
    "backends",
    "settings",
    "redacted",
    "facts",
    "prompt_versions",
    "unrecorded_usage",
    "files",
    "digest",
    "bytes",
    "api_version",
    "kind",
    "tasks",
    "metrics",
    "custom",
    "steps",
    "prompt_tokens",
];

/// Returns the document of a small suite.
fn suite() -> Value {
    json!({
        "api_version": "gage/v1alpha1", "kind": "PipelineConfig", "metadata": {"name": "fuzzed"},
        "datasets": [{"dataset_id": "d", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
        "backends": [{"backend_id": "b", "type": "openai_http", "config": {"base_url": "http://localhost/v1", "model": "m"}}],
        "role_adapters": [{"adapter_id": "r", "role_type": "dut_model", "backend_id": "b"}],
        "metrics": ["exact_match"], "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
        "gate": [{"metric": "exact_match", "margin": 0.02}],
    })
}

/// Returns the manifest of a complete run.
pub fn manifest() -> Value {
    let identity = RunIdentity { config: suite(), ..RunIdentity::default() };
    let mut manifest = Manifest::new(RUN_ID, "0.1.0", identity);
    manifest.finish(RunStatus::Complete);
    let mut value = json!(manifest);
    value["created_at"] = "2026-01-02T03:04:05Z".into();
    value["finished_at"] = "2026-01-02T03:05:05Z".into();
    let digest = Digest::of_json(&value).to_string();
    value["digest"] = digest.into();
    value
}

/// Creates a run folder with this manifest. The folder is deleted with the result.
///
/// # Errors
/// If the file system refuses.
pub fn run_folder(manifest: &[u8]) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(MANIFEST_FILE), manifest)?;
    Ok(folder)
}

fn seeds() -> Vec<Vec<u8>> {
    let complete = manifest();
    let mut running = complete.clone();
    running["status"] = "running".into();
    running["files"] = json!({"samples.jsonl": {"digest": format!("sha256:{}", "0".repeat(64)), "bytes": 7}});
    running["unrecorded_usage"] = json!({"b": {"prompt_tokens": 3, "completion_tokens": 4}});
    running["facts"] = json!({"b": {"threads": 2}});
    [complete, running].iter().map(|manifest| format!("{manifest:#}").into_bytes()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::json_inputs(seeds(), NAMES)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let folder = run_folder(input).map_err(|error| error.to_string())?;
    let Ok(reader) = RunReader::open(folder.path()) else { return Ok(Verdict::Refused) };
    let _ = reader.edited();
    check_manifest(reader.manifest())?;
    let _ =
        RecordedRun::open(folder.path()).map(|run| (run.task_ids().len(), run.models(), run.gate().len()));
    Ok(Verdict::Accepted)
}

/// Checks that a manifest is read again as it was, and shows its parts.
fn check_manifest(manifest: &Manifest) -> Result<(), String> {
    let written = serde_json::to_string(manifest).map_err(|error| error.to_string())?;
    match serde_json::from_str::<Manifest>(&written) {
        Ok(again) if again == *manifest => {}
        again => return Err(format!("written {written}, and read again as {again:?}")),
    }
    let identity = &manifest.identity;
    let _ = load_recorded(&identity.config);
    let _ = (identity.pinned(), identity.suite_name(), identity.models(), identity.task_ids().count());
    let _ = identity.differences(&RunIdentity::default());
    Ok(())
}
