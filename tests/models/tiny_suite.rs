//! The suite and the models that ship with the project.

use crate::support::{RESULT_FILES, Workspace, repository};
use serde_json::Value;

fn figure<'s>(summary: &'s Value, task: &str, metric: &str) -> &'s Value {
    summary["metrics"]
        .as_array()
        .and_then(|figures| {
            figures.iter().find(|figure| figure["task_id"] == task && figure["metric_id"] == metric)
        })
        .unwrap_or_else(|| panic!("no {metric} of {task} in {summary:#}"))
}

fn run(workspace: &Workspace, run_id: &str, further: &[&str]) -> Value {
    let suite = repository().join("config/custom/tiny.yaml");
    let suite = suite.to_str().expect("a path");
    let ended = workspace
        .run(&[&["run", suite, "--run-id", run_id, "--json", "--quiet"], further].concat())
        .expect_code(0);
    // Limits that the suite sets are named only to those who ask for more.
    let asks_for_more = further.contains(&"--concurrency");
    let is_expected = |line: &str| {
        line.starts_with("next: gage-host ") || asks_for_more && line.starts_with("note: held at")
    };
    assert!(ended.stderr.lines().all(is_expected), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

#[test]
fn every_sample_is_scored_and_models_differ() {
    let workspace = Workspace::new();
    let report = run(&workspace, "full", &[]);
    let suite = repository().join("config/custom/tiny.yaml");
    let early = workspace
        .program()
        .args(["run", suite.to_str().expect("a path"), "--run-id", "early", "--json"])
        .env("GAGE_TINY_MODEL", "gage-tiny-early")
        .output()
        .expect("the program runs");
    let early: Value = serde_json::from_slice(&early.stdout).expect("JSON");
    assert_eq!(report["summary"]["samples"]["coverage"], 1.0);
    for (task, metric, least) in [
        ("arithmetic", "exact_match", 0.97),
        ("opposites", "exact_match", 0.97),
        ("facts", "multi_choice_accuracy", 0.97),
        ("comparison", "multi_choice_accuracy", 0.95),
    ] {
        let value = figure(&report["summary"], task, metric)["value"].as_f64().expect("a value");
        assert!(value >= least, "{task}: {value}");
    }
    // The intervals do not overlap, so a comparison of the two means something.
    let low = figure(&report["summary"], "arithmetic", "exact_match")["interval"]["low"].as_f64();
    let high = figure(&early["summary"], "arithmetic", "exact_match")["interval"]["high"].as_f64();
    assert!(low > high, "{low:?} {high:?}");
}

#[test]
fn the_same_bytes_come_out_at_every_concurrency() {
    let workspace = Workspace::new();
    for (run_id, concurrency) in [("one", "1"), ("many", "16")] {
        run(
            &workspace,
            run_id,
            &["--concurrency", concurrency, "--set", "backends.tiny.config.slots=1", "--max-samples", "60"],
        );
    }
    for file in ["samples.jsonl", "summary.json"] {
        assert_eq!(
            workspace.read(&format!("runs/one/{file}")),
            workspace.read(&format!("runs/many/{file}")),
            "{file}"
        );
    }
}

/// A scheduler may continue a shard on a machine with another number of cores.
#[test]
fn shard_continues_with_another_number_of_threads() {
    let workspace = Workspace::new();
    let threads = |count: u32| format!("backends.tiny.config.threads={count}");
    let suite = repository().join("config/custom/tiny.yaml");
    let run = ["run", suite.to_str().expect("a path"), "--max-samples", "40", "--quiet"];
    let shard = |shard: &str, further: &[&str], code: i32| {
        let arguments = [&run[..], &["--run-id", "r", "--shard", shard], further].concat();
        workspace.run(&arguments).expect_code(code);
    };
    shard("1/2", &["--set", &threads(1), "--max-tokens-total", "2"], 4);
    shard("1/2", &["--set", &threads(2)], 0);
    shard("2/2", &[], 0);
    workspace.run(&["merge", "r", "--quiet"]).expect_code(0);
    workspace.run(&[&run[..], &["--run-id", "whole"]].concat()).expect_code(0);
    for file in RESULT_FILES {
        let read = |run_id: &str| workspace.read(&format!("runs/{run_id}/{file}"));
        assert_eq!(read("r"), read("whole"), "{file}");
    }
}

#[test]
fn what_varies_is_kept_apart() {
    let workspace = Workspace::new();
    run(&workspace, "run", &["--max-samples", "5"]);
    let deterministic = workspace.read("runs/run/samples.jsonl") + &workspace.read("runs/run/summary.json");
    assert!(!deterministic.contains("latency"), "a clock is in a file that must not vary");
    let timings = workspace.json("run", "timings.json");
    for name in [
        "dataset_materialization_s",
        "inference_s",
        "evaluation_s",
        "execution_runtime_s",
        "total_runtime_s",
        "wall_runtime_s",
        "throughput_total_samples_per_s",
        "throughput_inference_samples_per_s",
        "throughput_auto_eval_samples_per_s",
        "latency_total_ms_per_sample",
        "latency_inference_ms_per_sample",
    ] {
        assert!(timings[name].is_number(), "{name} in {timings:#}");
    }
    assert!(timings["timing_metrics"].to_string().contains("latency"));
    let events = workspace.read("runs/run/events.jsonl");
    assert!(
        events.contains("run_started") && events.contains("task_finished") && events.contains("run_finished")
    );
    assert_eq!(workspace.json("run", "manifest.json")["status"], "complete");
}

#[test]
fn demo_gives_the_figures_of_the_repository() {
    let workspace = Workspace::new();
    run(&workspace, "repository", &[]);
    let demo = workspace.run(&["demo", "--json", "--quiet"]).expect_code(0);
    let folder = demo.stdout_json()["folder"].as_str().expect("a folder").to_owned();
    assert!(folder.starts_with("gage-host-demo/runs/"), "{folder}");
    for file in RESULT_FILES {
        let expected = workspace.read(&format!("runs/repository/{file}"));
        assert_eq!(workspace.read(&format!("{folder}/{file}")), expected, "{file}");
    }
    let next: Vec<&str> = demo.stderr.lines().filter_map(|line| line.strip_prefix("next: ")).collect();
    let report = format!("gage-host report {folder}");
    let again = "gage-host run gage-host-demo/config/custom/tiny.yaml   # again, after you edit it";
    assert_eq!(next.first(), Some(&report.as_str()));
    assert!(next.contains(&again) && next.len() == 3, "{}", demo.stderr);
    // Unchanged files are used again.
    workspace.run(&["demo", "--quiet"]).expect_code(0);
}
