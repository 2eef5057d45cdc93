//! Several tasks in one run, budgets, failure policies, and runs that end early, against real servers on loopback.

use crate::barrier_server::BarrierServer;
use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, RESULT_FILES, Workspace, rows, suite};
use gage_core::Object;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;
use wiremock::ResponseTemplate;

/// Returns a suite whose tasks share one backend.
pub(crate) fn suite_with_tasks(server: &Server, extra: &str, tasks: &str) -> String {
    suite(&server.backend(", max_retries: 0"), "[exact_match]") + extra + "tasks:\n" + tasks
}

pub(crate) fn workspace(count: usize, suite: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(count));
    workspace.write("suite.yaml", suite);
    workspace
}

const FOUR_TASKS: &str = "  - {task_id: first, dataset_id: rows}
  - {task_id: second, dataset_id: rows, max_samples: 40, concurrency: 2}
  - {task_id: third, dataset_id: rows, shuffle: true, shuffle_seed: 7, repeat: 2, max_samples: 33}
  - {task_id: fourth, dataset_id: rows, mode: sequential, max_samples: 20, slices: [id]}
";

#[test]
fn parallel_tasks_give_the_bytes_of_sequential_tasks() {
    let server = Server::answering();
    let workspace = workspace(90, &suite_with_tasks(&server, "", FOUR_TASKS));
    workspace.run(&["run", "suite.yaml", "--run-id", "order", "--task-parallelism", "1"]).expect_code(0);
    workspace
        .run(&["run", "suite.yaml", "--run-id", "parallel", "--task-parallelism", "4", "--concurrency", "32"])
        .expect_code(0);
    workspace.assert_equal_files("order", "parallel", &RESULT_FILES);
    let fuel = |run: &str| -> Vec<Value> {
        let timings = workspace.json(run, "timings.json");
        timings["tasks"].as_array().into_iter().flatten().map(|task| task["scoring_fuel"].clone()).collect()
    };
    assert_eq!(fuel("order"), fuel("parallel"));
    let totals: Vec<Value> = workspace.json("order", "summary.json")["tasks"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|task| task["samples"]["total"].clone())
        .collect();
    assert_eq!(totals, [90, 40, 66, 20]);
    let samples = workspace.samples("order");
    let ids = |task: &str| -> Vec<String> {
        let own = samples.iter().filter(|sample| sample["task_id"] == task);
        own.map(|sample| sample["sample_id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(ids("second")[..3], ["q0", "q1", "q2"]);
    let shuffled = ids("third");
    assert_ne!(shuffled[0], "q0");
    assert_eq!(shuffled[0], shuffled[1]);
}

/// Makes each request wait a moment for a second one, and counts the requests in flight at the same time.
#[derive(Default)]
struct PairBarrier {
    /// The requests in flight, and their maximum.
    in_flight: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl PairBarrier {
    /// Waits a moment for a second request.
    fn wait(&self) {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight.0 += 1;
        in_flight.1 = in_flight.1.max(in_flight.0);
        self.changed.notify_all();
        let together = |in_flight: &mut (usize, usize)| in_flight.0 < 2 && in_flight.1 < 2;
        let waited = self.changed.wait_timeout_while(in_flight, Duration::from_millis(300), together);
        let (mut in_flight, _) = waited.unwrap_or_else(PoisonError::into_inner);
        in_flight.0 -= 1;
    }

    fn max_in_flight(&self) -> usize {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

#[test]
fn the_pool_of_a_role_bounds_all_tasks_together() {
    let barrier = Arc::new(PairBarrier::default());
    let seen = Arc::clone(&barrier);
    let server = Server::start(move |request| {
        seen.wait();
        completion(&format!("answer {}", question_number(request)))
    });
    let both = "  - {task_id: a, dataset_id: rows}\n  - {task_id: b, dataset_id: rows}\n";
    let text = suite_with_tasks(&server, "task_parallelism: 2\n", both)
        .replace("backend_id: model}", "backend_id: model, resource_requirement: {pool_size: 1}}");
    let workspace = workspace(4, &text);
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    assert_eq!((barrier.max_in_flight(), server.requests()), (1, 8));
}

#[test]
fn a_task_that_fails_does_not_hide_the_others() {
    let server = Server::answering();
    let text = suite_with_tasks(&server,
        "",
        "  - {task_id: broken, dataset_id: broken}\n  - {task_id: whole, dataset_id: rows}\n",
    )
    .replace(
        "backends:\n",
        "  - {dataset_id: broken, loader: jsonl, params: {path: broken.jsonl, on_invalid: error}}\nbackends:\n",
    );
    let workspace = workspace(5, &text);
    workspace.write("broken.jsonl", "{\"id\": \"b\"\n");
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert!(ended.stderr.contains("a row of `broken` is invalid"), "{}", ended.stderr);
    let summary = workspace.json("r", "summary.json");
    assert_eq!(summary["tasks"][1]["samples"]["outcomes"]["scored"], 5);
    // `fail_fast` can be set for the whole run.
    workspace.write("suite.yaml", text.replace("metrics:", "failure_policy: fail_fast\nmetrics:"));
    workspace.run(&["run", "suite.yaml", "--run-id", "fast"]).expect_code(4);
    // A task that did not start counts as not reached.
    assert_eq!(
        workspace.json("fast", "summary.json")["tasks"][1]["samples"],
        json!({"total": 5, "outcomes": {}, "not_reached": 5, "coverage": 0.0})
    );
}

/// Starts a server that rejects one question.
fn server_failing_at(number: usize) -> Server {
    Server::start(move |request| match question_number(request) {
        found if found == number => ResponseTemplate::new(400).set_body_string("no"),
        found => completion(&format!("answer {found}")),
    })
}

#[test]
fn failure_policy_decides_what_a_failed_sample_does() {
    let server = server_failing_at(2);
    for (policy, code, total, message) in [
        ("graceful", 4, 10, "9 of 10 samples were scored"),
        ("best_effort", 0, 10, ""),
        ("fail_fast", 4, 3, "q2 ended as backend_error, and the task ended there (fail_fast)"),
    ] {
        let task = format!(
            "  - {{task_id: t, dataset_id: rows, mode: sequential, failure_policy: {policy}}}\n  - {{task_id: u, dataset_id: rows, max_samples: 2}}\n"
        );
        let workspace = workspace(10, &suite_with_tasks(&server, "", &task));
        let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(code);
        assert!(ended.stderr.contains(message), "{policy}: {}", ended.stderr);
        let summary = workspace.json("r", "summary.json");
        let found = &summary["tasks"][0]["samples"];
        assert_eq!(found["total"], 10, "{policy}");
        let scored = found["outcomes"]["scored"].as_u64().unwrap_or_default();
        assert_eq!(found["coverage"].as_f64(), Some(scored as f64 / 10.0), "{policy}");
        // The sample after the failed one may be in flight already.
        let found = 10 - found["not_reached"].as_u64().unwrap_or_default();
        assert!((total..=total + 1).contains(&found) && (total == 3 || found == total), "{policy}: {found}");
        assert_eq!(summary["tasks"][1]["samples"]["total"], 2, "{policy}");
    }
}

#[test]
fn a_budget_ends_a_run_that_a_larger_one_finishes() {
    let server = Server::answering();
    let pricing = "pricing: [{backend_id: model, prompt: 1000, completion: 1000}]\n";
    // Each answer takes five tokens.
    for (budget, larger, message) in [
        ("--max-tokens-total=100", "--max-tokens-total=100000", "max_tokens_total 100:"),
        ("--max-cost=0.1", "--max-cost=100", "max_cost 0.1:"),
    ] {
        let text = suite(&server.backend(""), "[exact_match]") + pricing;
        let workspace = workspace(200, &text);
        let run = ["run", "suite.yaml", "--run-id", "r", "--concurrency", "2"];
        let ended = workspace.run(&[&run[..], &[budget]].concat()).expect_code(4);
        assert!(
            ended.stderr.contains(message) && ended.stderr.contains("--run-id r --resume"),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains("cost: "), "{}", ended.stderr);
        let manifest = workspace.json("r", "manifest.json");
        assert_eq!(manifest["status"], "incomplete");
        assert!(manifest["ended_by"].as_str().is_some_and(|reason| reason.contains(message)), "{manifest}");
        let recorded = workspace.samples("r").len();
        assert!((20..60).contains(&recorded), "{recorded} samples");
        let samples = &workspace.json("r", "summary.json")["samples"];
        assert_eq!((&samples["total"], &samples["not_reached"]), (&json!(200), &json!(200 - recorded)));
        assert!(ended.stderr.contains("of 200 samples were scored"), "{}", ended.stderr);
        // Usage of the earlier process counts.
        let again = workspace.run(&[&run[..], &["--resume", budget]].concat()).expect_code(4);
        assert!(again.stderr.contains(message), "{}", again.stderr);
        assert_eq!(workspace.samples("r").len(), recorded);

        workspace.run(&[&run[..], &["--resume", larger]].concat()).expect_code(0);
        workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
        workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    }
}

#[test]
fn max_failures_ends_a_run() {
    // An answer shows that the server refuses single requests, not all.
    let server = Server::start(|request| match question_number(request) {
        0 => completion("answer 0"),
        _ => ResponseTemplate::new(400).set_body_string("no"),
    });
    let text = suite(&server.backend(", max_retries: 0"), "[exact_match]") + "budget: {max_failures: 3}\n";
    let workspace = workspace(500, &text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "1"]).expect_code(4);
    assert!(ended.stderr.contains("max_failures 3: "), "{}", ended.stderr);
    assert!(server.requests() < 500, "{} requests", server.requests());
    // A budget that is exhausted by the last sample ends nothing.
    let whole =
        workspace.run(&["run", "suite.yaml", "--run-id", "all", "--max-failures", "498"]).expect_code(4);
    assert!(!whole.stderr.contains("budget"), "{}", whole.stderr);
}

/// An invalid row fails as soon as it is dispatched, so no later row starts.
#[test]
fn invalid_rows_end_a_run_before_the_next_row_starts() {
    for (policy, failed) in [("budget: {max_failures: 3}\n", 4), ("failure_policy: fail_fast\n", 1)] {
        let server = Server::answering();
        let text =
            suite(&server.backend(""), "[exact_match]").replace("rows.jsonl", "rows.jsonl, max_invalid: 1");
        let workspace = workspace(300, &(text + policy));
        let good = workspace.read("rows.jsonl");
        let (before, behind) = good.split_at(good.match_indices('\n').nth(2).expect("three lines").0 + 1);
        workspace.write("rows.jsonl", format!("{before}{}{behind}", "{\"answer\": \"a\"}\n".repeat(failed)));
        let ended =
            workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "16"]).expect_code(4);
        let samples = workspace.samples("r");
        let invalid = samples.iter().filter(|sample| sample["outcome"] == "invalid_sample").count();
        assert_eq!(invalid, failed, "{policy}{}", ended.stderr);
        assert!(server.requests() <= 3, "{policy}{} requests", server.requests());
    }
}

#[test]
fn time_budget_ends_a_run() {
    let server = Server::start(|request| match question_number(request) {
        0 => completion("answer 0"),
        // The retry would come long after the time limit.
        _ => ResponseTemplate::new(503).insert_header("retry-after", "500"),
    });
    let text = suite(&server.backend(", retry_base: 3000, retry_limit: 3000"), "[exact_match]");
    let workspace = workspace(50, &text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--max-time", "1s"]).expect_code(4);
    assert!(ended.stderr.contains("max_time 1 s is over"), "{}", ended.stderr);
    let samples = workspace.samples("r");
    assert_eq!((samples.len(), &samples[0]["outcome"]), (1, &json!("scored")));
}

#[test]
fn refused_api_key_ends_the_run_and_records_no_failure() {
    let is_allowed = Arc::new(AtomicBool::new(false));
    let allowed = Arc::clone(&is_allowed);
    let server = Server::start(move |request| {
        let number = question_number(request);
        match number {
            // This request is in flight while the others are refused.
            3 if !allowed.load(Ordering::SeqCst) => completion("").set_delay(Duration::from_secs(3_600)),
            number if number > 20 && !allowed.load(Ordering::SeqCst) => ResponseTemplate::new(401)
                .set_body_json(json!({"error": {"message": "bad key sk-very-secret"}})),
            number => completion(&format!("answer {number}")),
        }
    });
    let both = "  - {task_id: a, dataset_id: rows}\n  - {task_id: b, dataset_id: rows}\n";
    let text = suite_with_tasks(&server, "task_parallelism: 2\n", both)
        .replace("model: m", "model: m, api_key: '${MY_KEY}'");
    let workspace = workspace(100, &text);
    let run = |arguments: &[&str]| {
        let arguments = [&["run", "suite.yaml", "--run-id", "r"], arguments].concat();
        workspace.run_with_env([("MY_KEY", "sk-very-secret")], &arguments)
    };
    let ended = run(&[]).expect_code(2);
    assert!(ended.stderr.contains("the backend `model` refuses every request"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--run-id r --resume"), "{}", ended.stderr);
    assert!(!ended.transcript().contains("sk-very-secret"), "{}", ended.transcript());
    assert!(workspace.samples("r").iter().all(|sample| sample["outcome"] == "scored"));
    let manifest = workspace.json("r", "manifest.json");
    assert_eq!(manifest["status"], "interrupted");
    assert!(!manifest.to_string().contains("sk-very-secret"), "{manifest}");
    assert!(server.requests() < 200, "{} requests", server.requests());
    is_allowed.store(true, Ordering::SeqCst);
    run(&["--resume"]).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 200);
}

#[cfg(unix)]
#[test]
fn interrupt_does_not_wait_for_retries() {
    let (sender, refused) = mpsc::channel();
    let sender = Mutex::new(sender);
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let server = Server::start(move |request| {
        let number = question_number(request);
        if number < 5 || well.load(Ordering::SeqCst) {
            return completion(&format!("answer {number}"));
        }
        let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(());
        ResponseTemplate::new(503)
    });
    let backend = server.backend(", retry_base: 3000, retry_limit: 3000");
    let workspace = workspace(30, &suite(&backend, "[exact_match]"));
    let run = ["run", "suite.yaml", "--run-id", "r", "--concurrency", "4"];
    let child = workspace.start(&run);
    for _ in 0..4 {
        refused.recv_timeout(Duration::from_secs(60)).expect("the server was asked");
    }
    // The next attempts are an hour away.
    let ended = CommandOutput::interrupt(child).expect_code(130);
    assert!(ended.stderr.contains("--run-id r --resume"), "{}", ended.stderr);
    let samples = workspace.samples("r");
    assert_eq!(samples.len(), 5);
    assert!(samples.iter().all(|sample| sample["outcome"] == "scored"));
    is_well.store(true, Ordering::SeqCst);
    workspace.run(&[&run[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 30);
}

/// Protocols lack some parameters, rename some, and always send some.
#[test]
fn parameters_that_a_protocol_lacks_are_not_recorded_as_sent() {
    const ALL: &str = "{max_new_tokens: 8, temperature: 0.5, top_p: 0.9, top_k: 7, min_p: 0.1, seed: 2, stop: [x], \
                       presence_penalty: 0.25, frequency_penalty: 0.75, repetition_penalty: 1.5}";
    let own_names = |name: &str| {
        let name = match name {
            "max_tokens" | "max_completion_tokens" | "maxOutputTokens" => "max_new_tokens",
            "stop_sequences" | "stopSequences" => "stop",
            "topP" => "top_p",
            "topK" => "top_k",
            "presencePenalty" => "presence_penalty",
            "frequencyPenalty" => "frequency_penalty",
            "do_sample" => "temperature",
            other => other,
        };
        gage_core::SamplingParams::NAMES.contains(&name).then(|| name.to_owned())
    };
    for (kind, extra, params) in [
        ("openai_http", ", omit_params: [top_p, seed]", ALL),
        ("openai_http", ", max_tokens_name: max_completion_tokens", ALL),
        ("openai_http", ", omit_params: [temperature]", "{}"),
        ("openai_http", "", "{}"),
        ("anthropic_http", "", ALL),
        ("anthropic_http", "", "{}"),
        ("anthropic_http", ", extra_body: {thinking: {type: enabled}}", "{}"),
        ("gemini_http", "", ALL),
        ("gemini_http", "", "{}"),
        ("tgi", "", ALL),
        ("tgi", "", "{}"),
        ("tgi", "", "{temperature: 1, top_p: 1, top_k: 0}"),
    ] {
        let server = Server::start(|_| ResponseTemplate::new(404));
        let uri = server.server.uri();
        let backend =
            format!("type: {kind}\n    config: {{base_url: '{uri}/v1', model: m, max_retries: 0{extra}}}");
        let text = suite(&backend, "[exact_match]")
            .replace("backend_id: model}", &format!("backend_id: model, sampling_params: {params}}}"));
        let workspace = workspace(1, &text);
        workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
        let recorded = workspace.json("r", "summary.json")["tasks"][0]["sampling_params"].clone();
        let recorded: BTreeSet<String> =
            recorded.as_object().into_iter().flat_map(Object::keys).cloned().collect();
        let bodies = server.bodies();
        let body = bodies.first().expect("a request");
        let settings = ["generationConfig", "parameters"].iter().find_map(|key| body.get(key));
        let settings = settings.unwrap_or(body).as_object().expect("an object");
        let sent: BTreeSet<String> = settings.keys().filter_map(|name| own_names(name)).collect();
        assert_eq!(recorded, sent, "{kind}{extra} {params}: {body}");
    }
}

#[test]
fn sent_sampling_parameters_are_recorded() {
    let server = Server::start(|_| completion("answer 0"));
    let backend = server.backend(", default_params: {temperature: 0.5, top_p: 0.9, seed: 1}");
    let text = suite(&backend, "[exact_match]")
        .replace(
            "backend_id: model}",
            "backend_id: model, prompt_id: ask, sampling_params: {seed: 2, max_new_tokens: 8}}",
        )
        .replace(
            "metrics:",
            "prompts: [{prompt_id: ask, template: '{{ sample.messages[0].content[0].text }}'}]\nmetrics:",
        )
        + "tasks: [{task_id: t, dataset_id: rows, sampling_params: {seed: 3}}]\n";
    let workspace = workspace(1, &text);
    let own = json!({"id": "q1", "answer": "a", "sampling_params": {"seed": 4}, "messages": [{"role": "user", "content": "hi"}]});
    let own = format!("{own}\n");
    workspace.write("rows.jsonl", rows(1) + &own);
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "1"]).expect_code(0);
    let task = workspace.json("r", "summary.json")["tasks"][0].clone();
    let usual = json!({"max_new_tokens": 8, "temperature": 0.5, "top_p": 0.9, "seed": 3});
    assert_eq!(task["sampling_params"], usual);
    assert_eq!(task["prompts"][0]["prompt_id"], "ask");
    assert!(task["prompts"][0]["digest"].as_str().is_some_and(|digest| digest.len() > 16), "{task}");
    let samples = workspace.samples("r");
    assert_eq!(samples[0]["model_output"]["sampling_params"], Value::Null);
    let own = json!({"max_new_tokens": 8, "temperature": 0.5, "top_p": 0.9, "seed": 4});
    assert_eq!(samples[1]["model_output"]["sampling_params"], own);
    let bodies = server.bodies();
    let mut seeds: Vec<Option<u64>> = bodies.iter().map(|body| body["seed"].as_u64()).collect();
    // The requests may be sent in any order.
    seeds.sort_unstable();
    assert_eq!(seeds, [Some(3), Some(4)]);
    assert!(bodies.iter().all(|body| body["max_tokens"] == 8 && body["top_p"] == 0.9));
}

#[test]
fn slice_and_cluster_paths_without_values_give_warnings() {
    let server = Server::answering();
    let text = suite(&server.backend(""), "[exact_match]")
        + "tasks: [{task_id: t, dataset_id: rows, slices: [id, metadata.subjct], cluster_by: metadata.txt}]\n";
    let workspace = workspace(3, &text);
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    for expected in
        ["t: no sample has a value at `metadata.subjct` (slices)", "at `metadata.txt` (cluster_by)"]
    {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
    assert_eq!(ended.stderr.matches("no sample has a value").count(), 2, "{}", ended.stderr);
}

#[test]
fn every_sample_within_the_limits_is_sent_at_once() {
    // More than the answers that may wait for their batch.
    const ALL: usize = 700;
    let server = BarrierServer::start(ALL);
    let backend = format!(
        "type: openai_http\n    config: {{base_url: 'http://{}/v1', model: m, max_concurrency: {ALL}, adaptive_concurrency: false, max_retries: 0}}",
        server.address
    );
    let workspace = workspace(ALL, &suite(&backend, "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "700"]).expect_code(0);
    assert_eq!((server.max_in_flight(), workspace.samples("r").len()), (ALL, ALL));
}
