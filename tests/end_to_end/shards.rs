//! Runs in shards: each shard is a process of its own, and `merge` makes one run of them.

mod refusals;

use crate::killed_runs::pseudo_random;
use crate::scripted_backend::constant_backend;
use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, RESULT_FILES, Workspace, rows, suite};
use gage_core::Shard;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use wiremock::ResponseTemplate;

/// Number of shards of a run. Most of 64 shards are empty.
const DIVISIONS: [u64; 5] = [1, 2, 3, 7, 64];

/// Number of records of the largest task of the suite that [`large_workspace`] writes.
const RECORDS_OF_LARGEST_TASK: u64 = 360;

/// Maximum number of shards of a run that are killed.
const MAX_KILLS: usize = 3;

/// A server that holds requests, once it has answered a given number.
struct HoldingServer {
    server: Server,
    /// Number of requests that are answered before others are held.
    left: Arc<AtomicUsize>,
    /// Receives a message for each request that is held.
    held: mpsc::Receiver<()>,
}

impl HoldingServer {
    /// Starts a server that holds nothing yet.
    fn start() -> HoldingServer {
        let (sender, held) = mpsc::channel();
        let sender = Mutex::new(sender);
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let counter = Arc::clone(&left);
        let server = Server::start(move |request| {
            let reply = completion(&format!("It is {}.", question_number(request) % 7));
            let taken = counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if taken.is_ok() {
                return reply;
            }
            let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(());
            reply.set_delay(Duration::from_secs(3_600))
        });
        HoldingServer { server, left, held }
    }

    /// Answers as many further requests, and holds those after them.
    fn hold_after(&self, requests: usize) {
        self.left.store(requests, Ordering::SeqCst);
        while self.held.try_recv().is_ok() {}
    }

    fn release(&self) {
        self.left.store(usize::MAX, Ordering::SeqCst);
    }

    fn wait_until_held(&self) {
        self.held.recv_timeout(Duration::from_secs(60)).expect("a request is held");
    }

    /// Starts the program, and kills it once one of its requests is held. Returns false if it ends before.
    fn start_and_kill(&self, workspace: &Workspace, arguments: &[&str]) -> bool {
        let mut child = workspace.start_silent(arguments);
        loop {
            if self.held.recv_timeout(Duration::from_millis(10)).is_ok() {
                child.kill().expect("killed");
                child.wait().expect("gone");
                return true;
            }
            if child.try_wait().expect("its state").is_some() {
                return false;
            }
        }
    }
}

/// Writes a suite of three tasks over one dataset with a filter, a limit, duplicate ids and invalid rows. One task repeats
/// each row, so that rows are in two batches; one shuffles them.
fn large_workspace(server: &Server) -> Workspace {
    let workspace = Workspace::new();
    let row = |number: usize| {
        let group = ["b", "a", "c"][number % 3];
        let mut row =
            json!({"id": format!("q{}", number % 90), "group": group, "answer": (number % 5).to_string()});
        if number % 29 != 4 {
            row["question"] = json!(format!("question {number}"));
        }
        format!("{row}\n")
    };
    workspace.write("rows.jsonl", (0..200).map(row).collect::<String>());
    let metrics =
        "[exact_match, {metric_id: votes, implementation: exact_match, aggregation: majority_vote}]";
    let keys = "{path: rows.jsonl, filter: {group: [a, c]}, limit: 120, max_invalid: 0.5}";
    let steps = "[{step: inference}, {step: extract, extractors: [last_number]}, {step: auto_eval}]";
    let text = suite(&server.backend(""), metrics)
        .replace("{path: rows.jsonl}", keys)
        .replace("[{step: inference}, {step: auto_eval}]", steps);
    let tasks = "  min_coverage: 0.5
tasks:
  - {task_id: all, dataset_id: rows, repeat: 3}
  - {task_id: mixed, dataset_id: rows, shuffle: true, shuffle_seed: 7, max_samples: 70}
  - {task_id: few, dataset_id: rows, max_samples: 5}
";
    workspace.write("suite.yaml", text + tasks);
    workspace
}

/// Writes a suite of rows that a component answers.
fn small_workspace(count: usize) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(count));
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "answer 7"), "[exact_match]"));
    workspace
}

/// Runs a shard to its end.
fn run_shard(workspace: &Workspace, run_id: &str, shard: &str, further: &[&str]) -> CommandOutput {
    let arguments = ["run", "suite.yaml", "--run-id", run_id, "--shard", shard];
    workspace.run(&[&arguments[..], further].concat())
}

/// Runs shards in their order, four at a time.
fn run_shards(workspace: &Workspace, run_id: &str, shards: &[Shard]) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                while let Some(shard) = shards.get(next.fetch_add(1, Ordering::SeqCst)) {
                    run_shard(workspace, run_id, &shard.to_string(), &["--quiet"]).expect_code(0);
                }
            });
        }
    });
}

#[test]
fn killed_shards_merge_to_the_bytes_of_an_undivided_run() {
    let holding = HoldingServer::start();
    let workspace = large_workspace(&holding.server);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole", "--quiet"]).expect_code(0);
    let totals: Vec<_> = workspace.json("whole", "summary.json")["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| task["samples"]["total"].clone())
        .collect();
    assert_eq!(totals, [RECORDS_OF_LARGEST_TASK, 70, 5]);
    for count in DIVISIONS {
        let run_id = format!("of-{count}");
        let mut shards: Vec<Shard> = Shard::all(count).collect();
        shards.sort_by_key(|shard| pseudo_random((1_000 * count + shard.number()) as usize));
        let mut kills = 0;
        let with_records = shards.iter().filter(|shard| shard.records_of(RECORDS_OF_LARGEST_TASK) > 0);
        for (place, shard) in with_records.take(MAX_KILLS).enumerate() {
            holding.hold_after(pseudo_random(place + 10 * count as usize) % 25);
            let shard = shard.to_string();
            let arguments = ["run", "suite.yaml", "--run-id", &run_id, "--shard", &shard, "--quiet"];
            kills += usize::from(holding.start_and_kill(&workspace, &arguments));
        }
        assert!(kills > 0, "{count}");
        holding.release();
        run_shards(&workspace, &run_id, &shards);
        workspace.run(&["merge", &run_id, "--quiet"]).expect_code(0);
        workspace.assert_equal_files(&run_id, "whole", &RESULT_FILES);
        for task in 0..totals.len() {
            let fuel = workspace.scoring_fuel(&run_id, task);
            assert_eq!(fuel, workspace.scoring_fuel("whole", task), "{count}: the work of the scorers");
        }
        let manifest = workspace.json(&run_id, "manifest.json");
        assert_eq!(manifest["status"], "complete");
        assert_eq!(manifest["shards"].as_array().map(Vec::len), Some(count as usize));
    }
    for arguments in [
        &["verify", "of-3"][..],
        &["compare", "whole", "of-3"],
        &["report", "of-3", "--quiet"],
        &["export", "of-3", "--format", "csv", "--quiet"],
        &["score", "of-3", "--run-id", "scored", "--quiet"],
        &["runs", "show", "of-3"],
        &["verify", "of-3"],
        &["verify", "scored"],
    ] {
        workspace.run(arguments).expect_code(0);
    }
}

#[test]
fn partial_merge_is_completed_by_the_missing_shards() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(160));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "whole", "--quiet"]).expect_code(0);
    // Of five batches, shard 1 has the first and the fourth, and shard 3 has one.
    let first = run_shard(&workspace, "r", "1/3", &[]).expect_code(0);
    assert!(first.stderr.ends_with("next: gage-host runs status runs/r\n"), "{}", first.stderr);
    let refused = workspace.run(&["merge", "r"]).expect_code(4);
    for part in [
        "cannot be merged yet: shard 2/3 was not started and lacks 64 records; shard 3/3 was not started and lacks 32",
        "or write what is there with --partial",
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    // Each answer takes five tokens, and a third of the budget is for this shard.
    let stopped = run_shard(&workspace, "r", "2/3", &["-j", "1", "--max-tokens-total", "750"]).expect_code(4);
    assert!(stopped.stderr.contains("max_tokens_total 250: "), "{}", stopped.stderr);
    let next = stopped.stderr.lines().last().unwrap_or_default();
    let is_same_shard = next.starts_with("next: gage-host run suite.yaml ") && next.contains("--shard 2/3");
    assert!(is_same_shard && next.contains(" --max-tokens-total 15"), "{next}");
    assert!(!next.contains("--resume"), "{next}");
    let refused = workspace.run(&["merge", "r"]).expect_code(4);
    assert!(refused.stderr.contains("shard 2/3 was stopped and lacks "), "{}", refused.stderr);
    assert!(!workspace.path("runs/r/manifest.json").exists() && !workspace.path("runs/r/journal").exists());

    let partial = workspace.run(&["merge", "r", "--partial"]).expect_code(4);
    for part in
        ["missing: shard 3/3 was not started and lacks 32 records\n", " records of 2 shards are missing; run"]
    {
        assert!(partial.stderr.contains(part), "{}", partial.stderr);
    }
    let recorded = workspace.samples("r").len();
    assert!((64..128).contains(&recorded), "{recorded}");
    let samples = workspace.json("r", "summary.json")["samples"].clone();
    assert_eq!((&samples["total"], &samples["not_reached"]), (&json!(160), &json!(160 - recorded)));
    let manifest = workspace.json("r", "manifest.json");
    assert_eq!(manifest["status"], "incomplete");
    let shards = &manifest["shards"];
    let missing: Vec<_> = (0..3).map(|place| shards[place]["missing"].clone()).collect();
    assert_eq!(missing, [json!(0), json!(128 - recorded), json!(32)]);
    assert_eq!((&shards[1]["status"], &shards[2]["status"]), (&json!("incomplete"), &json!(null)));
    workspace.run(&["verify", "r"]).expect_code(0);

    // The number of threads and of requests in flight may be another one.
    run_shard(&workspace, "r", "2/3", &["--autoeval-workers", "1"]).expect_code(0);
    let last = run_shard(&workspace, "r", "index:2/3", &["--autoeval-workers", "3"]).expect_code(0);
    assert!(last.stderr.ends_with("next: gage-host merge runs/r\n"), "{}", last.stderr);
    let asked = server.requests();
    let files = ["samples.jsonl", "summary.json", "journal/000001.jsonl"];
    let merged = ["first", "second"].map(|_| {
        workspace.run(&["merge", "runs/r"]).expect_code(0);
        workspace.assert_equal_files("r", "whole", &RESULT_FILES);
        files.map(|file| workspace.read(&format!("runs/r/{file}")))
    });
    assert!(merged[0] == merged[1], "merging again changes no byte");
    // A shard that is complete asks nothing, even after the merge.
    run_shard(&workspace, "r", "2/3", &[]).expect_code(0);
    assert_eq!(server.requests(), asked);
    workspace.run(&["verify", "r"]).expect_code(0);
}

#[test]
fn second_process_of_a_shard_is_told_to_try_again() {
    let holding = HoldingServer::start();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&holding.server.backend(""), "[exact_match]"));
    holding.hold_after(3);
    let arguments = ["run", "suite.yaml", "--run-id", "r", "--shard", "1/2", "--quiet"];
    let mut child = workspace.start_silent(&arguments);
    holding.wait_until_held();
    let second = workspace.run(&arguments).expect_code(5);
    assert!(second.stderr.contains("another process is writing to "), "{}", second.stderr);
    let early = workspace.run(&["merge", "r"]).expect_code(4);
    assert!(early.stderr.contains("shard 1/2 is running"), "{}", early.stderr);
    // The other shard is free.
    holding.release();
    run_shard(&workspace, "r", "2/2", &[]).expect_code(0);
    child.kill().expect("killed");
    child.wait().expect("gone");
    workspace.run(&arguments).expect_code(0);
    workspace.run(&["merge", "r"]).expect_code(0);
}

#[test]
fn each_shard_may_have_its_part_of_the_failures() {
    // An answer shows that the server refuses single requests, not all.
    let server = Server::start(|request| match question_number(request) % 32 {
        0 => completion("answer 0"),
        _ => ResponseTemplate::new(400).set_body_string("no"),
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(100));
    let text = suite(&server.backend(", max_retries: 0"), "[exact_match]") + "budget: {max_failures: 3}\n";
    workspace.write("suite.yaml", text);
    for shard in ["1/2", "2/2"] {
        let ended = run_shard(&workspace, "r", shard, &["-j", "1"]).expect_code(4);
        assert!(ended.stderr.contains("max_failures 2: "), "{}", ended.stderr);
    }
}

/// Each shard has as many invalid rows as the whole run may have, or fewer. All together have more.
#[test]
fn invalid_rows_are_judged_when_shards_are_merged() {
    let workspace = small_workspace(100);
    let good = workspace.read("rows.jsonl");
    let rows: String = good
        .lines()
        .enumerate()
        // Three in the first batch, and three in the second.
        .map(|(number, row)| match [1, 2, 3, 33, 34, 35].contains(&number) {
            true => format!("{{\"id\": \"bad {number}\"}}\n"),
            false => format!("{row}\n"),
        })
        .collect();
    workspace.write("rows.jsonl", rows);
    for shard in ["1/2", "2/2"] {
        run_shard(&workspace, "r", shard, &[]).expect_code(0);
    }
    let merged = workspace.run(&["merge", "r"]).expect_code(4);
    let expected = "6 of the first 100 rows of `rows` are invalid (6.0 %); 5.0 % is allowed (max_invalid)";
    assert!(merged.stderr.contains(expected), "{}", merged.stderr);
    assert_eq!(workspace.samples("r").len(), 100);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "incomplete");
}
