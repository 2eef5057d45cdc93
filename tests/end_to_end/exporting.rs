//! `export`: written files and refusals.

use crate::scripted_backend::constant_backend;
use crate::support::{Workspace, rows, suite};
use serde_json::{Value, json};
use std::process::Command;

const FORMATS: [&str; 5] = ["lm-eval", "inspect", "every-eval-ever", "parquet", "csv"];

/// An answer with control characters, quotes and HTML.
const HOSTILE: &str = "\u{1b}[31m\"\\\n</script>\u{2028}\u{202e}🙂,answer 1";

/// Creates a run over twelve rows, one of them invalid.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(11) + "{\"id\": \"odd\"}\n");
    let backend = constant_backend(&workspace, HOSTILE);
    let suite = suite(&backend, "[exact_match, contains, latency]")
        .replace("rows.jsonl}", "rows.jsonl, max_invalid: 0.5}");
    workspace.write("words.yaml", suite);
    workspace.run(&["run", "words.yaml", "--run-id", "nightly", "--quiet"]);
    workspace
}

#[test]
fn every_export_format_is_written_and_replaces_nothing() {
    let workspace = workspace();
    for format in FORMATS {
        let arguments = ["export", "nightly", "--format", format];
        let ended = workspace.run(&[&arguments[..], &["--json"]].concat()).expect_code(0);
        let answer = ended.stdout_json();
        assert_eq!((&answer["format"], &answer["samples"]), (&json!(format), &json!(12)));
        for file in answer["files"].as_array().expect("files") {
            let path = file.as_str().expect("a path");
            assert!(path.starts_with("runs/nightly/exports/") && workspace.path(path).is_file(), "{path}");
        }
        let refused = workspace.run(&arguments).expect_code(2);
        assert!(
            refused.stderr.contains("already exists") && refused.stderr.contains("--force"),
            "{}",
            refused.stderr
        );
        let again = workspace.run(&[&arguments[..], &["--force", "--quiet"]].concat()).expect_code(0);
        assert_eq!(again.stdout, "");
    }
    let lines =
        std::fs::read_dir(workspace.path("runs/nightly/exports/lm-eval/scripted-backend")).expect("a folder");
    let samples = lines
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let text = std::fs::read_to_string(samples.expect("samples")).expect("text");
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["resps"], json!([[HOSTILE]]));
    // The run is unchanged.
    workspace.run(&["verify", "nightly", "--files-only"]).expect_code(0);
    check_with_reference_readers(&workspace);
}

/// Reads the exports with the Python packages of the formats, if `GAGE_EXPORT_PYTHON` names a Python that has them.
fn check_with_reference_readers(workspace: &Workspace) {
    let Some(python) = std::env::var_os("GAGE_EXPORT_PYTHON") else {
        eprintln!(
            "skipped: GAGE_EXPORT_PYTHON names no Python with the readers; see tests/exports/README.md"
        );
        return;
    };
    let named = ["export", "nightly", "--format", "every-eval-ever", "--developer", "me", "--quiet"];
    std::fs::remove_dir_all(workspace.path("runs/nightly/exports/every-eval-ever")).expect("removed");
    workspace.run(&named).expect_code(0);
    let script = crate::support::repository().join("tests/exports/check_exports.py");
    let output = Command::new(python)
        .arg(script)
        .args([workspace.path("runs/nightly"), workspace.path("runs/nightly/exports")])
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Plugins that only score or answer are not loaded to build the prompts again.
#[test]
fn plugins_that_score_need_no_permission_to_export_prompts() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let metrics = "[{metric_id: recall, implementation: ./recall.wasm}]";
    workspace.write("words.yaml", suite(&constant_backend(&workspace, "answer 1"), metrics));
    workspace.run(&["run", "words.yaml", "--run-id", "r"]).expect_code(0);
    let words = ["export", "r", "--format", "lm-eval", "--untrusted", "--json"];
    let ended = workspace.run(&words).expect_code(0);
    assert!(!ended.stderr.contains("outside the suite's folder"), "{}", ended.stderr);
    assert_eq!(ended.stdout_json()["notes"], json!([]));
}

#[test]
fn impossible_exports_are_refused_with_advice() {
    let workspace = workspace();
    let manifest = workspace.read("runs/nightly/manifest.json");
    let as_manifest = |run: &str, from: &str, to: &str| {
        for file in ["summary.json", "samples.jsonl"] {
            workspace.write(&format!("runs/{run}/{file}"), workspace.read(&format!("runs/nightly/{file}")));
        }
        workspace.write(&format!("runs/{run}/manifest.json"), manifest.replace(from, to));
    };
    let status = manifest.lines().find(|line| line.contains("\"status\"")).expect("a status");
    as_manifest("stopped", status, "  \"status\": \"interrupted\",");
    as_manifest("newer", "\"format_version\": 1", "\"format_version\": 99");
    workspace.write("runs/killed/manifest.json", manifest.replace(status, "  \"status\": \"running\","));
    workspace.write("file", "");
    for (arguments, parts) in [
        (
            &["nightly", "--format", "parket"][..],
            &["invalid value 'parket'", "similar value exists: 'parquet'"][..],
        ),
        (&["nightly"], &["--format"]),
        (&["nightl", "--format", "csv"], &["there is no run 'nightl'", "did you mean 'nightly'?"]),
        (&["stopped", "--format", "csv"], &["is interrupted and not finished", "--partial"]),
        (&["killed", "--format", "csv", "--partial"], &["has no figures", "--resume"]),
        (&["newer", "--format", "csv"], &["format version 99", "use a newer gage-host"]),
        (&["nightly", "--format", "csv", "--out", "file"], &["file already exists", "--force"]),
        (&["nightly", "--format", "inspect", "--out", "file/below"], &["failed to write", "--out"]),
        (
            &["nightly", "--format", "parquet", "--out", "runs", "--force"],
            &["failed to write runs", "directory"],
        ),
        (&["nightly", "--format", "every-eval-ever", "--developer", "a/b"], &["without /"]),
    ] {
        let ended = workspace.run(&[&["export"], arguments].concat()).expect_code(2);
        for part in parts {
            assert!(ended.stderr.contains(part), "{arguments:?}\n{}", ended.stderr);
        }
        assert!(!workspace.path("runs/nightly/exports").exists(), "{arguments:?}");
    }
    workspace.run(&["export", "stopped", "--format", "csv", "--partial"]).expect_code(0);
    if cfg!(target_os = "linux") {
        // Not even root can write below /proc.
        let ended = workspace
            .run(&["export", "nightly", "--format", "csv", "--out", "/proc/figures.csv"])
            .expect_code(2);
        assert!(ended.stderr.contains("failed to write /proc/figures.csv"), "{}", ended.stderr);
    }
}
