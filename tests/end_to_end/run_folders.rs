//! Run folders that were edited, lost their manifest, or have foreign lines in the journal; and runs without samples.

use crate::scripted_backend::constant_backend;
use crate::server::Server;
use crate::support::{CommandOutput, Workspace, rows, suite};
use std::fs;

const SUITE: &str = "suite.yaml";

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let backend = constant_backend(&workspace, "answer 7");
    let named = suite(&backend, "[exact_match]")
        .replace("kind: PipelineConfig\n", "kind: PipelineConfig\nmetadata: {name: words}\n");
    workspace.write(SUITE, named);
    workspace
}

fn run(workspace: &Workspace, run_id: &str) {
    workspace.run(&["run", SUITE, "--run-id", run_id, "--quiet"]).expect_code(0);
}

/// Starts a run and kills it once some of its samples are recorded.
fn run_and_kill(workspace: &Workspace, run_id: &str) {
    let journal = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
    for _ in 0..50 {
        let _ = fs::remove_dir_all(workspace.path(&format!("runs/{run_id}")));
        let arguments = ["run", SUITE, "--run-id", run_id, "--quiet", "--concurrency", "1"];
        let mut child = workspace.start_silent(&arguments);
        loop {
            if fs::metadata(&journal).is_ok_and(|data| data.len() > 2_000) {
                child.kill().expect("killed");
                break;
            }
            if child.try_wait().expect("its state").is_some() {
                break;
            }
            std::thread::yield_now();
        }
        if !child.wait().expect("gone").success() {
            return;
        }
    }
    panic!("it always came to its end");
}

#[test]
fn foreign_lines_after_a_journal_are_reported_and_kept() {
    let workspace = workspace();
    run(&workspace, "whole");
    run_and_kill(&workspace, "r");
    let path = workspace.path("runs/r/journal/000001.jsonl");
    let mut journal = fs::read(&path).expect("a journal");
    // A torn record is dropped without a warning.
    journal.truncate(journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    let own = journal.len();
    let strange = b"{\"task_id\":\"rows\"}\nnot a line of a journal\n\0\0\0\n01234567 {\"torn\":";
    journal.extend_from_slice(strange);
    fs::write(&path, &journal).expect("written");
    let resumed = workspace.run(&["run", SUITE, "--resume", "r"]).expect_code(0);
    let aside = "runs/r/journal/set-aside-000001-1";
    for part in ["journal/000001.jsonl", "line ends: 3", aside] {
        assert!(resumed.stderr.contains(part), "{part}: {}", resumed.stderr);
    }
    assert_eq!(fs::read(workspace.path(aside)).expect("what was set aside"), strange);
    assert_eq!(&fs::read(&path).expect("a journal")[..own], &journal[..own]);
    assert_eq!(workspace.read("runs/r/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
    workspace.run(&["verify", "r"]).expect_code(0);
    let again = workspace.run(&["run", SUITE, "--resume", "r"]).expect_code(0);
    let is_only_next = again.stderr.starts_with("next: gage-host ") && again.stderr.lines().count() == 1;
    assert!(is_only_next, "{}", again.stderr);

    // Whole records of another run are not a torn end.
    run_and_kill(&workspace, "s");
    let path = workspace.path("runs/s/journal/000001.jsonl");
    let mut journal = fs::read(&path).expect("a journal");
    journal.truncate(journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    let other = workspace.read("runs/whole/journal/000001.jsonl");
    let mixed = [&journal[..], other.lines().nth(1).expect("a record").as_bytes(), b"\n"].concat();
    fs::write(&path, &mixed).expect("written");
    let refused = workspace.run(&["run", SUITE, "--resume", "s"]).expect_code(2);
    assert!(refused.stderr.contains("the checksum does not match"), "{}", refused.stderr);
    assert_eq!(fs::read(&path).expect("a journal"), mixed);
}

#[test]
fn run_with_a_torn_journal_resumes_without_a_warning() {
    let workspace = workspace();
    run_and_kill(&workspace, "r");
    let path = workspace.path("runs/r/journal/000001.jsonl");
    let mut journal = fs::read(&path).expect("a journal");
    journal.extend_from_slice(b"01234567 {\"line\":");
    fs::write(&path, &journal).expect("written");
    let resumed = workspace.run(&["run", SUITE, "--resume", "r", "--quiet"]).expect_code(0);
    assert!(!resumed.stderr.contains("set-aside"), "{}", resumed.stderr);
    assert!(!workspace.path("runs/r/journal/set-aside-000001-1").exists());
    workspace.run(&["verify", "r"]).expect_code(0);
}

#[test]
fn resume_accepts_another_description_but_not_another_name() {
    let workspace = workspace();
    run(&workspace, "whole");
    run_and_kill(&workspace, "r");
    let suite = workspace.read(SUITE);
    workspace.write(SUITE, suite.replace("name: words", "name: words, description: of today"));
    let resumed = workspace.run(&["run", SUITE, "--resume"]).expect_code(0);
    assert!(resumed.stderr.contains("resuming runs/r"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("the suite's `metadata` changed"), "{}", resumed.stderr);
    assert_eq!(workspace.read("runs/r/summary.json"), workspace.read("runs/whole/summary.json"));
    assert!(workspace.read("runs/r/config.yaml").contains("of today"));
    workspace.run(&["verify", "r"]).expect_code(0);
    workspace.run(&["compare", "whole", "r"]).expect_code(0);
    let again = workspace.run(&["run", SUITE, "--resume", "r"]).expect_code(0);
    let is_only_next = again.stderr.starts_with("next: gage-host ") && again.stderr.lines().count() == 1;
    assert!(is_only_next, "{}", again.stderr);
    workspace.write(SUITE, suite.replace("metadata: {name: words}\n", "metadata: {name: others}\n"));
    let refused = workspace.run(&["run", SUITE, "--resume", "r"]).expect_code(2);
    assert!(refused.stderr.contains("config.metadata.name: \"words\" before"), "{}", refused.stderr);
}

#[test]
fn run_without_samples_is_verified_and_cannot_be_rescored() {
    let workspace = workspace();
    let suite = workspace.read(SUITE);
    workspace.write(SUITE, suite.replace("{path: rows.jsonl}", "{path: rows.jsonl, filter: {id: none}}"));
    workspace.run(&["run", SUITE, "--run-id", "r"]).expect_code(4);
    let verified = workspace.run(&["verify", "r"]).expect_code(0);
    assert!(
        verified.stdout.contains("the run has no samples, so there are no figures to compare"),
        "{}",
        verified.stdout
    );
    let scored = workspace.run(&["score", "runs/r", "--run-id", "x"]).expect_code(2);
    assert!(
        scored.stderr.contains("has no sample") && !workspace.path("runs/x").exists(),
        "{}",
        scored.stderr
    );
}

#[test]
fn killed_score_is_begun_again_by_the_same_command() {
    let workspace = workspace();
    run(&workspace, "r");
    let score = ["score", "runs/r", "--run-id", "again", "--quiet"];
    workspace.run(&score).expect_code(0);
    let samples = workspace.read("runs/again/samples.jsonl");
    let refused = workspace.run(&score).expect_code(2);
    assert!(refused.stderr.contains("there is a run 'again' already"), "{}", refused.stderr);
    let mut manifest = workspace.json("again", "manifest.json");
    manifest["status"] = "running".into();
    manifest["files"] = serde_json::json!({});
    workspace.write("runs/again/manifest.json", crate::verifying::with_digest(manifest));
    let refused = workspace.run(&["run", SUITE, "--resume", "again"]).expect_code(2);
    assert!(refused.stderr.contains("`gage-host score r --run-id again`"), "{}", refused.stderr);
    workspace.run(&score).expect_code(0);
    assert_eq!(workspace.read("runs/again/samples.jsonl"), samples);
    workspace.run(&["verify", "again"]).expect_code(0);
}

#[test]
fn run_id_may_equal_a_value_of_a_flag() {
    let workspace = workspace();
    run(&workspace, "n");
    workspace.run(&["run", SUITE, "--resume", "n", "--quiet"]).expect_code(0);
    assert_eq!(
        fs::read_dir(workspace.path("runs"))
            .expect("runs")
            .filter(|run| run.as_ref().is_ok_and(|run| run.path().is_dir()))
            .count(),
        1
    );
}

/// All commands report the same folder alike, and their advice works.
#[test]
fn every_command_reports_a_missing_manifest_alike() {
    let workspace = workspace();
    run(&workspace, "good");
    run(&workspace, "lost");
    fs::remove_file(workspace.path("runs/lost/manifest.json")).expect("removed");
    workspace.write("runs/foreign/notes.txt", "");
    fs::create_dir(workspace.path("runs/empty")).expect("a folder");
    let of = |run: &str, arguments: &str| {
        let arguments = arguments.replace("RUN", run);
        let ended = workspace.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{arguments}: {}", ended.transcript());
        ended.stderr
    };
    let readers = [
        "verify RUN",
        "runs show RUN",
        "runs baseline RUN",
        "report RUN",
        "compare good RUN",
        "export RUN --format csv",
        "score runs/RUN --run-id x",
    ];
    let lost = "the run folder runs/lost has lost its manifest.json, and nothing else says what the run was made from; restore it \
                from a copy; if there is none, delete runs/lost, and run the suite again";
    for arguments in readers.into_iter().chain(["run suite.yaml --resume RUN", "run suite.yaml --run-id RUN"])
    {
        let message = of("lost", arguments);
        assert!(message.contains(lost) && !message.contains("did you mean"), "{arguments}: {message}");
    }
    assert!(workspace.run(&["runs", "list"]).expect_code(0).stderr.contains(lost));
    assert!(workspace.run(&["runs", "gc", "--keep", "9"]).expect_code(0).stderr.contains(lost));
    for arguments in readers {
        let message = of("nothing", arguments);
        assert!(message.contains("there is no run"), "{arguments}: {message}");
    }
    let message = of("goo", "score RUN");
    assert!(message.contains("did you mean 'good'? runs in runs are: good"), "{message}");
    let message = of("foreign", "run suite.yaml --resume RUN");
    assert!(message.contains("name another") && !message.contains("start it without"), "{message}");
    let message = of("foreign", "run suite.yaml --run-id RUN");
    assert!(message.contains("files that belong to no run") && !message.contains("--resume"), "{message}");
    for run_id in ["nothing", "empty"] {
        let message = of(run_id, "run suite.yaml --resume RUN");
        assert!(message.contains("start it without --resume"), "{message}");
        run(&workspace, run_id);
    }
}

#[test]
fn edited_run_is_reported_wherever_its_figures_are_shown() {
    let workspace = workspace();
    for run_id in ["one", "two"] {
        run(&workspace, run_id);
    }
    // This run is edited below.
    workspace.run(&["runs", "baseline", "two"]).expect_code(0);
    let warnings_of = |arguments: &[&str]| workspace.run(arguments).expect_code(0).stderr;
    let shown: [&[&str]; 6] = [
        &["runs", "list"],
        &["runs", "list", "--json"],
        &["runs", "trend", "words"],
        &["runs", "show", "two"],
        &["runs", "show", "two", "--json"],
        &["export", "two", "--format", "csv", "--force"],
    ];
    for arguments in shown {
        assert!(!warnings_of(arguments).contains("cannot be trusted"), "{arguments:?}");
    }
    for (file, from, to, part) in [
        ("summary.json", "\"value\": 0.025", "\"value\": 0.925", "the figures"),
        ("manifest.json", "answer 7", "answer 8", "the manifest"),
    ] {
        let path = format!("runs/two/{file}");
        let before = workspace.read(&path);
        assert!(before.contains(from), "{before}");
        // The file is replaced, as a program would.
        workspace.write("edited", before.replace(from, to));
        fs::rename(workspace.path("edited"), workspace.path(&path)).expect("edited");
        for arguments in shown.into_iter().chain([["report", "two", "--output", "r.html"].as_slice()]) {
            let message = warnings_of(arguments);
            let is_list = arguments[0] == "runs" && arguments[1] != "show";
            let expected = if is_list {
                format!("two: {part} cannot be trusted")
            } else {
                format!("{part} of two cannot be trusted")
            };
            assert!(
                message.contains(&expected) || is_list && arguments.contains(&"--json"),
                "{arguments:?}: {message}"
            );
        }
        let listed = workspace.run(&["runs", "list", "--json"]).stdout_json();
        let runs = listed["runs"].as_array().expect("runs");
        let edited: Vec<bool> = runs.iter().map(|run| !run["edited"].is_null()).collect();
        assert_eq!(edited.iter().filter(|edited| **edited).count(), 1, "{listed}");
        let edited = format!("{part} cannot be trusted");
        let chosen = workspace.run(&["runs", "baseline", "two"]).expect_code(2);
        let expected = format!("run 'two' cannot be a baseline: {edited}");
        assert!(chosen.stderr.contains(&expected), "{}", chosen.stderr);
        let listed = workspace.run(&["runs", "baseline"]).expect_code(0);
        assert!(listed.stdout.contains("was edited, and cannot be trusted"), "{}", listed.stdout);
        let compared = workspace.run(&["compare", "one", "two"]).expect_code(3);
        assert!(compared.stdout.contains("INVALID"), "{}", compared.stdout);
        workspace.write("edited", before);
        fs::rename(workspace.path("edited"), workspace.path(&path)).expect("as it was");
        assert!(!warnings_of(&["runs", "list"]).contains("cannot be trusted"));
    }
    let _: CommandOutput = workspace.run(&["verify", "two"]).expect_code(0);
}

/// A journal that cannot be compressed stays as it is. The place of the temporary file is taken.
#[test]
fn journal_that_cannot_be_compressed_stays_whole() {
    let server = Server::answering();
    let workspace = Workspace::new();
    let long = "x".repeat(20_000);
    workspace.write("rows.jsonl", rows(120).replace("\"question ", &format!("\"{long} question ")));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let run = ["run", "suite.yaml", "--run-id", "r"];
    workspace.run(&[&run[..], &["--max-samples", "60"]].concat()).expect_code(0);
    assert!(workspace.path("runs/r/journal/000001.jsonl.zst").is_file());
    fs::create_dir(workspace.path("runs/r/journal/.000002.jsonl.zst.tmp")).expect("a folder");
    let resumed = workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(0);
    assert!(
        resumed.stderr.contains("the journal is not compressed, and no record is lost"),
        "{}",
        resumed.stderr
    );
    assert!(workspace.path("runs/r/journal/000002.jsonl").is_file());
    workspace.run(&["verify", "r"]).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 120);
}
