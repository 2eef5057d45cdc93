//! The history of a folder of runs: baselines, trends, flips, and an index that can be rebuilt.

use crate::scripted_backend::constant_backend;
use crate::server::Server;
use crate::support::{Workspace, rows, suite};
use crate::words_suite::write_suite;
use serde_json::{Value, json};

/// Thirty questions, and a suite whose model gives one answer to all of them.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(30));
    for (name, answer) in [("words", "answer"), ("other", "nothing")] {
        let backend = constant_backend(&workspace, answer);
        workspace.write(&format!("{name}.yaml"), suite(&backend, "[contains]"));
    }
    workspace
}

fn run(workspace: &Workspace, suite: &str, run_id: &str) {
    workspace.run(&["run", suite, "--run-id", run_id, "--quiet"]).expect_code(0);
}

fn run_json(workspace: &Workspace, arguments: &[&str]) -> Value {
    workspace.run(arguments).expect_code(0).stdout_json()
}

#[test]
fn a_run_is_compared_with_the_baseline_of_its_suite() {
    let workspace = workspace();
    run(&workspace, "words.yaml", "first");
    run(&workspace, "words.yaml", "second");
    run(&workspace, "other.yaml", "third");
    let ended = workspace.run(&["compare", "second"]).expect_code(2);
    assert!(ended.stderr.contains("the suite 'words' has no baseline in runs"), "{}", ended.stderr);
    let ended = workspace.run(&["runs", "baseline", "first"]).expect_code(0);
    assert_eq!(ended.stdout, "first is the baseline of the suite words\n");
    for arguments in [&["compare", "second"][..], &["compare", "--baseline", "runs/second"]] {
        let ended = workspace.run(arguments).expect_code(0);
        assert!(ended.stdout.contains("base  first"), "{}", ended.stdout);
    }
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    assert!(listed.stdout.contains("first *  words"), "{}", listed.stdout);
    assert!(listed.stderr.contains("* the baseline of its suite"), "{}", listed.stderr);
    for (arguments, part) in [
        (&["compare", "first"][..], "run 'first' is itself the baseline"),
        (&["compare", "third"], "the suite 'other' has no baseline"),
        (&["compare", "--baseline", "first", "second"], "cannot be used with"),
        (&["runs", "baseline", "secnd"], "did you mean 'second'?"),
        (&["runs", "baseline", "--remove", "word"], "did you mean 'words'?"),
        (&["runs", "baseline", "--output-dir", "none", "first"], "failed to read the folder of runs none"),
    ] {
        let ended = workspace.run(arguments).expect_code(2);
        assert!(ended.stderr.contains(part), "{arguments:?}\n{}", ended.stderr);
    }
    // `gc` keeps the baseline.
    workspace.run(&["runs", "gc", "--keep", "1", "--yes"]).expect_code(0);
    assert!(workspace.path("runs/first").exists() && !workspace.path("runs/second").exists());
    run(&workspace, "words.yaml", "second");
    // A lost index loses no baseline.
    std::fs::write(workspace.path("runs/.gage-index.sqlite"), "no index at all").expect("written");
    let ended = workspace.run(&["compare", "second"]).expect_code(0);
    assert!(ended.stderr.contains("was damaged") && ended.stderr.contains("is rebuilt"), "{}", ended.stderr);

    std::fs::rename(workspace.path("runs/first"), workspace.path("away")).expect("moved");
    let ended = workspace.run(&["compare", "second"]).expect_code(2);
    assert!(ended.stderr.contains("run 'first', is gone from runs"), "{}", ended.stderr);
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    assert!(
        listed.stderr.contains("warning: the baseline of the suite 'words', run 'first', is gone"),
        "{}",
        listed.stderr
    );
    let ended = workspace.run(&["runs", "baseline", "--remove", "words"]).expect_code(0);
    assert_eq!(ended.stdout, "the suite words no longer has a baseline\n");
    assert_eq!(run_json(&workspace, &["runs", "baseline", "--json"]), json!({"baselines": []}));
}

#[test]
fn unknown_total_is_shown_as_unknown() {
    let workspace = workspace();
    run(&workspace, "words.yaml", "whole");
    run(&workspace, "words.yaml", "stopped");
    // As in a run whose budget was exhausted before a long file was read to its end.
    let mut summary = workspace.json("stopped", "summary.json");
    summary["samples"]["total_is_least"] = json!(true);
    summary["metrics"][0]["total_is_least"] = json!(true);
    workspace.write("runs/stopped/summary.json", summary.to_string());
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    let line = |run_id: &str| listed.stdout.lines().find(|line| line.trim_start().starts_with(run_id));
    assert!(line("stopped").is_some_and(|line| line.contains("  30 of ?  ")), "{}", listed.stdout);
    assert!(line("whole").is_some_and(|line| line.contains("  30  ")), "{}", listed.stdout);
    let listed = run_json(&workspace, &["runs", "list", "--json"]);
    let runs = listed["runs"].as_array().expect("runs");
    let known: Vec<&Value> = runs.iter().map(|run| &run["total_is_least"]).collect();
    assert_eq!(known.iter().filter(|one| ***one == json!(true)).count(), 1, "{listed}");
    let trend = workspace.run(&["runs", "trend", "words"]).expect_code(0);
    assert!(trend.stdout.contains("30/30+") && trend.stdout.contains("30/30\n"), "{}", trend.stdout);
    assert!(trend.stderr.contains("the number of remaining samples is unknown"), "{}", trend.stderr);
}

#[test]
fn trend_shows_figures_over_time_with_flip_rates() {
    let workspace = workspace();
    run(&workspace, "words.yaml", "first");
    run(&workspace, "words.yaml", "second");
    workspace.write("rows.jsonl", rows(20));
    run(&workspace, "words.yaml", "shorter");
    // The times would differ between test runs.
    for (minute, run_id) in ["first", "second", "shorter"].iter().enumerate() {
        let mut manifest: Value = workspace.json(run_id, "manifest.json");
        manifest["created_at"] = format!("2026-01-31T09:0{minute}:00Z").into();
        workspace.write(&format!("runs/{run_id}/manifest.json"), crate::verifying::with_digest(manifest));
    }
    workspace.run(&["runs", "baseline", "first"]).expect_code(0);
    let ended = workspace.run(&["runs", "trend", "words"]).expect_code(0);
    insta::assert_snapshot!("trend", ended.transcript());
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let trend =
        run_json(&workspace, &["runs", "trend", "words", "--metric", "contains", "--last", "2", "--json"]);
    let points = trend["trends"][0]["points"].as_array().expect("points");
    let runs: Vec<(&Value, &Value)> =
        points.iter().map(|point| (&point["run_id"], &point["is_redefined"])).collect();
    assert_eq!(runs, [(&json!("second"), &json!(false)), (&json!("shorter"), &json!(true))]);
    assert_eq!(
        (&trend["flip_rates"][0]["compared"], &trend["flip_rates"][0]["flips"]),
        (&json!(30), &json!(0))
    );
    for (arguments, part) in [
        (&["word"][..], "did you mean 'words'?"),
        (&["words", "--metric", "contain"], "did you mean 'contains'?"),
        (&["words", "--last", "0"], "at least 1"),
        (&["words", "--output-dir", "none"], "there is no folder 'none'"),
    ] {
        let ended = workspace.run(&[&["runs", "trend"], arguments].concat()).expect_code(2);
        assert!(ended.stderr.contains(part), "{arguments:?}\n{}", ended.stderr);
    }
}

#[test]
fn unwritable_index_is_no_error_and_no_runs_need_no_index() {
    let workspace = workspace();
    std::fs::create_dir(workspace.path("empty")).expect("a folder");
    let listed = workspace.run(&["runs", "list", "--output-dir", "empty"]).expect_code(0);
    assert_eq!(listed.stderr, "no runs in empty\n");
    assert_eq!(std::fs::read_dir(workspace.path("empty")).expect("a folder").count(), 0);
    run(&workspace, "words.yaml", "first");
    std::fs::create_dir(workspace.path("runs/.gage-index.sqlite")).expect("a folder in the way");
    let listed = run_json(&workspace, &["runs", "list", "--json"]);
    assert_eq!(
        (&listed["runs"][0]["suite"], &listed["runs"][0]["model"], &listed["runs"][0]["is_baseline"]),
        (&json!("words"), &json!("scripted-backend"), &json!(false))
    );
    assert_eq!(listed["runs"][0]["figures"][0]["metric_id"], "contains");
}

#[test]
fn runs_are_listed_and_deleted_only_with_confirmation() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    for run in ["a", "b", "c"] {
        workspace.run(&["run", "config/custom/words.yaml", "--run-id", run]).expect_code(0);
    }
    workspace.run(&["score", "runs/a", "--run-id", "of-a"]).expect_code(0);
    // A killed run, and one that cannot be read.
    let killed = workspace
        .read("runs/b/manifest.json")
        .replace("\"complete\"", "\"running\"")
        .replace("\"run_id\": \"b\"", "\"run_id\": \"k\"");
    workspace.write("runs/k/manifest.json", killed);
    workspace.write("runs/odd/manifest.json", "{");
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    assert!(listed.stderr.contains("odd"), "{}", listed.stderr);
    for (run, status) in [("a", "complete"), ("of-a", "complete"), ("k", "killed")] {
        let line =
            listed.stdout.lines().find(|line| line.trim_start().starts_with(&format!("{run} "))).expect(run);
        assert!(line.contains(status), "{line}");
    }
    assert!(listed.stdout.contains("rows exact_match  1.0000 (+1)"), "{}", listed.stdout);
    let shown = workspace.run(&["runs", "show", "a"]).expect_code(0);
    assert!(
        shown.stdout.contains("status    complete") && shown.stdout.contains("samples.jsonl"),
        "{}",
        shown.stdout
    );

    let planned = workspace.run(&["runs", "gc", "--keep", "1"]).expect_code(0);
    assert!(planned.stderr.contains("nothing was deleted: add --yes"), "{}", planned.stderr);
    assert!(planned.stderr.contains("a stays: a run that stays was scored"), "{}", planned.stderr);
    assert!(workspace.path("runs/b").exists());
    let unfinished = workspace.run(&["runs", "gc", "--unfinished", "--yes"]).expect_code(0);
    assert!(unfinished.stderr.contains("deleted 1 of 1 run"), "{}", unfinished.stderr);
    assert!(!workspace.path("runs/k").exists() && workspace.path("runs/b").exists());
    workspace.run(&["runs", "gc", "--keep", "1", "--yes"]).expect_code(0);
    for (run, stays) in [("a", true), ("b", false), ("c", false), ("of-a", true), ("odd", true)] {
        assert_eq!(workspace.path(&format!("runs/{run}")).exists(), stays, "{run}");
    }
    workspace.run(&["runs", "gc"]).expect_code(2);
}
