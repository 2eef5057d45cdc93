//! What the metrics must return, case by case, from the files in `cases/`: recorded from the
//! reference implementation, with the differences of `known_differences.json`, each of which
//! is meant. The components are called the way the engine calls them.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod helpers;
mod metrics;

use gage_plugin::{HostOptions, PluginHost, Registry};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

/// The cases of a file.
fn cases(name: &str) -> Vec<Value> {
    let path = folder().join("cases").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

/// The first-party plugins, compiled once for all tests of this machine.
fn registry() -> Registry {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
    let host = PluginHost::new(&HostOptions { cache_folder: Some(cache), ..HostOptions::default() })
        .expect("an engine");
    Registry::new(host, gage_plugin_bundle::COMPONENTS)
}
