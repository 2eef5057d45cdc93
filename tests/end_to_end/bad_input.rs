//! Mistakes in suites and arguments, and the messages about them.

use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::json;

/// A backend that these tests never send a request to.
const UNREACHABLE_BACKEND: &str =
    "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m, max_retries: 0}";

/// Returns a transcript without the parts that differ between machines.
fn normalized_transcript(workspace: &Workspace, ended: &CommandOutput) -> String {
    let folder = workspace.path("").canonicalize().expect("a folder").display().to_string();
    ended.transcript().replace(&folder, "[FOLDER]")
}

macro_rules! assert_refused {
    ($name:literal, $workspace:expr, $arguments:expr) => {{
        let ended = $workspace.run($arguments).expect_code(2);
        assert!(!$workspace.path("runs").exists(), "something was written");
        insta::assert_snapshot!($name, normalized_transcript(&$workspace, &ended));
    }};
}

#[test]
fn every_error_of_a_suite_is_reported_with_its_position() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write(
        "suite.yaml",
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - dataset_id: rows
    loader: jsonll
    params: {path: rows.jsonl, limit: many, prepocess: default}
backends:
  - backend_id: model
    type: openai_http
    config: {base_url: 'http://127.0.0.1:9/v1', model: m, timeout: -1}
role_adapters:
  - {adapter_id: dut, role_type: dut_model, backend_id: modell}
metrics: [exact_match]
custom:
  steps: [{step: inferense}, {step: auto_eval}]
  max_sample: 5
",
    );
    assert_refused!("every_error_at_once", workspace, &["validate", "suite.yaml"]);
    assert_refused!("every_error_at_once_run", workspace, &["run", "suite.yaml"]);
    let json = workspace.run(&["validate", "suite.yaml", "--json"]).expect_code(2);
    let report = json.stdout_json();
    assert_eq!(report["valid"], false);
    let first = &report["problems"][0];
    assert_eq!(
        (&first["file"], &first["line"], &first["column"]),
        (&json!("suite.yaml"), &json!(5), &json!(13))
    );
}

#[test]
fn plugins_and_their_parameters_are_checked_before_the_run() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let metrics = "
  - exact_mach
  - regex_match(pattern='(')
  - {metric_id: strict, implementation: exact_match, params: {case_sensitve: true}}
  - {metric_id: loose, implementation: exact_match, params: {on_missing_field: maybe}}
  - {metric_id: shouting, implementation: exact_match, params: {case_sensitive: 'yes'}}
  - pkg.module:Metric
  - ./missing.wasm";
    let text = suite(UNREACHABLE_BACKEND, metrics).replace(
        "{path: rows.jsonl}",
        "{path: rows.jsonl, preprocess: multi_choice, preprocess_kwargs: {style: loud}}",
    );
    workspace.write("suite.yaml", text);
    assert_refused!("plugins_and_parameters", workspace, &["validate", "suite.yaml"]);
}

#[test]
fn error_names_an_unusable_file_as_written_and_as_resolved() {
    let workspace = Workspace::new();
    workspace.write("empty.gguf", "");
    workspace.write("text.gguf", "hello world");
    let backend = |model: &str| format!("type: llama_cpp\n    config: {{model_path: {model}}}");
    workspace.write("suite.yaml", suite(&backend("models/nobody.gguf"), "[exact_match]"));
    assert_refused!("missing_files", workspace, &["validate", "suite.yaml"]);
    workspace.write("rows.jsonl", "\n\n");
    workspace.write("suite.yaml", suite(&backend("empty.gguf"), "[exact_match]"));
    assert_refused!("empty_files", workspace, &["validate", "suite.yaml"]);
    workspace.write("rows.jsonl", rows(1));
    workspace.write("suite.yaml", suite(&backend("text.gguf"), "[exact_match]"));
    assert_refused!("not_a_model", workspace, &["run", "suite.yaml"]);
    workspace.write("broken.gguf", [b"GGUF".as_slice(), &[7; 100]].concat());
    workspace.write("suite.yaml", suite(&backend("broken.gguf"), "[exact_match]"));
    let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("broken.gguf"), "{}", ended.stderr);
    assert_refused!("missing_suite", workspace, &["run", "nobody.yaml"]);
}

#[test]
fn malformed_field_paths_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    for (path, expected) in [
        (" ", "names nothing"),
        ("label ", "has white space at its ends"),
        ("references[0].answer", "the path `references[0].answer` has an index in brackets"),
        ("$.label", "is a JSONPath"),
        ("metadata..right", "has one dot too many"),
        ("references.-1.answer", "indexes are counted from 0"),
    ] {
        let steps = format!(
            "{{step: extract, extractors: [{{last_number: {{text_field: {path:?}}}}}]}}, {{step: auto_eval}}"
        );
        let text = suite(UNREACHABLE_BACKEND, &format!("[{{exact_match: {{label_field: {path:?}}}}}]"));
        workspace.write("suite.yaml", text.replace("{step: auto_eval}", &steps));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert_eq!(ended.stderr.matches(expected).count(), 2, "{path}: {}", ended.stderr);
    }
}

#[test]
fn invalid_suite_files_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    for (name, text) in [
        ("no_yaml", "datasets: [\n  - {a: b\n"),
        ("empty", "\n# nothing\n"),
        ("list", "- 1\n"),
        ("twice", "kind: PipelineConfig\nkind: PipelineConfig\n"),
        (
            "unset_variable",
            &suite(UNREACHABLE_BACKEND, "[exact_match]")
                .replace("path: rows.jsonl", "path: '${NOBODY_SET_THIS}/x'"),
        ),
        (
            "two_models",
            &suite(UNREACHABLE_BACKEND, "[exact_match]").replace(
                "metrics:",
                "  - {adapter_id: other, role_type: dut_model, backend_id: model}\nmetrics:",
            ),
        ),
    ] {
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        insta::assert_snapshot!(format!("no_suite_{name}"), normalized_transcript(&workspace, &ended));
    }
}

#[test]
fn errors_in_overrides_point_at_the_override() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("suite.yaml", suite(UNREACHABLE_BACKEND, "[exact_match]"));
    let arguments = [
        "validate",
        "suite.yaml",
        "--set",
        "backends.model.config.timeout=soon",
        "--set",
        "backends.nobody.type=x",
        "--set",
        "nonsense",
    ];
    assert_refused!("overrides", workspace, &arguments);
    workspace.run(&["validate", "suite.yaml", "--set", "backends.model.config.timeout=5"]).expect_code(0);
}

#[test]
fn run_ids_that_leave_the_output_folder_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("suite.yaml", suite(UNREACHABLE_BACKEND, "[exact_match]"));
    for bad in ["../gage-run-outside", "a/b", "", ".hidden", "a\\b"] {
        let ended = workspace.run(&["run", "suite.yaml", "--run-id", bad]).expect_code(2);
        assert!(!workspace.path("runs").exists() && !workspace.path("../gage-run-outside").exists(), "{bad}");
        assert!(ended.stderr.contains("--run-id"), "{}", ended.stderr);
    }
}

#[test]
fn invalid_rows_are_recorded_and_the_run_continues() {
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        b"{\"id\":\"good\",\"question\":\"q\",\"answer\":\"a\"}\n{\"id\":\n[1,2]\n\"text\"\n{\"id\":\"no question\"}\n{\"id\":\"good\",\"question\":\"again\",\"answer\":\"a\"}\n{\"question\":\"\xff\"}\n".as_slice(),
    );
    let server = crate::server::Server::start(|_| crate::server::completion("a"));
    let text = suite(&server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 1"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let samples = workspace.samples("r");
    let ends: Vec<&str> = samples.iter().filter_map(|sample| sample["outcome"].as_str()).collect();
    let invalid = "invalid_sample";
    assert_eq!(ends, ["scored", invalid, invalid, invalid, invalid, "scored", invalid]);
    let ids: Vec<&str> = samples.iter().filter_map(|sample| sample["sample_id"].as_str()).collect();
    assert_eq!(ids, ["good", "row-1", "row-2", "row-3", "row-4", "good#2", "row-6"]);
    assert!(
        samples[1]["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("line 2 of rows.jsonl"))
    );
    assert_eq!(samples[1]["row"], "{\"id\":");
    let summary = workspace.json("r", "summary.json");
    assert_eq!(summary["samples"]["outcomes"], json!({"scored": 2, "invalid_sample": 5}));
    assert_eq!(summary["metrics"][0]["value"], 1.0);
    assert!(ended.stdout.contains("5 invalid_sample"), "{}", ended.stdout);
}

#[test]
fn unsendable_and_exposed_api_keys_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    for (config, expected) in [
        ("base_url: 'http://user:pass@127.0.0.1:9/v1', model: m", "contains a user, a query or a fragment"),
        ("base_url: 'http://127.0.0.1:9/v1?api-key=x', model: m", "contains a user, a query or a fragment"),
        ("base_url: 'http://127.0.0.1:9/v1', model: m, headers: {'X bad': y}", "is not a valid header"),
        (
            "base_url: 'http://127.0.0.1:9/v1', model: m, api_key: \"a\\nb\"",
            "a line break or another control character",
        ),
    ] {
        workspace.write(
            "suite.yaml",
            suite(&format!("type: openai_http\n    config: {{{config}}}"), "[exact_match]"),
        );
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{config}\n{}", ended.stderr);
    }
    // A key is text, even if it looks like a number.
    let backend = "type: openai_http
    config:
      base_url: http://127.0.0.1:9/v1
      model: 4.10
      api_key: ${KEY}";
    workspace.write("suite.yaml", suite(backend, "[exact_match]"));
    workspace.run_with_env([("KEY", "007")], &["validate", "suite.yaml"]).expect_code(0);
}
