//! Requests that are answered in bulk: written in the format of a provider, and answered from a file of its results.

use crate::server::{Server, completion};
use crate::support::{Workspace, judged_suite, rows, suite};
use serde_json::{Value, json};

/// Number of rows.
const ROWS: usize = 5;

const WRITE: [&str; 6] = ["run", "suite.yaml", "--requests-out", "requests.jsonl", "--run-id", "r"];
const TAKE: [&str; 6] = ["run", "suite.yaml", "--run-id", "r", "--responses", "results.jsonl"];

fn workspace(server: &Server) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    let prices = "pricing: [{backend_id: model, prompt: 1000, completion: 2000}]\n";
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]") + prices);
    workspace
}

fn lines(workspace: &Workspace, name: &str) -> Vec<Value> {
    workspace.read(name).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the result of a request, as the server would have answered it.
fn result_of(request: &Value) -> Value {
    let question = request["body"]["messages"][0]["content"].as_str().unwrap_or_default();
    let body = json!({
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": question.replace("question", "answer")}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    });
    json!({"id": "batch_req_1", "custom_id": request["custom_id"], "error": null,
           "response": {"status_code": 200, "request_id": "x", "body": body}})
}

fn write_results(workspace: &Workspace, name: &str, results: &[Value]) {
    let text: String = results.iter().map(|result| format!("{result}\n")).collect();
    workspace.write(name, text);
}

#[test]
fn batch_needs_no_key() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    let backend = server.backend(", api_key_env: NO_SUCH_KEY");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let written = workspace.run(&WRITE).expect_code(0);
    let results: Vec<Value> = lines(&workspace, "requests.jsonl").iter().map(result_of).collect();
    write_results(&workspace, "results.jsonl", &results);
    let taken = workspace.run(&TAKE).expect_code(0);
    for ended in [written, taken] {
        assert!(!ended.stderr.contains("NO_SUCH_KEY"), "{}", ended.stderr);
    }
    let live = workspace.run(&["run", "suite.yaml"]).expect_code(2);
    assert!(live.stderr.contains("the environment variable NO_SUCH_KEY is not set"), "{}", live.stderr);
}

#[test]
fn results_of_a_batch_are_the_answers_of_the_run() {
    let server = Server::answering();
    let workspace = workspace(&server);
    let written = workspace.run(&WRITE).expect_code(0);
    assert!(written.stderr.contains("requests: 5 requests written to requests.jsonl"), "{}", written.stderr);
    let next = "next: gage-host run suite.yaml --responses results.jsonl --run-id r --resume";
    assert!(written.stderr.contains(next), "{}", written.stderr);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "interrupted");

    let requests = lines(&workspace, "requests.jsonl");
    assert_eq!(requests.len(), ROWS);
    for (row, request) in requests.iter().enumerate() {
        let id = request["custom_id"].as_str().expect("a name");
        assert!(id.starts_with(&format!("rows-{row}-0-")), "{id}");
        assert_eq!((&request["method"], &request["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
        assert_eq!(request["body"]["model"], "m");
    }
    // Results come in any order.
    let results: Vec<Value> = requests.iter().rev().map(result_of).collect();
    write_results(&workspace, "results.jsonl", &results);
    let taken = workspace.run(&TAKE).expect_code(0);
    assert!(taken.stderr.contains("responses: 5 results taken"), "{}", taken.stderr);
    assert!(taken.stderr.contains("cost: 0.0350"), "{}", taken.stderr);
    // No call was made, so none was timed.
    let printed = format!("{}{}", taken.stdout, taken.stderr);
    assert!(printed.contains("samples/s") || printed.contains("in all"), "{printed}");
    assert!(!printed.contains("model calls p50") && !printed.contains("tokens/s"), "{printed}");
    let timings = workspace.json("r", "timings.json");
    assert_eq!((&timings["latency"], &timings["tasks"][0]["model_calls"]), (&Value::Null, &json!(ROWS)));
    assert_eq!(server.requests(), 0);

    workspace.run(&["run", "suite.yaml", "--run-id", "live"]).expect_code(0);
    assert_eq!(server.requests(), ROWS);
    workspace.assert_equal_files("r", "live", &["samples.jsonl"]);
    // The request in the file is the request that is sent.
    let mut sent = server.bodies();
    sent.sort_by_key(ToString::to_string);
    let mut bodies: Vec<Value> = requests.iter().map(|request| request["body"].clone()).collect();
    bodies.sort_by_key(ToString::to_string);
    assert_eq!(sent, bodies);
}

#[test]
fn requests_replace_no_rows_and_no_results() {
    let server = Server::answering();
    let workspace = workspace(&server);
    workspace.run(&WRITE).expect_code(0);
    let results: Vec<Value> = lines(&workspace, "requests.jsonl").iter().map(result_of).collect();
    write_results(&workspace, "results.jsonl", &results);
    for name in ["rows.jsonl", "results.jsonl", "suite.yaml"] {
        let before = workspace.read(name);
        let refused = workspace.run(&["run", "suite.yaml", "--requests-out", name]).expect_code(2);
        let reason = format!("{name}: it exists and holds something else than requests");
        assert!(refused.stderr.contains(&reason), "{}", refused.stderr);
        assert_eq!(workspace.read(name), before);
    }
    // Requests that were written before are replaced.
    workspace.run(&["run", "suite.yaml", "--requests-out", "requests.jsonl"]).expect_code(0);
    assert_eq!(lines(&workspace, "requests.jsonl").len(), ROWS);
}

#[test]
fn failed_missing_and_changed_results_stay_open() {
    let server = Server::answering();
    let workspace = workspace(&server);
    workspace.run(&WRITE).expect_code(0);
    let requests = lines(&workspace, "requests.jsonl");
    let mut results: Vec<Value> = requests.iter().take(4).map(result_of).collect();
    results[1] = json!({"custom_id": requests[1]["custom_id"], "response": null,
                        "error": {"code": "batch_expired", "message": "too late"}});
    results[2]["response"] = json!({"status_code": 500, "body": {"error": {"message": "boom"}}});
    results[3]["custom_id"] = json!("rows-3-0-0123456789abcdef");
    results.push(json!({"custom_id": "other-9", "error": {"message": "foreign"}}));
    write_results(&workspace, "results.jsonl", &results);
    let taken = workspace.run(&TAKE).expect_code(4);
    for part in [
        "responses: 1 result taken",
        "2 results with an error (first: rows-",
        "1 result of another request than the suite would send now (first: rows-3-0-",
        "1 request without a result",
        "1 result of no open request",
        "next: gage-host run suite.yaml --requests-out open-requests.jsonl --run-id r --resume",
    ] {
        assert!(taken.stderr.contains(part), "{part}\n{}", taken.stderr);
    }
    assert_eq!(workspace.samples("r").len(), 1);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "interrupted");

    // The next file holds only what is open; what a live run asks is the rest.
    let again = ["run", "suite.yaml", "--run-id", "r", "--resume", "--requests-out", "again.jsonl"];
    workspace.run(&again).expect_code(0);
    let open = lines(&workspace, "again.jsonl");
    let ids =
        |lines: &[Value]| -> Vec<Value> { lines.iter().map(|line| line["custom_id"].clone()).collect() };
    assert_eq!(ids(&open), ids(&requests)[1..]);
    assert_eq!(server.requests(), 0);
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--resume"]).expect_code(0);
    assert_eq!(server.requests(), 4);
    let nothing = workspace.run(&again).expect_code(0);
    assert!(nothing.stderr.contains("requests: there are none"), "{}", nothing.stderr);
}

#[test]
fn judges_are_asked_while_results_are_taken() {
    let server = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    let judge = server.backend("").replace("model: m", "model: grader");
    let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
    workspace.write("suite.yaml", judged_suite(&server.backend(""), &judge, "", "[judge_score]", steps, ""));
    workspace.run(&WRITE).expect_code(0);
    assert_eq!(server.requests(), 0);
    let results: Vec<Value> = lines(&workspace, "requests.jsonl").iter().map(result_of).collect();
    write_results(&workspace, "results.jsonl", &results);
    workspace.run(&TAKE).expect_code(0);
    assert!(server.bodies().iter().all(|body| body["model"] == "grader"), "{:?}", server.bodies());
    assert_eq!(server.requests(), ROWS);
}

#[test]
fn live_request_without_its_key_names_the_variable() {
    let server = Server::start(|_| completion("CORRECT: yes\nSCORE: 1"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    let model = server.backend(", api_key_env: GAGE_TEST_NO_KEY");
    let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
    let text = judged_suite(&model, &server.backend(""), "", "[judge_score]", steps, "");
    // The judge is asked live, at the backend whose other requests are a batch.
    workspace
        .write("suite.yaml", text.replace("backend_id: judges}\nmetrics", "backend_id: model}\nmetrics"));
    let written = workspace.run(&WRITE).expect_code(0);
    assert!(!written.stderr.contains("GAGE_TEST_NO_KEY"), "{}", written.stderr);
    let results: Vec<Value> = lines(&workspace, "requests.jsonl").iter().map(result_of).collect();
    write_results(&workspace, "results.jsonl", &results);
    let taken = workspace.run(&TAKE);
    assert_ne!(taken.code, Some(0));
    let warning = "warning: the environment variable GAGE_TEST_NO_KEY is not set";
    assert!(taken.stderr.contains(warning), "{}", taken.stderr);
    assert_eq!(server.requests(), 0);
}

#[test]
fn anthropic_has_a_format_of_its_own() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let url = server.server.uri();
    let backend =
        format!("type: anthropic_http\n    config: {{base_url: '{url}/v1', model: c, stream: true}}");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    workspace.run(&WRITE).expect_code(0);
    let requests = lines(&workspace, "requests.jsonl");
    let keys: Vec<&String> = requests[0].as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["custom_id", "params"]);
    // The result of a batch is never a stream.
    assert_eq!(
        (&requests[0]["params"]["model"], &requests[0]["params"]["stream"]),
        (&json!("c"), &Value::Null)
    );
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
                         "content": [{"type": "text", "text": "answer 0"}],
                         "usage": {"input_tokens": 3, "output_tokens": 2}});
    let result =
        json!({"custom_id": requests[0]["custom_id"], "result": {"type": "succeeded", "message": message}});
    write_results(&workspace, "results.jsonl", &[result]);
    workspace.run(&TAKE).expect_code(0);
    assert_eq!(workspace.samples("r")[0]["model_output"]["usage"]["prompt_tokens"], 3);
}

#[test]
fn suites_and_files_that_do_not_fit_are_refused() {
    let server = Server::answering();
    let workspace = workspace(&server);
    let text = workspace.read("suite.yaml");
    for (from, to, part) in [
        ("type: openai_http", "type: gemini_http", "has no batch format"),
        (
            "{step: inference}",
            "{step: inference, tools: {adapter_id: tools}}",
            "`tools`: each request after the first",
        ),
    ] {
        let roles =
            "role_adapters:\n  - {adapter_id: tools, role_type: tool_provider, adapter: tool_table}\n";
        let changed = text.replace(from, to);
        let changed = if to.contains("tools") { changed.replace("role_adapters:\n", roles) } else { changed };
        workspace.write("suite.yaml", changed);
        let refused = workspace.run(&WRITE).expect_code(2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    workspace.write("suite.yaml", &text);
    workspace.run(&WRITE).expect_code(0);
    for (content, part) in [
        (workspace.read("requests.jsonl"), "it is a request; give the file of results"),
        ("nothing\n".to_owned(), "results.jsonl, line 1: it is not the JSON of a result"),
    ] {
        workspace.write("results.jsonl", content);
        let refused = workspace.run(&TAKE).expect_code(2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let both = [&WRITE[..], &["--replay", "x"]].concat();
    assert!(workspace.run(&both).expect_code(2).stderr.contains("cannot be used with"));
    let none = ["run", "suite.yaml", "--run-id", "none", "--responses", "results.jsonl"];
    workspace.run(&none).expect_code(2);
    assert_eq!(server.requests(), 0);
}
