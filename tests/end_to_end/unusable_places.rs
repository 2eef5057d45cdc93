//! Files, folders and addresses that the program cannot use, and the remedy that it names.

use crate::scripted_backend::constant_backend;
use crate::server::Server;
use crate::support::{CommandOutput, Workspace, rows, suite};
use crate::verifying::with_digest;
use serde_json::json;
use wiremock::ResponseTemplate;

fn workspace(metrics: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let backend = constant_backend(&workspace, "answer 0");
    workspace.write("suite.yaml", suite(&backend, metrics));
    workspace.write("file", "");
    workspace
}

/// Runs the program without a home folder and a cache folder.
fn run_without_home(workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
    let mut command = workspace.program();
    for variable in ["HOME", "XDG_CACHE_HOME", "GAGE_CACHE_DIR"] {
        command.env_remove(variable);
    }
    CommandOutput::of(command.args(arguments).output().expect("the program runs"))
}

#[track_caller]
fn assert_refused(ended: CommandOutput, parts: &[&str]) {
    let ended = ended.expect_code(2);
    for part in parts {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
}

#[test]
fn unusable_addresses_are_refused_with_the_option() {
    let workspace = workspace("[exact_match]");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for (option, value, message, help) in [
        ("--report-http-url", "ftp://example.org", "events cannot be posted", "correct --report-http-url"),
        ("--otlp-endpoint", "ftp://example.org", "traces cannot be sent", "correct --otlp-endpoint"),
        ("--metrics-listen", &address, "cannot serve counters", "choose another --metrics-listen"),
    ] {
        assert_refused(workspace.run(&["run", "suite.yaml", option, value]), &[message, help]);
    }
}

#[test]
fn unusable_cache_folder_gives_a_warning() {
    let workspace = workspace("[exact_match]");
    let variables = [("GAGE_CACHE_DIR", workspace.path("file/cache"))];
    let ended = workspace.run_with_env(variables, &["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert!(ended.stderr.contains("plugins are compiled again in each process"), "{}", ended.stderr);
}

#[test]
fn cache_without_a_home_folder_is_refused() {
    let workspace = workspace("[exact_match]");
    let ended = run_without_home(&workspace, &["run", "suite.yaml", "--cache"]);
    assert_refused(ended, &["the answer cache has no folder", "--cache=off"]);
}

#[test]
fn download_without_a_place_or_from_no_hub_is_refused() {
    let workspace = workspace("[exact_match]");
    let of_hub = |endpoint: &str| {
        let params = format!("{{hub_id: owner/name, endpoint: '{endpoint}'}}");
        workspace.read("suite.yaml").replace("jsonl", "hf_hub").replace("{path: rows.hf_hub}", &params)
    };
    workspace.write("hub.yaml", of_hub("http://127.0.0.1:9"));
    let preview = ["data", "preview", "hub.yaml"];
    assert_refused(run_without_home(&workspace, &preview), &["there is no folder for downloads"]);
    workspace.write("hub.yaml", of_hub("http://hub%.example"));
    assert_refused(workspace.run(&preview), &["`http://hub%.example` is not the address of a hub"]);
}

#[test]
fn missing_field_is_reported_once() {
    let workspace = workspace("[{exact_match: {label_field: sample.nothing, on_missing_field: warn}}]");
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert_eq!(ended.stderr.matches("this is reported once").count(), 1, "{}", ended.stderr);
}

#[test]
fn answers_without_token_counts_are_reported() {
    let server = Server::start(|_| {
        let message = json!({"role": "assistant", "content": "answer 0"});
        ResponseTemplate::new(200)
            .set_body_json(json!({"choices": [{"finish_reason": "stop", "message": message}]}))
    });
    let workspace = workspace("[exact_match]");
    let text = suite(&server.backend(""), "[exact_match]") + "budget: {max_tokens_total: 100}\n";
    workspace.write("suite.yaml", text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert!(ended.stderr.contains("2 answers had no token counts"), "{}", ended.stderr);
}

#[test]
fn rescoring_without_a_common_task_or_configuration_is_refused() {
    let workspace = workspace("[exact_match]");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let other = workspace.read("suite.yaml").replace("dataset_id: rows", "dataset_id: others");
    workspace.write("other.yaml", other);
    let ended = workspace.run(&["score", "runs/r", "--config", "other.yaml"]);
    assert_refused(ended, &["no answers of the task `others`", "give a suite with tasks of the run"]);
    let mut manifest = workspace.json("r", "manifest.json");
    manifest["identity"]["config"] = json!(null);
    workspace.write("runs/r/manifest.json", with_digest(manifest));
    let ended = workspace.run(&["score", "runs/r"]);
    assert_refused(ended, &["has no configuration", "give one with --config"]);
}

#[cfg(target_os = "linux")]
#[test]
fn report_to_a_full_disk_is_an_error() {
    let workspace = workspace("[exact_match]");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let ended = workspace.run(&["report", "r", "--output", "/dev/full"]);
    assert!(ended.stderr.contains("cannot write"), "{}", ended.transcript());
}
