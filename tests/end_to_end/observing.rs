//! Events, metrics, traces, progress and logs of a run.

use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace, rows, suite};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wiremock::ResponseTemplate;

/// Creates a workspace with a suite, and its server, which rejects the third question.
fn workspace_with_failure(count: usize) -> (Workspace, Server) {
    let server = Server::start(|request| match question_number(request) {
        2 => ResponseTemplate::new(400).set_body_string("no"),
        number => completion(&format!("answer {number}")),
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(count));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    (workspace, server)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn events_of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[test]
fn failures_are_always_events_and_stages_only_if_enabled() {
    let (workspace, _server) = workspace_with_failure(10);
    workspace.run(&["run", "suite.yaml", "--run-id", "usual"]).expect_code(4);
    let usual = lines(&workspace.read("runs/usual/events.jsonl"));
    assert_eq!(events_of_kind(&usual, "sample_not_scored").len(), 1);
    assert!(
        events_of_kind(&usual, "sample_scored").is_empty()
            && events_of_kind(&usual, "inference_finished").is_empty()
    );

    let arguments =
        ["run", "suite.yaml", "--observability", "--event-sampling", "inference=0", "--run-id", "all"];
    workspace.run(&arguments).expect_code(4);
    let all = lines(&workspace.read("runs/all/events.jsonl"));
    let ids: Vec<u64> = all.iter().filter_map(|event| event["event_id"].as_u64()).collect();
    assert_eq!(ids, (0..all.len() as u64).collect::<Vec<_>>());
    assert_eq!(all.first().map(|event| &event["kind"]), Some(&json!("run_started")));
    assert_eq!(all.last().map(|event| &event["kind"]), Some(&json!("run_finished")));
    assert_eq!(events_of_kind(&all, "sample_scored").len(), 9);
    assert!(events_of_kind(&all, "inference_finished").is_empty());
    let failed = events_of_kind(&all, "sample_not_scored")[0];
    assert_eq!((&failed["sample_id"], &failed["level"]), (&json!("q2"), &json!("warn")));
    assert_eq!(failed["payload"]["outcome"], "backend_error");

    let timings = workspace.json("all", "timings.json");
    assert_eq!((&timings["prompt_tokens"], &timings["completion_tokens"]), (&json!(27), &json!(18)));
    assert!(
        timings["requests"].as_u64() >= Some(10) && timings["queue"]["p99_ms"].is_number(),
        "{timings:#}"
    );
    assert!(timings["throughput_completion_tokens_per_s"].is_number(), "{timings:#}");
    assert!(timings["stages"]["model_loading_total_s"].is_number(), "{timings:#}");
}

#[test]
fn server_receives_the_events_of_the_file() {
    let (workspace, server) = workspace_with_failure(30);
    let posted: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&posted);
    server.respond_at("/events", move |request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body["run_id"], "r");
        seen.lock().expect("a lock").extend(body["events"].as_array().expect("events").clone());
        ResponseTemplate::new(202)
    });
    let url = format!("{}/events", server.server.uri());
    let arguments = ["run", "suite.yaml", "--observability", "--run-id", "r", "--report-http-batch", "7"];
    workspace.run_with_env([("GAGE_EVAL_REPORT_HTTP_URL", url)], &arguments).expect_code(0);
    let file = lines(&workspace.read("runs/r/events.jsonl"));
    assert_eq!(*posted.lock().expect("a lock"), file);
    assert!(!workspace.path("runs/r/events-unsent.jsonl").exists());
}

#[test]
fn invalid_addresses_are_refused_before_anything_is_written() {
    let (workspace, _server) = workspace_with_failure(3);
    let cases = [
        ["--report-http-url", "ftp://user:hunter2@host/"],
        ["--otlp-endpoint", "collector"],
        ["--metrics-listen", "127.0.0.1:99999"],
        ["--event-sampling", "2"],
        ["--log-file", "no/such/folder/log"],
        ["--log", "a=b=c"],
    ];
    for [flag, value] in cases {
        let ended = workspace.run(&["run", "suite.yaml", flag, value]).expect_code(2);
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
        assert!(!workspace.path("runs").exists(), "{flag}");
    }
}

#[test]
fn counters_can_be_read_during_the_run() {
    let (address_sender, addresses) = std::sync::mpsc::channel::<String>();
    let addresses = Mutex::new(addresses);
    let read: Arc<Mutex<String>> = Arc::default();
    let seen = Arc::clone(&read);
    // The server answers the second question after the counters were read.
    let server = Server::start(move |request| {
        if question_number(request) == 1 {
            let address = addresses.lock().expect("a lock").recv_timeout(Duration::from_secs(120));
            let mut stream = TcpStream::connect(address.expect("an address")).expect("a connection");
            stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").expect("sent");
            stream.read_to_string(&mut seen.lock().expect("a lock")).expect("an answer");
        }
        completion(&format!("answer {}", question_number(request)))
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(3));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let mut command = workspace.program();
    command.args(["run", "suite.yaml", "--concurrency", "1", "--metrics-listen", "0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    for line in BufReader::new(child.stderr.take().expect("a stream")).lines() {
        let line = line.expect("text");
        if let Some(rest) = line.strip_prefix("counters are at http://") {
            let address = rest.trim_end_matches("/metrics").to_owned();
            address_sender.send(address).expect("somebody waits");
        }
    }
    assert!(child.wait().expect("it ends").success());
    let read = read.lock().expect("a lock");
    for line in ["gage_host_samples_planned{task_id=\"", "gage_host_requests_in_flight{task_id=\""] {
        assert!(read.contains(line), "{line} is not in\n{read}");
    }
    assert!(
        read.lines().any(|line| line.starts_with("gage_host_requests_in_flight") && line.ends_with("} 1"))
    );
}

/// Telemetry received by an OpenTelemetry collector.
#[derive(Default)]
struct ReceivedTelemetry {
    spans: Vec<Span>,
    metrics: Vec<Metric>,
    bytes: Vec<u8>,
}

impl ReceivedTelemetry {
    fn spans(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// Returns the last total of a counter, over the data points with this value of an attribute.
    fn count(&self, name: &str, key: &str, wanted: &str) -> i64 {
        let last = self.metrics.iter().rfind(|metric| metric.name == name);
        let Some(metric::Data::Sum(sum)) = last.and_then(|metric| metric.data.as_ref()) else {
            panic!("{name} is no counter among {:?}", self.metrics);
        };
        let counts = sum.data_points.iter().filter(|point| attribute_text(&point.attributes, key) == wanted);
        let value = |point: &NumberDataPoint| match point.value {
            Some(number_data_point::Value::AsInt(number)) => number,
            other => panic!("{other:?}"),
        };
        counts.map(value).sum()
    }
}

fn attribute_text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

#[test]
fn collector_receives_traces_and_metrics_of_a_run() {
    let (workspace, server) = workspace_with_failure(10);
    let collected: Arc<Mutex<ReceivedTelemetry>> = Arc::default();
    let (of_traces, of_metrics) = (Arc::clone(&collected), Arc::clone(&collected));
    server.respond_at("/v1/traces", move |request| {
        let body = ExportTraceServiceRequest::decode(request.body.as_slice()).expect("protobuf");
        let mut collected = of_traces.lock().expect("a lock");
        collected.bytes.extend_from_slice(&request.body);
        let scopes = body.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        collected.spans.extend(scopes.flat_map(|scope| scope.spans));
        ResponseTemplate::new(200)
    });
    server.respond_at("/v1/metrics", move |request| {
        let body = ExportMetricsServiceRequest::decode(request.body.as_slice()).expect("protobuf");
        let mut collected = of_metrics.lock().expect("a lock");
        collected.bytes.extend_from_slice(&request.body);
        let scopes = body.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        collected.metrics.extend(scopes.flat_map(|scope| scope.metrics));
        ResponseTemplate::new(200)
    });
    let endpoint = server.server.uri();
    workspace.run(&["run", "suite.yaml", "--run-id", "r", "--otlp-endpoint", &endpoint]).expect_code(4);

    let collected = collected.lock().expect("a lock");
    let (runs, tasks, samples) = (collected.spans("run"), collected.spans("task"), collected.spans("sample"));
    assert_eq!((runs.len(), tasks.len(), samples.len()), (1, 1, 10));
    assert_eq!(tasks[0].parent_span_id, runs[0].span_id);
    assert!(samples.iter().all(|sample| sample.links[0].span_id == tasks[0].span_id));
    assert_eq!((collected.spans("inference").len(), collected.spans("scoring").len()), (10, 9));
    let failed: Vec<&&Span> = samples
        .iter()
        .filter(|sample| sample.status.as_ref().is_some_and(|status| status.code == 2))
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(attribute_text(&failed[0].attributes, "error.type"), "rejected");
    let outcomes =
        ["scored", "backend_error"].map(|outcome| collected.count("gage.samples", "gage.outcome", outcome));
    assert_eq!(outcomes, [9, 1]);
    let text = String::from_utf8_lossy(&collected.bytes);
    assert!(!text.contains("question 1") && !text.contains("answer 1"), "no prompt and no answer");
}

#[test]
fn run_survives_a_collector_that_refuses() {
    let (workspace, server) = workspace_with_failure(10);
    let endpoint = server.server.uri();
    let ended =
        workspace.run(&["run", "suite.yaml", "--run-id", "r", "--otlp-endpoint", &endpoint]).expect_code(4);
    assert!(ended.stderr.contains("not everything reached the collector"), "{}", ended.stderr);
    assert_eq!(workspace.samples("r").len(), 10);
}

#[test]
fn json_progress_goes_to_stderr_only() {
    let (workspace, _server) = workspace_with_failure(10);
    let arguments = ["run", "suite.yaml", "--progress", "json", "--json", "--run-id", "r"];
    let ended = workspace.run(&arguments).expect_code(4);
    let _: Value = serde_json::from_str(&ended.stdout).expect("JSON and nothing else");
    let objects = ended.stderr.lines().filter(|line| line.starts_with('{')).collect::<Vec<_>>().join("\n");
    let objects = lines(&objects);
    let last = objects.last().expect("objects");
    assert_eq!(objects.first().map(|object| &object["event"]), Some(&json!("task_started")));
    assert_eq!(
        (&last["event"], &last["done"], &last["total"]),
        (&json!("task_finished"), &json!(10), &json!(10))
    );
    assert_eq!(last["score"]["scored"], 9);
    assert_eq!(last["failures"].as_object().map(serde_json::Map::len), Some(1));
    let quiet = workspace.run(&["run", "suite.yaml", "--progress", "json", "--quiet", "--run-id", "q"]);
    assert!(!quiet.stderr.contains("task_started"), "{}", quiet.stderr);
}

#[test]
fn logs_can_go_to_a_file() {
    let (workspace, _server) = workspace_with_failure(3);
    let arguments = ["run", "suite.yaml", "--log-file", "log", "--log-json", "--run-id", "r"];
    let variables = [("GAGE_EVAL_BUFFER_THRESHOLD", "10"), ("GAGE_HOST_OUTPUT_DIRS", "x")];
    let ended = workspace.run_with_env(variables, &arguments).expect_code(4);
    assert!(ended.stderr.contains("GAGE_EVAL_BUFFER_THRESHOLD is set and has no effect"), "{}", ended.stderr);
    let unknown = "GAGE_HOST_OUTPUT_DIRS is set and has no effect: no such variable is known, did you mean GAGE_HOST_OUTPUT_DIR?";
    assert!(ended.stderr.contains(unknown), "{}", ended.stderr);
    let logs = lines(&workspace.read("log"));
    assert!(logs.iter().any(|log| log["level"] == "WARN"), "{logs:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_of_the_logs_is_reported_once() {
    let (workspace, _server) = workspace_with_failure(3);
    let variables = [("GAGE_EVAL_BUFFER_THRESHOLD", "10"), ("GAGE_HOST_OUTPUT_DIRS", "x")];
    let arguments = ["run", "suite.yaml", "--log-file", "/dev/full", "--run-id", "r"];
    let ended = workspace.run_with_env(variables, &arguments).expect_code(4);
    let warning = "warning: cannot write logs to /dev/full: no space left on device; the file lacks lines";
    assert_eq!(ended.stderr.matches(warning).count(), 1, "{}", ended.stderr);
}

#[test]
fn gage_eval_variables_apply_unless_gage_host_ones_are_set() {
    let (workspace, _server) = workspace_with_failure(2);
    let run = |variables: &[(&str, &str)], run_id: &str| {
        workspace.run_with_env(variables.iter().copied(), &["run", "suite.yaml", "--run-id", run_id])
    };
    let earlier =
        [("GAGE_EVAL_MAX_SAMPLES", "1"), ("GAGE_EVAL_SAVE_DIR", "elsewhere"), ("GAGE_EVAL_SHUFFLE", "1")];
    run(&earlier, "a").expect_code(0);
    assert_eq!(lines(&workspace.read("elsewhere/a/samples.jsonl")).len(), 1);
    assert!(workspace.read("elsewhere/a/config.yaml").contains("shuffle: true"));
    run(&[("GAGE_EVAL_SAVE_DIR", "elsewhere"), ("GAGE_HOST_OUTPUT_DIR", "runs")], "b").expect_code(0);
    assert_eq!(workspace.samples("b").len(), 2);
    run(&[("GAGE_EVAL_INMEMORY_TRACE", "yes"), ("GAGE_EVAL_MAX_SAMPLES", "1")], "c").expect_code(0);
    assert!(!workspace.path("runs/c/events.jsonl").exists());
    // The suite has no `tasks`; the variables still apply to its only task.
    run(&[("GAGE_EVAL_MAX_INFLIGHT", "3"), ("GAGE_EVAL_PREFETCH_FACTOR", "4")], "d").expect_code(0);
    let config = workspace.read("runs/d/config.yaml");
    assert!(config.contains("max_inflight: 3") && config.contains("prefetch_factor: 4"), "{config}");
    for wrong in ["0", "abc"] {
        let ended = run(&[("GAGE_HOST_MAX_INFLIGHT", wrong)], "e").expect_code(2);
        assert!(ended.stderr.contains("max_inflight"), "{}", ended.stderr);
        assert!(ended.stderr.contains("GAGE_HOST_MAX_INFLIGHT"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("--set"), "{}", ended.stderr);
    }
    for name in ["GAGE_HOST_CONCURRENCY", "GAGE_EVAL_MAX_SAMPLES"] {
        let ended = run(&[(name, "abc")], "f").expect_code(2);
        let expected = format!("The value is that of the variable {name}.");
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
    }
    let flag = workspace.run(&["run", "suite.yaml", "--max-samples", "abc"]).expect_code(2);
    assert!(!flag.stderr.contains("variable"), "{}", flag.stderr);
}

#[test]
fn hanging_collectors_do_not_delay_the_end() {
    let (workspace, server) = workspace_with_failure(5);
    let never = || ResponseTemplate::new(200).set_delay(Duration::from_secs(3_600));
    for path in ["/events", "/v1/traces", "/v1/metrics"] {
        server.respond_at(path, move |_| never());
    }
    let (address, events) = (server.server.uri(), format!("{}/events", server.server.uri()));
    // The timeout of a post is an hour, so the end needs its own limit.
    let observed =
        ["--report-http-url", &events, "--otlp-endpoint", &address, "--report-http-timeout", "3600"];
    let ended = workspace.run(&[&["run", "suite.yaml", "--run-id", "r"][..], &observed[..]].concat());
    let ended = ended.expect_code(4);
    assert!(
        ended.stderr.contains("not every event was posted")
            && ended.stderr.contains("not everything reached the collector"),
        "{}",
        ended.stderr
    );
    let (all, unsent) = (workspace.read("runs/r/events.jsonl"), workspace.read("runs/r/events-unsent.jsonl"));
    assert_eq!(all, unsent);
}

#[test]
fn variables_are_listed_without_their_secrets() {
    let workspace = Workspace::new();
    let variables = [
        ("GAGE_HOST_OTLP_ENDPOINT", "https://user:hunter2@host/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2"),
        ("GAGE_EVAL_THREADS", "4"),
        ("GAGE_HOST_OUTPUT_DIR", "elsewhere"),
    ];
    let ended = workspace.run_with_env(variables, &["env", "--json"]).expect_code(0);
    assert!(!ended.stdout.contains("hunter2"), "{}", ended.stdout);
    let listed = ended.stdout_json();
    let earlier = listed["gage_eval"].as_array().expect("a list");
    let threads = earlier.iter().find(|one| one["name"] == "GAGE_EVAL_THREADS").expect("it is listed");
    assert_eq!((&threads["value"], &threads["successor"]), (&json!("4"), &json!("GAGE_HOST_CONCURRENCY")));
    let of_flags = listed["flags"].as_array().expect("a list");
    let value_of = |name: &str| of_flags.iter().find(|one| one["name"] == name).map(|one| &one["value"]);
    assert_eq!(value_of("GAGE_HOST_OUTPUT_DIR"), Some(&json!("elsewhere")));
    assert_eq!(value_of("GAGE_HOST_CONCURRENCY"), Some(&json!(null)));

    let mut command = workspace.program();
    // These variables would differ between machines.
    command.env_remove("HOME").env_remove("GAGE_CACHE_DIR").env_remove("GOMP_SPINCOUNT").arg("env");
    let ended = CommandOutput::of(command.env("OMP_WAIT_POLICY", "passive").output().expect("it runs"))
        .expect_code(0);
    insta::assert_snapshot!("env", ended.stdout);
}
