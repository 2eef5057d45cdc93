//! HTTP backends of the built program: random faults, recordings, and keys that stay hidden.

use crate::files::texts_below;
use crate::support::{Workspace, rows, suite};
use gage_load_server::{Answer, FaultInjector, FaultShares, LoadServer, Reply, completion, last_message};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Mutex;

const KEY: &str = "sk-0123456789abcdef";

/// `answer 7` to `question 7`.
fn correct_answer(request: &gage_load_server::Request) -> Reply {
    completion(&last_message(request).replace("question", "answer"))
}

fn backend(server: &LoadServer, extra: &str) -> String {
    format!("type: openai_http\n    config: {{base_url: '{}/v1', model: m{extra}}}", server.url())
}

#[test]
fn no_sample_is_lost_or_repeated_under_random_faults() {
    const SAMPLES: usize = 400;
    let faults = FaultInjector::new(FaultShares::DEFAULT, 7, 20);
    let server = LoadServer::start(move |request| {
        faults.fault(request).unwrap_or_else(|| correct_answer(request).into())
    });
    let server = server.expect("a server");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(SAMPLES));
    let keys = ", max_retries: 12, retry_base: 0.01, timeout: 0.5";
    workspace.write("suite.yaml", suite(&backend(&server, keys), "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "64"]).expect_code(0);
    let samples = workspace.samples("r");
    let ids: HashSet<&str> = samples.iter().filter_map(|sample| sample["sample_id"].as_str()).collect();
    assert_eq!((samples.len(), ids.len()), (SAMPLES, SAMPLES), "{}", ended.stderr);
    for sample in &samples {
        let is_typed = sample["outcome"] == "backend_error" && sample["error"]["kind"].is_string();
        assert!(sample["outcome"] == "scored" || is_typed, "{sample}");
    }
    let summary = workspace.json("r", "summary.json");
    let scored = summary["samples"]["outcomes"]["scored"].as_u64().unwrap_or(0);
    assert!(scored >= 399, "{summary}");
    assert_eq!(summary["metrics"][0]["value"], 1.0);
    assert!(server.requests() > 500, "{} requests", server.requests());
}

/// The options of a sample are requested at once and share its sample slot.
#[test]
fn options_of_a_sample_share_its_slot_while_they_wait() {
    let row = |number: usize| json!({"question": format!("q{number}?"), "choices": ["a", "bb", "ccc"], "answer": 0});
    for concurrency in ["1", "4"] {
        let seen = Mutex::new(HashSet::new());
        let server = LoadServer::start(move |request| {
            let prompt = request.json()["prompt"].as_str().unwrap_or_default().to_owned();
            if seen.lock().expect("no panic").insert(prompt.clone()) {
                return Reply::json(503, &json!({"error": {"message": "busy"}})).into();
            }
            let tokens: Vec<String> = prompt.chars().map(String::from).collect();
            let offsets: Vec<usize> = (0..tokens.len()).collect();
            let mut logprobs: Vec<Value> = tokens.iter().map(|_| json!(-0.5)).collect();
            logprobs[0] = Value::Null;
            let logprobs = json!({"tokens": tokens, "token_logprobs": logprobs, "text_offset": offsets});
            Reply::json(200, &json!({"choices": [{"index": 0, "text": prompt, "logprobs": logprobs}]})).into()
        });
        let server = server.expect("a server");
        let workspace = Workspace::new();
        workspace
            .write("rows.jsonl", (0..12).map(|number| row(number).to_string() + "\n").collect::<String>());
        let keys = ", loglikelihood: echo, max_retries: 5, retry_base: 0.01";
        let text = suite(&backend(&server, keys), "[multi_choice_accuracy]")
            .replace("{path: rows.jsonl}", "{path: rows.jsonl, preprocess: multi_choice}")
            .replace("step: inference", "step: inference, request: loglikelihood");
        workspace.write("suite.yaml", text);
        let arguments =
            ["run", "suite.yaml", "--run-id", "r", "--concurrency", concurrency, "--max-time", "120"];
        let ended = workspace.run(&arguments).expect_code(0);
        let samples = workspace.samples("r");
        let is_scored = |sample: &Value| sample["outcome"] == "scored";
        assert!(samples.len() == 12 && samples.iter().all(is_scored), "{}", ended.stderr);
        assert_eq!(server.requests(), 2 * 12 * 3);
    }
}

#[test]
fn recorded_run_is_replayed_and_never_holds_its_key() {
    let server = LoadServer::start(|request| {
        let key = request.header("authorization").unwrap_or_default().to_owned();
        match last_message(request).as_str() {
            "question 1" => Reply::json(400, &json!({"error": {"message": format!("no, {key}")}})).into(),
            "question 2" => completion(&key).into(),
            _ => Answer::from(correct_answer(request)),
        }
    });
    let server = server.expect("a server");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(5));
    let text = |address: &str| {
        let backend = format!(
            "type: openai_http\n    config: {{base_url: '{address}/v1', model: m, api_key_env: MY_KEY}}"
        );
        suite(&backend, "[exact_match]") + "  min_coverage: 0.5\n"
    };
    workspace.write("suite.yaml", text(&server.url()));
    let run = |arguments: &[&str], key: Option<&str>| {
        let arguments = [&["run", "suite.yaml", "--log", "debug", "--run-id"], arguments].concat();
        workspace.run_with_env(key.map(|key| ("MY_KEY", key)), &arguments)
    };
    let recorded = run(&["recorded", "--record", "tape.zst"], Some(KEY)).expect_code(0);
    drop(server);
    workspace.write("suite.yaml", text("http://127.0.0.1:9"));
    let played = run(&["played", "--replay", "tape.zst"], None).expect_code(0);
    let without_clocks = |run_id: &str| -> Vec<Value> {
        workspace
            .samples(run_id)
            .iter()
            .map(|sample| json!([sample["outcome"], sample["model_output"]]))
            .collect()
    };
    assert_eq!(without_clocks("recorded"), without_clocks("played"));
    for (name, text) in texts_below(&workspace.path("")) {
        assert!(!text.contains(KEY), "the key is in {name}");
    }
    for ended in [recorded, played] {
        assert!(!ended.transcript().contains(KEY), "{}", ended.transcript());
    }
    // A row that was added after the recording has no answer.
    workspace.write("rows.jsonl", rows(6));
    run(&["more", "--replay", "tape.zst"], None).expect_code(0);
    assert_eq!(workspace.samples("more")[5]["error"]["kind"], "not_recorded");
    let refused = run(&["none", "--replay", "nobody.zst"], None).expect_code(2);
    assert!(refused.stderr.contains("nobody.zst"), "{}", refused.stderr);
}

#[test]
fn error_in_a_backend_is_shown_with_its_line() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    workspace.write("key.txt", "two\nlines\n");
    for (name, config, code) in [
        ("port", "base_url: 'http://127.0.0.1:99999/v1', model: m", 2),
        ("no_concurrency", "model: m, max_concurrency: 0", 2),
        ("two_keys", "model: m, api_key_env: A, api_key_file: b", 2),
        ("secret_under_another_name", "model: m, openai_api_key: x", 2),
        ("proxy", "model: m, proxy: 'http://me:secret@proxy:3128'", 2),
        ("unknown_keys", "model: m, max_retires: 3, chat_template_kwargs: {enable_thinking: false}", 2),
        ("sampling_key", "model: m, temperature: 0.5, max_tokens: 0", 2),
        (
            "sampling_in_body",
            "model: m, top_p: 0.5, extra_body: {temperature: 0.5, max_completion_tokens: 3, generationConfig: {topK: 1}}",
            2,
        ),
        ("omitted_key", "model: m, omit_params: [temprature, top_p]", 2),
        ("unset_variable", "model: m, api_key_env: NOBODY_SET_THIS", 0),
    ] {
        workspace.write(
            "suite.yaml",
            suite(&format!("type: openai_http\n    config: {{{config}}}"), "[exact_match]"),
        );
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(code);
        insta::assert_snapshot!(format!("http_{name}"), ended.stderr);
    }
    // There is one error, and none about the role that names the backend.
    for (kind, config) in [
        ("openai_http", "base_url: 'http://127.0.0.1:0/v1', model: m"),
        ("openai_http", "base_url: 'ftp://127.0.0.1/v1', model: m"),
        ("openai_http", "base_url: 'http://127.0.0.1:9/v1', model: ''"),
        ("openai_htp", "base_url: 'http://127.0.0.1:9/v1', model: m"),
        ("openai_http", "base_url: 'http://127.0.0.1:9/v1', model: m, ca_certificate: /nope"),
    ] {
        workspace
            .write("suite.yaml", suite(&format!("type: {kind}\n    config: {{{config}}}"), "[exact_match]"));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        let is_alone = ended.stderr.trim_end().ends_with("\n1 error");
        assert!(is_alone && !ended.stderr.contains("there is no backend"), "{}", ended.stderr);
    }
    for config in [
        "model: m, api_key_env: NOBODY_SET_THIS",
        "model: m, api_key_file: key.txt",
        "model: m, api_key_file: nobody.txt",
        "model: m, ca_certificate: key.txt",
    ] {
        workspace.write(
            "suite.yaml",
            suite(&format!("type: openai_http\n    config: {{{config}}}"), "[exact_match]"),
        );
        let ended = workspace.run(&["run", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains("error") && ended.stderr.contains("suite.yaml:"), "{}", ended.stderr);
        assert!(!workspace.path("runs").exists(), "something was written");
    }
}
