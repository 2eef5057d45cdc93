//! Observers with servers on loopback, and the data that these receive.

#![expect(clippy::expect_used, reason = "a test says what it expects")]

use gage_observe::{
    AnswerMeasurements, Event, HttpRecorder, HttpRecorderSettings, Level, Meters, Recorder, SampleEnd,
    Telemetry, TelemetrySettings, Trace, serve_metrics,
};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// Longer than any of these servers takes.
const LONG: Duration = Duration::from_secs(120);

fn settings(url: String, folder: &Path) -> HttpRecorderSettings {
    gage_recorded_messages::record_warnings("observing");
    HttpRecorderSettings {
        url,
        run_id: "r \"1\"".to_owned(),
        batch: 3,
        fail_pct: 5.0,
        timeout: Duration::from_secs(20),
        fallback: folder.join("events-unsent.jsonl"),
    }
}

/// Emits `count` events, and waits for the end. Returns the number of lost events, and the IDs in the fallback.
fn emit(settings: HttpRecorderSettings, count: u64) -> (u64, Vec<u64>) {
    let fallback = settings.fallback.clone();
    let recorder = HttpRecorder::start(settings).expect("a recorder");
    let recorders: Vec<Box<dyn Recorder>> = vec![Box::new(recorder)];
    let trace = Trace::start(recorders, 0).expect("a trace");
    for number in 0..count {
        trace.emit(Event::new("tick", Level::Info, json!({"number": number})));
    }
    let lost = trace.finish(Instant::now() + LONG);
    let text = std::fs::read_to_string(fallback).unwrap_or_default();
    (lost, text.lines().map(id_of).collect())
}

fn id_of(line: &str) -> u64 {
    let event: Value = serde_json::from_str(line).expect("JSON");
    event["event_id"].as_u64().expect("an id")
}

async fn posted(server: &MockServer) -> Vec<Vec<u64>> {
    let requests = server.received_requests().await.expect("requests");
    let ids = |body: Value| {
        let events = body["events"].as_array().expect("events").clone();
        events.iter().map(|event| event["event_id"].as_u64().expect("an id")).collect()
    };
    requests.iter().map(|request| ids(serde_json::from_slice(&request.body).expect("JSON"))).collect()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it ends")
}

#[tokio::test]
async fn events_are_posted_in_batches_with_the_name_of_the_run() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/events"))
        .and(header("content-type", "application/json"))
        .and(body_partial_json(json!({"run_id": "r \"1\""})))
        .respond_with(ResponseTemplate::new(204))
        .mount(&server)
        .await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(format!("{}/events", server.uri()), folder.path());
    assert_eq!(blocking(move || emit(settings, 8)).await, (0, vec![]));
    assert_eq!(posted(&server).await, [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
}

#[tokio::test]
async fn after_too_many_failed_posts_events_go_to_a_file() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(503)).mount(&server).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(server.uri(), folder.path());
    assert_eq!(blocking(move || emit(settings, 60)).await, (0, (0..60).collect()));
    assert_eq!(posted(&server).await.len(), 5, "after five posts the share of failures is known");
}

#[tokio::test]
async fn a_failure_now_and_then_is_in_the_file_and_the_rest_is_posted() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(500))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = HttpRecorderSettings { fail_pct: 50.0, ..settings(server.uri(), folder.path()) };
    assert_eq!(blocking(move || emit(settings, 30)).await, (0, vec![0, 1, 2]));
    assert_eq!(posted(&server).await.len(), 10);
}

#[test]
fn events_lost_to_server_and_file_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    // No server listens at a port that was just free.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let settings = settings(format!("http://{address}"), folder.path());
    let settings = HttpRecorderSettings { fallback: folder.path().join("no/such/folder"), ..settings };
    assert_eq!(emit(settings, 7), (7, vec![]));
}

#[test]
fn an_invalid_address_is_refused_without_its_password() {
    let folder = tempfile::tempdir().expect("a folder");
    for url in ["", "collector", "ftp://user:hunter2@host/", "http://user:hunter2@/"] {
        let Err(error) = HttpRecorder::start(settings(url.to_owned(), folder.path())) else {
            panic!("{url} is no address")
        };
        let text = error.to_string();
        assert!(text.contains("https://") && !text.contains("hunter2"), "{text}");
    }
}

fn telemetry(endpoint: String) -> Telemetry {
    let settings = TelemetrySettings {
        endpoint,
        timeout: Duration::from_secs(20),
        run_id: "r1".to_owned(),
        version: "1.2.3".to_owned(),
    };
    Telemetry::start(&settings).expect("telemetry")
}

/// Records a run of one task with two samples: one succeeds and one fails.
fn run(telemetry: &Telemetry) -> u64 {
    run_by(telemetry, Instant::now() + LONG)
}

/// Records the same run with a deadline for its end.
fn run_by(telemetry: &Telemetry, by: Instant) -> u64 {
    telemetry.task_started("t");
    let answered = AnswerMeasurements {
        queue_ms: 100.0,
        latency_ms: 400.0,
        first_token_ms: Some(30.0),
        attempts: 2,
        retries: 1,
        prompt_tokens: 7,
        completion_tokens: 3,
    };
    telemetry.in_flight("t", 1);
    telemetry.answered("t", &answered, false);
    telemetry.in_flight("t", -1);
    let sample = SampleEnd {
        task_id: "t",
        sample_id: "q0",
        index: 0,
        outcome: "scored",
        error: None,
        answered: Some((answered, SystemTime::now())),
        scoring_ms: Some(5.0),
        stages: vec![("preprocess", 1.0), ("judge", 2.0), ("extract", 0.5)],
    };
    telemetry.sample(&sample);
    telemetry.finished("t", "scored");
    let error = Some(("inference", "timeout", "no answer in 3 s"));
    telemetry.sample(&SampleEnd {
        sample_id: "q1",
        index: 1,
        outcome: "backend_error",
        error,
        answered: None,
        scoring_ms: None,
        stages: Vec::new(),
        ..sample
    });
    telemetry.finished("t", "backend_error");
    telemetry.task_finished("t");
    telemetry.finish(by)
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    match attribute.value.clone()?.value? {
        any_value::Value::StringValue(text) => Some(text),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    }
}

#[tokio::test]
async fn a_collector_gets_a_trace_of_the_run_and_one_of_each_sample() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&server).await;
    let uri = server.uri();
    assert_eq!(blocking(move || run(&telemetry(uri))).await, 0);
    let requests = server.received_requests().await.expect("requests");
    let bodies = |to: &str| {
        let requests = requests.iter().filter(|request| request.url.path() == to);
        requests.map(|request| request.body.clone()).collect::<Vec<_>>()
    };

    let mut spans: Vec<Span> = Vec::new();
    for body in bodies("/v1/traces") {
        let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("protobuf");
        for resource in request.resource_spans {
            let attributes = resource.resource.expect("a resource").attributes;
            assert_eq!(text(&attributes, "service.name").as_deref(), Some("gage-host"));
            assert_eq!(text(&attributes, "gage.run_id").as_deref(), Some("r1"));
            spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (runs, tasks, samples) = (named("run"), named("task"), named("sample"));
    assert_eq!((runs.len(), tasks.len(), samples.len(), spans.len()), (1, 1, 2, 9));
    assert_eq!(tasks[0].parent_span_id, runs[0].span_id);
    assert_eq!(tasks[0].trace_id, runs[0].trace_id);
    for sample in &samples {
        assert!(sample.parent_span_id.is_empty() && sample.trace_id != runs[0].trace_id);
        assert_eq!(sample.links[0].span_id, tasks[0].span_id);
    }
    let [scored, failed] = samples[..] else { panic!("two samples") };
    assert_eq!(text(&failed.attributes, "error.type").as_deref(), Some("timeout"));
    assert_eq!(failed.status.as_ref().expect("a status").message, "no answer in 3 s");
    let inference = named("inference")[0];
    assert_eq!(inference.parent_span_id, scored.span_id);
    assert_eq!(text(&inference.attributes, "gen_ai.usage.input_tokens").as_deref(), Some("7"));
    assert_eq!(inference.end_time_unix_nano - inference.start_time_unix_nano, 400_000_000);
    // A queue of 100 ms, after the row was prepared.
    assert_eq!(inference.start_time_unix_nano - scored.start_time_unix_nano, 101_000_000);
    let judge = named("judge")[0];
    assert_eq!(judge.parent_span_id, scored.span_id);
    assert_eq!(judge.start_time_unix_nano, inference.end_time_unix_nano);
    let scoring = named("scoring")[0];
    assert_eq!(scoring.end_time_unix_nano - scoring.start_time_unix_nano, 5_000_000);

    let mut metrics: Vec<String> = Vec::new();
    for body in bodies("/v1/metrics") {
        let request = ExportMetricsServiceRequest::decode(body.as_slice()).expect("protobuf");
        let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        metrics.extend(scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name));
    }
    for name in [
        "gage.samples",
        "gage.requests",
        "gage.tokens",
        "gen_ai.client.operation.duration",
        "gage.time_to_first_token",
    ] {
        assert!(metrics.iter().any(|metric| metric == name), "{name} is not in {metrics:?}");
    }
}

#[tokio::test]
async fn spans_that_a_collector_refuses_are_counted() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(400)).mount(&server).await;
    let uri = server.uri();
    assert_eq!(blocking(move || run(&telemetry(uri))).await, 9);
}

#[tokio::test]
async fn hanging_servers_do_not_delay_the_end_of_a_run() {
    let server = MockServer::start().await;
    let hangs = ResponseTemplate::new(200).set_delay(Duration::from_secs(3_600));
    Mock::given(method("POST")).respond_with(hangs).mount(&server).await;
    let (uri, folder) = (server.uri(), tempfile::tempdir().expect("a folder"));
    let fallback = folder.path().join("events-unsent.jsonl");
    let http = HttpRecorderSettings {
        timeout: Duration::from_secs(3_600),
        fallback: fallback.clone(),
        ..settings(uri.clone(), folder.path())
    };
    // The deadline is the end of the run, so that the test does not wait either.
    let (lost, lost_spans) = blocking(move || {
        let telemetry = telemetry(uri);
        let recorders: Vec<Box<dyn Recorder>> =
            vec![Box::new(HttpRecorder::start(http).expect("a recorder"))];
        let trace = Trace::start(recorders, 0).expect("a trace");
        (0..10).for_each(|_| trace.emit(Event::new("tick", Level::Info, Value::Null)));
        (trace.finish(Instant::now()), run_by(&telemetry, Instant::now()))
    })
    .await;
    assert_eq!((lost, lost_spans), (0, 9));
    let text = std::fs::read_to_string(fallback).expect("a file");
    assert_eq!(text.lines().map(id_of).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn counters_are_served_and_nothing_else() {
    let meters = Meters::new("1.2.3");
    meters.finished("t", "scored");
    let address = serve_metrics(([127, 0, 0, 1], 0).into(), meters.clone()).await.expect("it listens");
    let get = |path: &str| reqwest::get(format!("http://{address}{path}"));
    let answer = get("/metrics").await.expect("an answer");
    let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = answer.text().await.expect("text");
    assert!(text.contains("gage_host_samples_total{task_id=\"t\",outcome=\"scored\"} 1"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    meters.finished("t", "scored");
    let text = get("/metrics").await.expect("an answer").text().await.expect("text");
    assert!(text.contains("outcome=\"scored\"} 2"), "{text}");
    assert_eq!(get("/").await.expect("an answer").status(), 404);
    let client = reqwest::Client::new();
    let posted = client.post(format!("http://{address}/metrics")).send().await.expect("an answer");
    assert_eq!(posted.status(), 405);
    assert!(serve_metrics(address, meters).await.is_err(), "the port is taken");
}
