//! `openai_http` against a real server on loopback.

#[cfg(unix)]
use crate::support::send_signal;
use crate::support::{Workspace, rows, suite};
use serde_json::{Value, json};
#[cfg(unix)]
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wiremock::matchers::{any, method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// Returns a reply of the chat completions API.
pub(crate) fn completion(answer: &str) -> ResponseTemplate {
    completion_with_reason(answer, "stop")
}

/// Returns a [`completion`] with a finish reason.
pub(crate) fn completion_with_reason(answer: &str, reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": answer}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }))
}

/// Returns the number at the end of the question of a request: `question 17`.
pub(crate) fn question_number(request: &Request) -> usize {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let question = body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    question.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

/// Responds with a function.
struct FnResponder<F>(F);

impl<F: Fn(&Request) -> ResponseTemplate + Send + Sync> Respond for FnResponder<F> {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        (self.0)(request)
    }
}

/// A server that responds with a function, on its own runtime.
pub(crate) struct Server {
    /// Runs the server for as long as it lives.
    runtime: tokio::runtime::Runtime,
    pub(crate) server: MockServer,
}

impl Server {
    pub(crate) fn start(respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> Server {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            let mock = Mock::given(method("POST"))
                .and(path("/v1/chat/completions"))
                .respond_with(FnResponder(respond));
            mock.mount(&server).await;
            server
        });
        Server { runtime, server }
    }

    /// Starts a server that answers `answer 7` to `question 7`.
    pub(crate) fn answering() -> Server {
        Server::start(|request| completion(&format!("answer {}", question_number(request))))
    }

    /// Returns the number of requests received.
    pub(crate) fn requests(&self) -> usize {
        let received = self.runtime.block_on(self.server.received_requests());
        received.map_or(0, |requests| requests.len())
    }

    /// Returns the bodies of all requests received, at any path.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let received = self.runtime.block_on(self.server.received_requests()).unwrap_or_default();
        received.iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect()
    }

    /// Returns the values of a header of all requests received.
    pub(crate) fn headers(&self, name: &str) -> Vec<String> {
        let received = self.runtime.block_on(self.server.received_requests()).unwrap_or_default();
        let value = |request: &Request| Some(request.headers.get(name)?.to_str().ok()?.to_owned());
        received.iter().filter_map(value).collect()
    }

    /// Responds to requests at another path as well.
    pub(crate) fn respond_at(
        &self,
        at: &str,
        respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) {
        let mock = Mock::given(method("POST")).and(path(at)).respond_with(FnResponder(respond));
        self.runtime.block_on(mock.mount(&self.server));
    }

    /// Responds to all other requests, whatever their method.
    pub(crate) fn respond_to_all(
        &self,
        respond: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) {
        let mock = Mock::given(any()).respond_with(FnResponder(respond));
        self.runtime.block_on(mock.mount(&self.server));
    }

    /// Returns the backend of a suite that sends requests to this server, with further keys.
    pub(crate) fn backend(&self, extra: &str) -> String {
        format!("type: openai_http\n    config: {{base_url: '{}/v1', model: m{extra}}}", self.server.uri())
    }
}

#[test]
fn two_thousand_samples_run_with_sixty_four_in_flight() {
    let inflight = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&inflight);
    let server = Server::start(move |request| {
        seen.fetch_add(1, Ordering::SeqCst);
        completion(&format!("answer {}", question_number(request)))
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2_000));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match, latency]"));
    let ended = workspace
        .run(&["run", "suite.yaml", "--concurrency", "64", "--run-id", "r", "--json"])
        .expect_code(0);
    let report = ended.stdout_json();
    assert_eq!(report["summary"]["samples"]["total"], 2_000);
    assert_eq!(report["summary"]["metrics"][0]["value"], 1.0);
    assert_eq!(inflight.load(Ordering::SeqCst), 2_000);
    let samples = workspace.samples("r");
    assert!(
        samples
            .iter()
            .enumerate()
            .all(|(number, sample)| sample["index"] == number && sample["sample_id"] == format!("q{number}"))
    );
}

#[test]
fn request_that_waits_for_a_retry_delays_no_other() {
    let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let server = Server::start(move |request| {
        let number = question_number(request);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = number == 0 && !seen.contains(&0);
        seen.push(number);
        match number {
            0 if is_first => ResponseTemplate::new(429).insert_header("retry-after", "2"),
            number => completion(&format!("answer {number}")),
        }
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--concurrency", "1", "--run-id", "r"]).expect_code(0);
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let refused = asked.iter().position(|number| *number == 0).expect("it was asked");
    assert_eq!(asked.len(), 41, "{asked:?}");
    assert!(asked.get(refused + 1).is_some_and(|next| *next != 0), "{asked:?}");
    assert_eq!(workspace.samples("r").len(), 40);
}

#[test]
fn request_holds_the_settings_of_the_suite() {
    type SeenRequests = Vec<(Value, Option<String>)>;
    let bodies: Arc<Mutex<SeenRequests>> = Arc::default();
    let seen = Arc::clone(&bodies);
    let server = Server::start(move |request| {
        let key =
            request.headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = serde_json::from_slice(&request.body).expect("JSON");
        seen.lock().unwrap_or_else(PoisonError::into_inner).push((body, key));
        completion("answer 0")
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", "{\"id\":\"q0\",\"question\":\"question 0\",\"answer\":\"answer 0\"}\n");
    let backend = server.backend(", api_key: '${SECRET_KEY}', default_params: {temperature: 0.5, seed: 7, max_new_tokens: 9}, extra_body: {user: me}");
    let text = suite(&backend, "[exact_match]")
        .replace("backend_id: model}", "backend_id: model, sampling_params: {seed: 0, stop: \"\\n\"}}");
    workspace.write("suite.yaml", text);
    workspace
        .run_with_env([("SECRET_KEY", "sk-very-secret")], &["run", "suite.yaml", "--run-id", "r"])
        .expect_code(0);
    let bodies = bodies.lock().unwrap_or_else(PoisonError::into_inner);
    let (body, key) = &bodies[0];
    assert_eq!(key.as_deref(), Some("Bearer sk-very-secret"));
    let expected = json!({
        "model": "m", "messages": [{"role": "user", "content": "question 0"}], "max_tokens": 9,
        "temperature": 0.5, "seed": 0, "stop": ["\n"], "user": "me",
    });
    assert_eq!(*body, expected);
    for file in ["manifest.json", "config.yaml", "events.jsonl", "samples.jsonl", "journal/000001.jsonl"] {
        let text = workspace.read(&format!("runs/r/{file}"));
        assert!(!text.contains("sk-very-secret"), "the key is in {file}");
    }
    assert!(workspace.read("runs/r/config.yaml").contains("${SECRET_KEY}"));
}

#[test]
fn failures_are_retried_then_counted_but_never_scored() {
    let tries: Arc<Mutex<std::collections::HashMap<usize, usize>>> = Arc::default();
    let server = Server::start(move |request| {
        let number = question_number(request);
        let mut tries = tries.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = tries.entry(number).or_insert(0);
        *attempt += 1;
        match (number, *attempt) {
            (1, 1) => ResponseTemplate::new(500).set_body_string("boom"),
            (2, 1) => ResponseTemplate::new(429).insert_header("retry-after", "0"),
            (3, 1) => ResponseTemplate::new(200).set_body_string("<html>nonsense"),
            (4, _) => ResponseTemplate::new(503).set_body_json(json!({"error": {"message": "overloaded"}})),
            (5, _) => ResponseTemplate::new(400).set_body_json(json!({"error": {"message": "too long"}})),
            (6, _) => ResponseTemplate::new(200).set_body_string("{}"),
            (7, _) => completion("answer 7").set_delay(Duration::from_secs(3_600)),
            _ => completion(&format!("answer {number}")),
        }
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(10));
    let backend = server
        .backend(", max_retries: 2, retry_base: 0.001, retry_limit: 0.01, timeout: 1, outage_limit: 0.5");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    assert!(ended.stderr.contains("6 of 10 samples were scored"), "{}", ended.stderr);
    let summary = workspace.json("r", "summary.json");
    let figure = &summary["metrics"][0];
    assert_eq!((&figure["value"], &figure["n"], &figure["total"]), (&json!(1.0), &json!(6), &json!(10)));
    let found: Vec<(String, String)> = workspace
        .samples("r")
        .iter()
        .filter(|sample| sample["outcome"] != "scored")
        .map(|sample| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                text(&sample["sample_id"]),
                format!("{} {}", text(&sample["outcome"]), text(&sample["error"]["kind"])),
            )
        })
        .collect();
    let expected = [
        ("q4", "backend_error server"),
        ("q5", "backend_error rejected"),
        ("q6", "backend_error protocol"),
        ("q7", "backend_error timeout"),
    ];
    assert_eq!(found, expected.map(|(id, end)| (id.to_owned(), end.to_owned())));
    assert_eq!(workspace.json("r", "manifest.json")["status"], "incomplete");

    // The figure is that of a run without the failures; a resumed run repeats them.
    let again = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--resume"]).expect_code(4);
    assert!(again.stderr.contains("6 of 10"), "{}", again.stderr);
}

/// A server that is away for longer than `outage_limit` ends the run with the code of "try later". Nothing is recorded as
/// failed, so a resume has all figures.
#[test]
fn server_that_is_away_for_too_long_interrupts_the_run() {
    let is_up = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let is_up = Arc::clone(&is_up);
        move |request| match is_up.load(Ordering::SeqCst) {
            true => completion(&format!("answer {}", question_number(request))),
            false => ResponseTemplate::new(502).set_body_string("<html>bad gateway</html>"),
        }
    });
    let port = unused_port();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    for (run_id, uri, cause) in [
        ("refused", format!("http://127.0.0.1:{port}"), "connection refused"),
        ("unresolved", "http://no-such-host.invalid".to_owned(), "no such host"),
        ("gateway", server.server.uri(), "status 502"),
    ] {
        let backend = format!(
            "type: openai_http\n    config: {{base_url: '{uri}/v1', model: m, proxy: none, retry_base: 0.01, outage_limit: 1.5}}"
        );
        workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
        let ended =
            workspace.run(&["run", "suite.yaml", "--run-id", run_id, "--progress", "json"]).expect_code(5);
        let expected = [&format!("({cause})"), "--resume", r#""state":"away""#];
        assert!(expected.iter().all(|part| ended.stderr.contains(*part)), "{}", ended.stderr);
        assert_eq!(workspace.json(run_id, "manifest.json")["status"], "interrupted");
        assert_eq!(workspace.samples(run_id).len(), 0, "nothing is recorded as failed");
    }
    is_up.store(true, Ordering::SeqCst);
    workspace.run(&["run", "suite.yaml", "--run-id", "gateway", "--resume"]).expect_code(0);
    assert_eq!(workspace.json("gateway", "summary.json")["samples"]["outcomes"]["scored"], 40);
}

/// A user who stops a run during an outage finds the reason again.
#[cfg(unix)]
#[test]
fn run_stopped_during_an_outage_keeps_its_reason() {
    let port = unused_port();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let backend = format!(
        "type: openai_http\n    config: {{base_url: 'http://127.0.0.1:{port}/v1', model: m, proxy: none, retry_base: 0.01, outage_limit: 600}}"
    );
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let mut child = workspace.start(&["run", "suite.yaml", "--run-id", "r", "--progress", "json"]);
    let mut stderr = BufReader::new(child.stderr.take().expect("a stream"));
    let mut printed = String::new();
    while !printed.contains(r#""state":"away""#) {
        assert!(stderr.read_line(&mut printed).expect("a line") > 0, "{printed}");
    }
    send_signal(&child, "INT");
    stderr.read_to_string(&mut printed).expect("text");
    gage_recorded_messages::record_output(&printed);
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{printed}");
    let reason = format!("server away: http://127.0.0.1:{port}: connection refused");
    assert!(printed.contains(&format!("interrupted ({reason})\nnext: ")), "{printed}");
    assert_eq!(workspace.json("r", "manifest.json")["ended_by"], reason);
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    assert!(listed.stderr.contains(&format!("note: r is interrupted: {reason}\n")), "{}", listed.stderr);
    let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
    let unbroken = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unbroken.contains(&format!("status interrupted reason {reason}")), "{}", shown.stdout);
}

/// Returns a port that was free a moment ago, and at which nothing listens.
fn unused_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("an address").port()
}

/// An outage that ends in time costs no sample, whatever the server's answers were.
#[test]
fn outage_that_ends_in_time_costs_no_sample() {
    for (concurrency, failures) in [("1", 10), ("64", 70)] {
        for status in [500, 502, 503, 504] {
            let came = Arc::new(AtomicUsize::new(0));
            let server = Server::start({
                let came = Arc::clone(&came);
                move |request| match came.fetch_add(1, Ordering::SeqCst) {
                    // More failures than the samples in flight have attempts.
                    number if (100..100 + failures).contains(&number) => {
                        ResponseTemplate::new(status).set_body_string("boom")
                    }
                    _ => completion(&format!("answer {}", question_number(request))),
                }
            });
            let workspace = Workspace::new();
            workspace.write("rows.jsonl", rows(200));
            let backend = server.backend(", retry_base: 0.001, max_retries: 3, outage_limit: 600");
            workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
            let ended = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", concurrency]);
            ended.expect_code(0);
            let summary = workspace.json("r", "summary.json");
            assert_eq!(summary["samples"]["outcomes"]["scored"], 200, "{status}, {concurrency} at once");
        }
    }
}

/// A server that will answer nothing is found out by the first 64 samples.
#[test]
fn server_that_refuses_everything_ends_the_run_early() {
    for (reply, part) in [
        (
            ResponseTemplate::new(404).set_body_json(json!({"error": {"message": "no such model"}})),
            "no such model",
        ),
        (ResponseTemplate::new(200).set_body_string("<html>hello</html>"), "a page in HTML"),
        (ResponseTemplate::new(307).insert_header("location", "/elsewhere"), "redirects to /elsewhere"),
    ] {
        let server = Server::start(move |_| reply.clone());
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(1000));
        let backend = server.backend(", retry_base: 0.001, max_retries: 1");
        workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
        let ended =
            workspace.run(&["run", "suite.yaml", "--run-id", "r", "--concurrency", "8"]).expect_code(2);
        let expected = ["refuses every request: none of 64 requests was answered", part, "--resume"];
        assert!(expected.iter().all(|part| ended.stderr.contains(*part)), "{}", ended.stderr);
        assert!(!ended.stderr.contains("check the key"), "the key is not the cause: {}", ended.stderr);
        let failed = workspace.samples("r").len();
        assert!(failed < 64 + 8);
        let recorded = format!("{failed} samples are recorded as `backend_error`");
        assert!(ended.stderr.contains(&recorded), "{}", ended.stderr);
    }
}

#[test]
fn replies_of_a_server_are_not_trusted() {
    let server = Server::start(|request| {
        let key =
            request.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let reply = |content: &str| {
            json!({
                "choices": [{"finish_reason": "stop", "message": {"content": content}}],
                "usage": {"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX},
            })
        };
        match question_number(request) {
            0 => ResponseTemplate::new(400)
                .set_body_json(json!({"error": {"message": format!("bad key {key}")}})),
            1 => ResponseTemplate::new(200).set_body_json(reply(&format!("your key is {key}"))),
            2 => ResponseTemplate::new(200).set_body_json(reply("\u{1b}[31mred\u{202e}")),
            3 => ResponseTemplate::new(200).set_body_string("[".repeat(100) + &"]".repeat(100)),
            4 => ResponseTemplate::new(200).set_body_bytes(vec![b' '; 9 << 20]),
            _ => ResponseTemplate::new(200).set_body_json(reply("answer 5")),
        }
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(6));
    let backend = server.backend(", api_key: '${MY_KEY}', max_retries: 0, headers: {X-Other: '${MY_KEY}'}");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let key = [("MY_KEY", "sk-very-secret")];
    let ended = workspace.run_with_env(key, &["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let ends: Vec<Value> = workspace.samples("r").iter().map(|sample| sample["outcome"].clone()).collect();
    let failed = "backend_error";
    assert_eq!(ends, [failed, "scored", "scored", failed, failed, "scored"]);
    assert!(
        !ended.transcript().contains('\u{1b}') && !ended.transcript().contains("sk-very-secret"),
        "{}",
        ended.transcript()
    );
    for file in ["manifest.json", "config.yaml", "events.jsonl", "samples.jsonl", "journal/000001.jsonl"] {
        assert!(
            !workspace.read(&format!("runs/r/{file}")).contains("sk-very-secret"),
            "the key is in {file}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_log_loses_no_sample() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(200));
    let metrics = "[{exact_match: {label_field: sample.nothing, on_missing_field: warn}}]";
    workspace.write("suite.yaml", suite(&server.backend(""), metrics));
    let full = std::fs::File::create("/dev/full").expect("a full disk");
    let status = workspace
        .program()
        .args(["run", "suite.yaml", "--run-id", "r"])
        .stderr(full)
        .stdout(std::process::Stdio::null())
        .status();
    assert_eq!(status.expect("the program runs").code(), Some(4));
    assert_eq!(workspace.samples("r").len(), 200);
}
