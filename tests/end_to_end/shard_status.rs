//! `gage-host runs status`, and what other commands say of a run with shards.

use crate::scripted_backend::constant_backend;
use crate::support::{CommandOutput, Workspace, rows, suite};

const SUITE: &str = "suite.yaml";

/// Writes a suite of 40 rows: the first of two shards has 32 of them.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let backend = constant_backend(&workspace, "answer 7");
    workspace.write(SUITE, suite(&backend, "[exact_match]"));
    workspace
}

fn run_shard(workspace: &Workspace, shard: &str) {
    workspace.run(&["run", SUITE, "--run-id", "r", "--shard", shard, "--quiet"]).expect_code(0);
}

#[track_caller]
fn assert_parts(output: &CommandOutput, parts: &[&str]) {
    let transcript = output.transcript();
    parts.iter().for_each(|part| assert!(transcript.contains(part), "{part}: {transcript}"));
}

#[test]
fn commands_show_how_far_the_shards_are() {
    let workspace = workspace();
    run_shard(&workspace, "1/2");
    let parts = [
        "  1      done         32 of 32",
        "  2      not started  -",
        "1 of 2 shards is done, 1 was not started: 32 of 40 samples",
        "the shards are not merged",
        "next: gage-host run SUITE --run-id r --shard 2/2",
    ];
    assert_parts(&workspace.run(&["runs", "status", "r"]).expect_code(0), &parts);
    assert_parts(&workspace.run(&["runs", "show", "runs/r"]).expect_code(0), &parts);
    let json = workspace.run(&["runs", "status", "r", "--json"]).expect_code(0).stdout_json();
    assert_eq!((&json["totals"]["done"], &json["totals"]["planned"]), (&1.into(), &40.into()), "{json}");
    assert_eq!(json["merge"]["state"], "not_merged");
    assert_eq!(
        (&json["shards"][0]["state"], &json["shards"][1]["state"]),
        (&"done".into(), &"not_started".into())
    );

    assert_parts(&workspace.run(&["runs", "list"]).expect_code(0), &["r ", "1 of 2 shards done"]);
    let json = workspace.run(&["runs", "list", "--json"]).expect_code(0).stdout_json();
    assert_eq!(
        (&json["unmerged"][0]["run_id"], json["runs"].as_array().map(Vec::len)),
        (&"r".into(), Some(0))
    );
    let of_shard = workspace.run(&["runs", "show", "runs/r/shards/01-of-02"]).expect_code(0);
    assert_parts(&of_shard, &["shard     1/2 of the run r"]);
    let kept = workspace.run(&["runs", "gc", "--keep", "0", "--yes"]).expect_code(0);
    assert_parts(&kept, &["r stays: 1 of 2 shards done, and they are not merged", "nothing to delete"]);
    assert!(workspace.path("runs/r/shards/01-of-02/manifest.json").exists());
}

#[test]
fn a_merged_run_shows_its_shards() {
    let workspace = workspace();
    ["1/2", "2/2"].iter().for_each(|shard| run_shard(&workspace, shard));
    let done = workspace.run(&["runs", "status", "r"]).expect_code(0);
    assert_parts(&done, &["2 of 2 shards are done: 40 of 40 samples", "next: gage-host merge runs/r"]);
    workspace.run(&["merge", "r"]).expect_code(0);
    let merged = workspace.run(&["runs", "status", "r"]).expect_code(0);
    assert_parts(&merged, &["the shards are merged", "next: gage-host report runs/r"]);
    let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
    assert_parts(
        &shown,
        &[
            "merged    from 2 shards",
            "shard     1/2 complete, 32 records",
            "shard     2/2 complete, 8 records",
        ],
    );
    // All have ended.
    let watched = workspace.run(&["runs", "status", "r", "--watch"]).expect_code(0);
    assert_eq!(watched.stdout, "2 of 2 shards are done: 40 of 40 samples\n", "{}", watched.transcript());
    let listed = workspace.run(&["runs", "list", "--json"]).expect_code(0).stdout_json();
    assert_eq!(listed["unmerged"], serde_json::json!([]));
}

#[test]
fn runs_without_shards_have_no_status() {
    let workspace = workspace();
    workspace.run(&["run", SUITE, "--run-id", "whole", "--quiet"]).expect_code(0);
    for (run, part) in [
        ("whole", "runs/whole is a run without shards"),
        ("runs/whole", "see it with `gage-host runs show runs/whole`"),
        ("nothing", "there is no run folder"),
        ("s3://bucket/r", "runs status reads only folders of this machine, and not s3://bucket/r"),
        ("s3://bucket/r", "help: `gage-host merge s3://bucket/r` fetches the shards that are there"),
    ] {
        assert_parts(&workspace.run(&["runs", "status", run]).expect_code(2), &[part]);
    }
}

#[test]
fn a_run_that_is_not_fully_merged_is_kept() {
    let workspace = workspace();
    run_shard(&workspace, "1/2");
    workspace.run(&["merge", "r", "--partial"]).expect_code(4);
    let reason = "r stays: its shards are not fully merged; delete its folder if it is not needed";
    let kept = workspace.run(&["runs", "gc", "--keep", "0", "--yes"]).expect_code(0);
    assert_parts(&kept, &[reason, "nothing to delete"]);

    run_shard(&workspace, "2/2");
    workspace.run(&["merge", "r"]).expect_code(0);
    // As if the process was killed.
    let mut manifest = workspace.json("r", "manifest.json");
    manifest["status"] = "running".into();
    workspace.write("runs/r/manifest.json", manifest.to_string());
    let kept = workspace.run(&["runs", "gc", "--unfinished", "--yes"]).expect_code(0);
    assert_parts(&kept, &[reason, "nothing to delete"]);
    let again = "killed: the merge was stopped; merge again with `gage-host merge runs/r`";
    assert_parts(&workspace.run(&["runs", "show", "r"]).expect_code(0), &[again]);
    assert_parts(
        &workspace.run(&["runs", "list"]).expect_code(0),
        &["note: r is killed: the merge was stopped"],
    );
    for shard in ["01-of-02", "02-of-02"] {
        assert!(workspace.path(&format!("runs/r/shards/{shard}/manifest.json")).exists(), "{shard}");
    }
}
