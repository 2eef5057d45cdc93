//! Tests of concurrency limits.

use super::{ask, backend, server};
use futures::future::join_all;
use gage_backend::OpenOptions;
use gage_load_server::{Answer, Reply, completion, events};
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_and_the_limit_is() {
    for key in ["max_concurrency", "async_max_concurrency"] {
        check_limit(key).await;
    }
}

/// Checks that a backend with a limit of 8 requests keeps it, and reuses its connections.
async fn check_limit(key: &str) {
    let server = server(|_| completion("4").after(Duration::from_millis(2)).into());
    let keys = format!(", model: m, {key}: 8");
    let backend = backend("openai_http", &server.url(), &keys, &OpenOptions::default()).await;
    let backend = backend.as_ref();
    let replies =
        join_all((0..400).map(|number| async move { ask(backend, &format!("q{number}")).await })).await;
    assert!(replies.iter().all(Result::is_ok));
    assert_eq!((server.requests(), backend.statistics()["answered"].clone()), (400, json!(400)));
    assert!(server.max_in_flight() <= 8, "{}", server.max_in_flight());
    assert!(server.connections() <= 100, "{} connections", server.connections());
}

/// A run with more requests in flight than the default was once held at the default.
#[tokio::test]
async fn a_run_raises_the_default_limit_and_no_written_one() {
    for (keys, concurrency, expected) in [
        ("", 0, 64),
        ("", 16, 64),
        ("", 256, 256),
        ("", usize::MAX, 10_000),
        (", max_concurrency: 8", 256, 8),
        (", max_concurrency: 300", 256, 300),
    ] {
        let options = OpenOptions { concurrency, ..OpenOptions::default() };
        let keys = format!(", model: m, adaptive_concurrency: false{keys}");
        let backend = backend("openai_http", "http://127.0.0.1:9", &keys, &options).await;
        assert_eq!(backend.info().max_concurrency, expected, "{keys} {concurrency}");
        assert_eq!(backend.statistics()["concurrency_limit"], json!(expected), "{keys} {concurrency}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backends_at_one_host_share_its_limits() {
    let server = server(|_| completion("4").into());
    let options = OpenOptions::default();
    let one = backend("openai_http", &server.url(), ", model: one, requests_per_minute: 600", &options).await;
    let two = backend("openai_http", &server.url(), ", model: two", &options).await;
    // Sixty at once are a tenth of a minute's worth; requests of both backends count together.
    let began = std::time::Instant::now();
    let (first, second) = (one.as_ref(), two.as_ref());
    let asked = (0..62).map(|number| async move {
        let backend = if number % 2 == 0 { first } else { second };
        ask(backend, &format!("q{number}")).await
    });
    assert!(join_all(asked).await.iter().all(Result::is_ok));
    assert!(began.elapsed() >= Duration::from_millis(90), "{:?}", began.elapsed());
    assert_eq!(one.statistics()["concurrency_limit"], two.statistics()["concurrency_limit"]);
}

/// A server that breaks off its answers is reachable, and its other clients are not delayed.
#[tokio::test]
async fn a_host_that_breaks_answers_off_is_no_dead_one() {
    let whole = json!({"choices": [{"message": {"content": "4"}}]});
    let stream = [json!({"choices": [{"delta": {"content": "4"}}]})];
    for broken in [Answer::Truncated(Reply::json(200, &whole)), events(&stream, true)] {
        let whole = Reply::json(200, &whole);
        let server = server(move |request| match request.json()["model"] == "good" {
            true => whole.clone().into(),
            false => broken.clone(),
        });
        let url = format!("{}/v1", server.url());
        let keys =
            |model: &str| format!(", model: {model}, max_retries: 0, outage_limit: 0.001, outage_after: 3");
        let shared = OpenOptions::default();
        let bad = backend("openai_http", &url, &keys("bad"), &shared).await;
        let good = backend("openai_http", &url, &keys("good"), &shared).await;
        for _ in 0..10 {
            let error = ask(bad.as_ref(), "q").await.expect_err("it breaks off");
            assert!(error.kind.name() != "server_lost", "{error}");
        }
        assert!(ask(good.as_ref(), "q").await.is_ok());
        assert_eq!(good.statistics()["outages"], 0);
    }
}

#[tokio::test]
async fn a_dead_host_fails_within_a_bounded_time() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let keys = ", model: m, max_retries: 100, retry_base: 0.01, retry_limit: 0.05, outage_limit: 0.3, outage_after: 3";
    let backend = backend("openai_http", &format!("http://{port}"), keys, &OpenOptions::default()).await;
    let error = ask(backend.as_ref(), "q").await.expect_err("nobody listens");
    assert_eq!(error.kind.name(), "server_lost");
    assert!(error.message.contains("(connection refused)") && error.attempts < 100, "{error}");
    assert_eq!(backend.statistics()["outages"], 1);
}
