//! The results that metrics must return for the cases in `cases/`, which were recorded from the reference implementation, except for
//! the intended differences in `known_differences.json`. The components are called the way the engine calls them.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod helpers;
mod large;
mod megabytes;
mod metrics;
mod not_finite;
mod versions;

use gage_core::EvalContext;
use gage_plugin::{HostOptions, PluginHost, Registry};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

/// Returns the cases of a file.
fn cases(name: &str) -> Vec<Value> {
    let path = folder().join("cases").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

/// Returns the evaluation context of a case.
fn context_of(case: &Value) -> EvalContext<'_> {
    EvalContext {
        sample: (&case["sample"]).into(),
        model_output: (&case["model_output"]).into(),
        judge_output: &case["judge_output"],
        support_output: &case["support_output"],
    }
}

/// Has a metric score blank references itself. The host takes them as missing unless the suite says otherwise, and a case
/// states what the metric returns.
fn passing_blank_references(params: &Value) -> Value {
    let mut params = params.clone();
    if let Some(params) = params.as_object_mut() {
        params.entry("on_missing_field").or_insert_with(|| "ignore".into());
    }
    params
}

/// Returns the intended differences: file, case, expected result, and reason.
fn differences() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("known_differences.json")).expect("the differences");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the expected result of a case that intentionally differs from the recorded one.
fn difference(file: &str, case: &Value) -> Option<Value> {
    let all = differences();
    let known = all.iter().find(|known| known["file"] == *file && known["case"] == case["case"])?;
    Some(known["expected"].clone())
}

#[test]
fn every_known_difference_names_a_case_and_a_reason() {
    for known in differences() {
        let file = known["file"].as_str().and_then(|name| name.strip_suffix(".jsonl")).expect("a file");
        assert!(cases(file).iter().any(|case| case["case"] == known["case"]), "{known}");
        assert!(known["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{known}");
    }
}

/// Returns the bundled plugins, compiled once per machine.
fn registry() -> Registry {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
    let host = PluginHost::new(&HostOptions { cache_folder: Some(cache), ..HostOptions::default() })
        .expect("an engine");
    Registry::new(host, gage_plugin_bundle::COMPONENTS)
}
