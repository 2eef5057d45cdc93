//! However a server behaves, every request ends, with a classified result.

use super::{KEY, ask, backend, server};
use futures::future::join_all;
use gage_backend::{BackendError, BackendErrorKind, OpenOptions};
use gage_load_server::{Answer, Reply, completion};
use serde_json::json;
use std::time::Duration;

/// Returns the result of a request that gets this answer each time.
async fn end_of(answer: Answer, keys: &str) -> String {
    let server = server(move |_| answer.clone());
    let keys = format!(", model: m, max_retries: 1, retry_base: 0.001, outage_limit: 0.001{keys}");
    let backend = backend("openai_http", &server.url(), &keys, &OpenOptions::default()).await;
    match ask(backend.as_ref(), "q").await {
        Ok(reply) => format!("answered: {}", reply.output.answer),
        Err(error) => {
            assert_eq!(u64::from(error.attempts), server.requests(), "{error}");
            // The number of retries depends on time while the server answers nothing.
            let often = format!("(tried {} times)", error.attempts);
            let message = error.message.replace(&server.url(), "").replace(&often, "(tried again)");
            format!("{}: {message}", error.kind.name())
        }
    }
}

#[tokio::test]
async fn every_fault_has_a_name() {
    let html = "<html><body>It works!</body></html>";
    let redirect = Reply::new(302, "text/plain", "").with("location", "/v1/elsewhere");
    let refused = |status, body| Answer::from(Reply::json(status, &body));
    let long = Reply::new(429, "text/plain", "later").with("retry-after", "86400");
    let quota =
        json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
    let cases: Vec<(&str, Answer, &str)> = vec![
        ("html", Reply::new(200, "text/html", html).into(), ""),
        ("no_choices", Reply::json(200, &json!({"id": 1})).into(), ""),
        ("choices_of_no_objects", Reply::json(200, &json!({"choices": [null]})).into(), ""),
        ("empty", Reply::new(200, "application/json", "").into(), ""),
        ("invalid_utf8", Reply::new(200, "application/json", b"{\"choices\": \"\xff\"}".to_vec()).into(), ""),
        ("quota_in_an_answer", Reply::json(200, &quota).into(), ""),
        ("compressed", completion("4").with("content-encoding", "gzip").into(), ""),
        ("nested", Reply::new(200, "application/json", "[".repeat(200)).into(), ""),
        ("redirect", redirect.into(), ""),
        ("not_found", refused(404, json!({"detail": "Not Found"})), ""),
        ("unauthorized", refused(401, json!({"error": {"message": format!("bad key {KEY}")}})), ""),
        ("forbidden", refused(403, json!({"error": "no"})), ""),
        ("quota", refused(429, quota.clone()), ""),
        ("payment", refused(402, json!(null)), ""),
        ("too_long_a_wait", long.into(), ""),
        (
            "too_long_a_prompt",
            refused(400, json!({"error": {"message": "x", "code": "context_length_exceeded"}})),
            "",
        ),
        ("endless", Answer::Endless, ", max_response_mib: 1"),
        ("hang", Answer::Hang, ", timeout: 0.2"),
        ("silence", Answer::Hang, ", read_timeout: 0.2"),
        ("a_stream_nobody_reads", gage_load_server::events(&[json!("x")], false), ""),
    ];
    let mut ends = String::new();
    for (name, answer, keys) in cases {
        ends.push_str(&format!("{name}\n    {}\n", end_of(answer, keys).await));
    }
    assert!(!ends.contains(KEY), "{ends}");
    insta::assert_snapshot!("faults", ends);
}

/// The transport's message differs between machines; the kind does not.
#[tokio::test]
async fn broken_connections_have_a_kind() {
    for (answer, expected) in [
        (Answer::Reset, "connection: "),
        (Answer::Truncated(completion("4")), "connection: "),
        (
            Answer::Raw("no HTTP at all\r\n\r\n".into()),
            "connection: /chat/completions: the server does not speak HTTP; check the scheme and the port",
        ),
        (
            Answer::Chunks {
                content_type: "application/json",
                pieces: vec!["{\"choices\"".into()],
                breaks_off: true,
            },
            "connection: ",
        ),
    ] {
        let end = end_of(answer, "").await;
        assert!(end.starts_with(expected), "{end}");
    }
}

/// The first refusals name the wait, and are retried. The error that ends the run names it, too.
#[tokio::test]
async fn wait_above_the_limit_is_named_at_the_end() {
    for status in [429, 503] {
        let server =
            server(move |_| Reply::new(status, "text/plain", "later").with("retry-after", "100000").into());
        let keys = ", model: m, retry_base: 0.001, outage_limit: 0.001";
        let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
        let ends = join_all(["a", "b", "c"].map(|question| ask(backend.as_ref(), question))).await;
        let errors: Vec<BackendError> = ends.into_iter().map(|end| end.expect_err("a refusal")).collect();
        // One that fails when the others have ended says nothing about the server.
        assert!(errors.iter().any(|error| error.kind == BackendErrorKind::ServerLost), "{errors:?}");
        for error in errors {
            let wait = "the server asks to wait 100000 s, and `retry_after_limit` is 600 s";
            assert!(error.message.contains(wait), "{error}");
        }
    }
}

/// A page in place of answers may be gone at the next attempt, but not if all first attempts got it.
#[tokio::test]
async fn pages_in_place_of_all_answers_are_not_asked_again() {
    let server = server(|_| Reply::new(200, "text/html", "<html>hello</html>").into());
    let keys = ", model: m, retry_base: 0.001, max_retries: 5";
    let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    let backend = backend.as_ref();
    let ends =
        join_all((0..200).map(|number| async move { ask(backend, &format!("q{number}")).await })).await;
    let kinds = ends.iter().map(|end| end.as_ref().expect_err("a page").kind);
    assert_eq!(kinds.filter(|kind| *kind != BackendErrorKind::NeverAnswered).count(), 63);
    // One attempt of each request, and the retries that began before.
    assert!(server.requests() < 200 + 64 + 8, "{} requests", server.requests());
}

#[tokio::test]
async fn refusals_of_all_requests_have_advice() {
    for (status, advice) in
        [(400, "correct what the server names"), (404, "are `base_url` and `model` right?")]
    {
        let server = server(move |_| Reply::new(status, "text/plain", "no").into());
        let backend = backend("openai_http", &server.url(), ", model: m", &OpenOptions::default()).await;
        let mut last = String::new();
        for _ in 0..64 {
            last = ask(backend.as_ref(), "q").await.expect_err("a refusal").message;
        }
        assert!(last.starts_with("none of 64 requests was answered") && last.contains(advice), "{last}");
    }
}

#[tokio::test]
async fn what_may_pass_is_sent_again_and_counted_by_cause() {
    let server = server({
        let came = std::sync::atomic::AtomicU64::new(0);
        move |_| match came.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply::new(500, "text/plain", "boom").into(),
            1 => Reply::new(429, "text/plain", "later").with("retry-after-ms", "50").into(),
            2 => Answer::Reset,
            3 => Reply::new(503, "text/plain", "").with("x-should-retry", "true").into(),
            _ => completion("4").into(),
        }
    });
    let keys = ", model: m, retry_base: 0.001";
    let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    let began = std::time::Instant::now();
    let reply = ask(backend.as_ref(), "q").await.expect("an answer");
    assert!(began.elapsed() >= Duration::from_millis(50), "the server asked for a wait");
    assert_eq!((reply.output.answer.as_str(), reply.timing.attempts), ("4", 5));
    let statistics = backend.statistics();
    assert_eq!(statistics["retries"], json!({"connection": 1, "rate_limited": 1, "server": 2}));
    assert_eq!((&statistics["requests"], &statistics["attempts"]), (&json!(1), &json!(5)));
}

#[tokio::test]
async fn keys_never_come_back() {
    let server = server(|request| {
        let key = request.header("authorization").unwrap_or_default().to_owned();
        let body = request.json().to_string();
        let message = json!({"content": format!("you sent {key} and {body}"), "reasoning": key});
        Reply::json(200, &json!({"choices": [{"message": message}]})).into()
    });
    // A body value whose key names a secret is treated as one.
    let keys = ", model: m, extra_body: {tenant: {access_token: [tk-0123456789]}, user: somebody}";
    let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    let output = ask(backend.as_ref(), "q").await.expect("an answer").output;
    let text = output.to_value().to_string();
    assert!(text.contains("(secret)") && text.contains("somebody"), "{text}");
    assert!(!text.contains(KEY) && !text.contains("tk-0123456789"), "{text}");
}
