//! The files of a model: in parts, replaced, deleted or overwritten during a run, from a hub, and measured.

use crate::hub_server::HubServer;
use crate::started_runs::model;
#[cfg(unix)]
use crate::started_runs::{kill, rest_of, signal, tiny, under_way_with};
use crate::support::{CommandOutput, Workspace, repository};
use serde_json::Value;
#[cfg(unix)]
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
#[cfg(unix)]
use std::thread::JoinHandle;

/// llama.cpp opens the other parts by itself, and would wait for a pipe.
#[cfg(unix)]
#[test]
fn parts_of_a_split_model_are_regular_files() {
    let workspace = Workspace::new();
    let first = workspace.path("m-00001-of-00002.gguf");
    std::fs::copy(model(), &first).expect("copied");
    let set = format!("backends.tiny.config.model_path={}", first.display());
    let run = || workspace.run(&["run", &tiny(), "--quiet", "--set", &set]);
    let missing = run().expect_code(2).stderr;
    assert!(missing.contains("m-00002-of-00002.gguf: No such file"), "{missing}");
    let made = std::process::Command::new("mkfifo").arg(workspace.path("m-00002-of-00002.gguf")).status();
    assert!(made.expect("mkfifo runs").success());
    let pipe = run().expect_code(2).stderr;
    assert!(pipe.contains("m-00002-of-00002.gguf: it is a pipe"), "{pipe}");
}

/// Starts the run `r` with a copy of the model, and stops the model before it has answered everything. Returns the run,
/// the process of the model, the copy and the rest of the log.
#[cfg(unix)]
fn under_way_with_copy(workspace: &Workspace) -> (Child, u32, PathBuf, JoinHandle<String>) {
    /// Fewer lines than the journal of a whole run has.
    const MAX_LINES: usize = 600;
    let copy = workspace.path("copy.gguf");
    std::fs::copy(model(), &copy).expect("copied");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    loop {
        let (mut child, pid, log) = under_way_with(workspace, "r", &["--set", &set]);
        signal(pid, "STOP");
        let journal = workspace.read("runs/r/journal/000001.jsonl");
        if journal.lines().count() < MAX_LINES {
            return (child, pid, copy, rest_of(log));
        }
        // A busy machine ran this test too late.
        kill(pid);
        child.kill().and_then(|()| child.wait()).expect("ended");
        std::fs::remove_dir_all(workspace.path("runs/r")).expect("removed");
    }
}

/// Waits for the end of a run whose model file changed. It ends without figures, and says how the file changed.
#[cfg(unix)]
fn expect_end_without_figures(workspace: &Workspace, child: Child, rest: JoinHandle<String>, change: &str) {
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(3), "{log}");
    let expected = format!("copy.gguf changed after the model was loaded: {change}");
    assert!(log.contains(&expected), "{log}");
    assert!(!workspace.path("runs/r/summary.json").exists());
    let verified = workspace.run(&["verify", "r"]).expect_code(3).stderr;
    assert!(verified.contains("an input changed: the model of the backend `tiny`"), "{verified}");
}

/// Puts the first model back, and resumes the run. It has the results of an undisturbed one, because no answer of
/// another model was recorded, and no failure either.
#[cfg(unix)]
fn expect_same_results_after_resume(workspace: &Workspace, copy: &Path) {
    std::fs::copy(model(), copy).expect("restored");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    workspace.run(&["run", &tiny(), "--resume", "r", "--quiet", "--set", &set]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/r/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

#[cfg(unix)]
#[test]
fn replaced_model_is_not_loaded_after_a_crash() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace);
    std::fs::copy(model().replace("gage-tiny.gguf", "gage-tiny-early.gguf"), workspace.path("other"))
        .and_then(|_| std::fs::rename(workspace.path("other"), &copy))
        .expect("replaced");
    kill(pid);
    expect_end_without_figures(&workspace, child, rest, "its digest is sha256:");
    expect_same_results_after_resume(&workspace, &copy);
}

#[cfg(unix)]
#[test]
fn deleted_model_ends_the_run_without_figures() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace);
    std::fs::remove_file(&copy).expect("deleted");
    kill(pid);
    expect_end_without_figures(&workspace, child, rest, "it was deleted or moved; ");
    expect_same_results_after_resume(&workspace, &copy);
}

#[cfg(unix)]
#[test]
fn overwritten_model_ends_the_run_without_figures() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace);
    // The last byte belongs to a weight: the model still works, with a different number in it.
    let mut bytes = std::fs::read(&copy).expect("read");
    *bytes.last_mut().expect("a byte") ^= 1;
    std::fs::OpenOptions::new()
        .write(true)
        .open(&copy)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
        .expect("written in place");
    signal(pid, "CONT");
    expect_end_without_figures(&workspace, child, rest, "its digest is sha256:");
    expect_same_results_after_resume(&workspace, &copy);
}

/// A suite names its model files on a hub: they are fetched once, locked by their digests, and suffice without a
/// network.
#[test]
fn a_suite_takes_its_model_from_a_hub() {
    let workspace = Workspace::new();
    let server = HubServer::start();
    let first = "0123456789abcdef0123456789abcdef01234567";
    let read = |name: &str| std::fs::read(repository().join("config/models").join(name)).expect("a model");
    server.commit("owner/tiny", "main", first);
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let suite = std::fs::read_to_string(repository().join("config/custom/tiny_pictures.yaml"))
        .expect("a suite")
        .replace("${config_dir}/../models/gage-tiny.gguf", "hub:owner/tiny/deeper/tiny.gguf")
        .replace(
            "${config_dir}/../models/gage-tiny-mmproj.gguf",
            &format!("{}/owner/tiny/resolve/main/mmproj.gguf", server.endpoint()),
        )
        .replace("${config_dir}/..", &repository().join("config").display().to_string());
    workspace.write("suite.yaml", suite);
    let run = |arguments: &[&str]| {
        let mut command = workspace.program();
        command.args(arguments).arg("--quiet");
        command.env("HF_ENDPOINT", server.endpoint()).env("GAGE_CACHE_DIR", workspace.path("cache"));
        CommandOutput::of(command.output().expect("the program runs"))
    };
    // Validation fetches nothing, and without a network nothing is available.
    run(&["validate", "suite.yaml"]).expect_code(0);
    let offline = run(&["run", "suite.yaml", "--offline", "--run-id", "none"]).expect_code(2);
    assert!(offline.stderr.contains("model 'owner/tiny'"), "{}", offline.stderr);
    assert!(server.seen().is_empty(), "{:?}", server.seen().len());
    run(&["lock", "suite.yaml"]).expect_code(0);
    run(&["run", "suite.yaml", "--locked", "--run-id", "locked"]).expect_code(0);
    let fetched = server.seen_of("deeper/tiny.gguf").len();
    assert_eq!((fetched, server.seen_of("mmproj.gguf").len()), (1, 1));
    // The hub receives no request at all.
    let asked = server.seen().len();
    run(&["run", "suite.yaml", "--frozen", "--run-id", "frozen"]).expect_code(0);
    assert_eq!(server.seen().len(), asked);
    assert_eq!(workspace.read("runs/frozen/samples.jsonl"), workspace.read("runs/locked/samples.jsonl"));
    // The branch now points to another model.
    server.commit("owner/tiny", "main", "1123456789abcdef0123456789abcdef01234567");
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny-early.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let other = run(&["run", "suite.yaml", "--locked", "--run-id", "other"]).expect_code(3);
    assert!(other.stderr.contains("file_digest"), "{}", other.stderr);
    let text = workspace.read("suite.yaml");
    workspace.write("suite.yaml", text.replace("hub:owner/tiny/deeper/tiny.gguf", "hub:owner/tiny"));
    let wrong = run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(
        wrong.stderr.contains("names no file") && wrong.stderr.contains("hub:owner/name"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_model_is_measured() {
    let workspace = Workspace::new();
    let arguments = [
        "model",
        "bench",
        &model(),
        "--prompt-tokens",
        "16",
        "--answer-tokens",
        "4",
        "--repeats",
        "1",
        "--json",
    ];
    let json = workspace.run(&arguments).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let figures = json["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 10, "{json}");
    assert!(
        figures.iter().all(|figure| figure["gage_host"].as_f64().is_some_and(|value| value > 0.0)),
        "{json}"
    );
}
