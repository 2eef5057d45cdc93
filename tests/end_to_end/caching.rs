//! The response cache, and the runs that `--resume` names.

use crate::server::{Server, completion, completion_with_reason, question_number};
use crate::support::{CommandOutput, Workspace, rows, suite};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files of a run that its cache must not change.
const FILES: [&str; 3] = ["samples.jsonl", "summary.json", "gage.lock"];

/// Starts a server that numbers its answers, so that each is unique, and returns it with their count.
fn numbering_server() -> (Server, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    let server = Server::start(move |request| {
        completion(&format!("answer {} ({})", question_number(request), seen.fetch_add(1, Ordering::SeqCst)))
    });
    (server, asked)
}

fn workspace(server: &Server, extra: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let suite = suite(&server.backend(extra), "[exact_match, contains]");
    workspace.write("suite.yaml", suite.replace("custom:", "custom:\n  repeat: 2"));
    workspace
}

#[test]
fn cached_answers_are_reused_and_give_the_same_files() {
    let (server, asked) = numbering_server();
    let workspace = workspace(&server, ", default_params: {temperature: 0.7}");
    let run = |id: &str, extra: &[&str]| {
        let arguments = [&["run", "suite.yaml", "--run-id", id], extra].concat();
        workspace.run(&arguments).expect_code(0);
        asked.swap(0, Ordering::SeqCst)
    };
    assert_eq!(run("first", &["--cache=kept"]), 80, "each repeat is asked for once");
    assert_eq!(run("second", &["--cache=kept", "--concurrency", "3"]), 0);
    workspace.assert_equal_files("first", "second", &FILES);
    assert_eq!(run("third", &["--set", "cache={path: kept, size: 64MiB}"]), 0, "as the suite says it");
    workspace.assert_equal_files("first", "third", &FILES);
    assert_eq!(run("off", &["--set", "cache=kept", "--cache=off"]), 80);
    assert_eq!(run("none", &[]), 80);

    let counts = |run: &str| workspace.json(run, "timings.json")["backends"]["model"].clone();
    assert_eq!(
        (counts("first")["cache"]["kept"].clone(), counts("first")["requests"].clone()),
        (80.into(), 80.into())
    );
    assert_eq!(
        (counts("second")["cache"]["hits"].clone(), counts("second")["requests"].clone()),
        (80.into(), 0.into())
    );
    assert_eq!(counts("none")["cache"], Value::Null);
    let timings = workspace.json("second", "timings.json");
    assert_eq!((&timings["tasks"][0]["model_calls"], &timings["latency"]), (&json!(0), &Value::Null));

    // A changed setting, prompt or question is not in the cache.
    for (id, set) in [
        ("warmer", "backends.model.config.default_params.temperature=0.8"),
        ("other-model", "backends.model.config.model=n"),
        ("longer", "tasks.0.sampling_params.max_new_tokens=9"),
    ] {
        let tasks = "tasks=[{task_id: rows, dataset_id: rows}]";
        assert_eq!(run(id, &["--cache=kept", "--set", tasks, "--set", set]), 80, "{id}");
    }
    workspace.write("rows.jsonl", rows(40).replacen("question 7\"", "question 99\"", 1));
    assert_eq!(run("one-row", &["--cache=kept"]), 2);

    // The cache is not empty.
    let text = std::fs::read_dir(workspace.path("kept/v1")).expect("a folder").flatten().count();
    assert!(text > 0);
}

#[test]
fn cached_answers_cost_nothing() {
    let server = Server::answering();
    let workspace = workspace(&server, "");
    let spent = |id: &str, extra: &[&str]| {
        let arguments = ["run", "suite.yaml", "--run-id", id, "--json", "--cache=kept"];
        let ended = workspace.run(&[&arguments[..], extra].concat()).expect_code(0);
        let report = ended.stdout_json();
        report["spent"]["completion_tokens"].as_u64().expect("tokens")
    };
    let first = spent("first", &[]);
    assert!(first > 0);
    assert_eq!(spent("second", &["--max-tokens-total", "1"]), 0);
    // Nor does it in a resumed run.
    assert_eq!(spent("second", &["--max-tokens-total", "1", "--resume"]), 0);
}

#[test]
fn cache_is_no_part_of_lock_or_resume() {
    let server = Server::answering();
    let workspace = workspace(&server, "");
    workspace.run(&["lock", "suite.yaml"]).expect_code(0);
    let locked = ["run", "suite.yaml", "--locked", "--run-id", "r"];
    workspace.run(&[&locked[..], &["--cache=kept"]].concat()).expect_code(0);
    workspace
        .run(&[&locked[..], &["--set", "cache=true", "--cache=off", "--resume"]].concat())
        .expect_code(0);
    workspace.run(&["verify", "r"]).expect_code(0);
}

#[test]
fn two_processes_share_a_cache() {
    let (server, asked) = numbering_server();
    let workspace = workspace(&server, "");
    let start = |id: &str| workspace.start(&["run", "suite.yaml", "--run-id", id, "--cache=kept"]);
    for process in ["a", "b"].map(start) {
        CommandOutput::wait_for(process).expect_code(0);
    }
    assert!((80..=160).contains(&asked.swap(0, Ordering::SeqCst)));
    workspace.run(&["run", "suite.yaml", "--run-id", "c", "--cache=kept"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "d", "--cache=kept"]).expect_code(0);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    workspace.assert_equal_files("c", "d", &FILES);
}

#[test]
fn retried_answers_replace_cached_ones() {
    let whole = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&whole);
    let server = Server::start(move |request| {
        let number = question_number(request);
        let is_cut_off = number % 10 == 3 && seen.load(Ordering::SeqCst) == 0;
        completion_with_reason(&format!("answer {number}"), if is_cut_off { "length" } else { "stop" })
    });
    let workspace = workspace(&server, "");
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--cache=kept"]).expect_code(4);
    whole.store(1, Ordering::SeqCst);
    let retried = ["run", "suite.yaml", "--resume", "r", "--retry", "truncated", "--cache=kept"];
    workspace.run(&retried).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "new", "--cache=kept"]).expect_code(0);
    workspace.assert_equal_files("r", "new", &FILES);
    assert_eq!(server.requests(), 88);
}

#[test]
fn unusable_cache_is_refused_before_any_request() {
    let (server, asked) = numbering_server();
    let workspace = workspace(&server, "");
    workspace.write("a-file", "");
    for (arguments, expected) in [
        (&["--cache=a-file"][..], "answer cache a-file: cannot be created"),
        (&["--cache", "--record", "tape"], "an answer cache cannot be used together with a recording"),
        (&["--cache-size", "1MiB"], "at least 16MiB"),
        (&["--set", "cache=[1]"], "expected true, false, a folder, or a mapping"),
    ] {
        let ended = workspace.run(&[&["run", "suite.yaml"], arguments].concat()).expect_code(2);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn resume_takes_a_run_id_or_a_run_folder() {
    let server = Server::answering();
    let workspace = workspace(&server, "");
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    for arguments in [
        &["suite.yaml", "--resume", "r"][..],
        &["suite.yaml", "--resume", "runs/r"],
        &["suite.yaml", "--resume", "runs/r/"],
        &["--resume", "r", "suite.yaml"],
        &["--resume=r", "suite.yaml"],
        &["suite.yaml", "--run-id", "r", "--resume"],
        &["--run-id", "r", "--resume", "suite.yaml"],
        &["suite.yaml", "--run-id", "r", "--resume", "r"],
    ] {
        let ended = workspace.run(&[&["run"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.transcript());
    }
    assert_eq!(server.requests(), 80);
    let folder = workspace.path("runs/r");
    std::fs::rename(&folder, workspace.path("moved")).expect("moved");
    for (arguments, expected) in [
        (&["suite.yaml", "--resume"][..], "has no run of this suite that can be resumed"),
        (&["--resume", "suite.yaml"], "has no run of this suite that can be resumed"),
        (&["--resume", "r"], "there is no run 'r' to resume"),
        (&["suite.yaml", "--run-id", "s", "--resume", "r"], "and --run-id another"),
        (&["suite.yaml", "--resume", "/"], "names no run"),
        (&["suite.yaml", "--resume", "r"], "no run"),
        (&["suite.yaml", "--resume", "elsewhere/r"], "no run"),
    ] {
        let ended = workspace.run(&[&["run"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!workspace.path("elsewhere").exists());
}
