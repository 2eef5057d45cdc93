//! Recordings are replayed without a network and contain no keys.

use super::{KEY, ask, backend, server};
use gage_backend::{HttpRecording, OpenOptions};
use gage_load_server::{Reply, completion, last_message};
use serde_json::json;
use std::sync::Arc;

/// Some servers take the key as a part of the path.
#[tokio::test]
async fn key_in_a_path_is_not_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tape.zst");
    let server = server(|_| completion("yes").into());
    let recording = HttpRecording::record(&path).expect("a tape");
    let recording = OpenOptions { recording: Some(Arc::new(recording)), ..OpenOptions::default() };
    let recorded = backend("openai_http", &format!("{}/{KEY}", server.url()), ", model: m", &recording).await;
    ask(recorded.as_ref(), "one").await.expect("an answer");
    assert_eq!(recording.recording.as_ref().map(|tape| tape.finish().expect("written")), Some(1));

    let bytes = std::fs::read(&path).expect("a file");
    let text = String::from_utf8(zstd::decode_all(bytes.as_slice()).expect("zstd")).expect("UTF-8");
    assert!(text.contains("/(secret)/chat/completions") && !text.contains(KEY), "{text}");

    // A replay may not know the key.
    let replaying = HttpRecording::replay(&path).expect("a tape");
    let replaying = OpenOptions { recording: Some(Arc::new(replaying)), ..OpenOptions::default() };
    let played = backend("openai_http", "http://127.0.0.1:9/(secret)", ", model: m", &replaying).await;
    ask(played.as_ref(), "one").await.expect("a recorded answer");
}

#[tokio::test]
async fn a_run_is_played_back_without_its_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tape.zst");
    let server = server(|request| match last_message(request).as_str() {
        "bad" => Reply::json(400, &json!({"error": {"message": format!("no, {KEY}")}})).into(),
        question => completion(&format!("{question} by {KEY}")).into(),
    });
    let tape =
        |tape: HttpRecording| OpenOptions { recording: Some(Arc::new(tape)), ..OpenOptions::default() };
    let recording = tape(HttpRecording::record(&path).expect("a tape"));
    let recorded = backend("openai_http", &server.url(), ", model: m", &recording).await;
    let mut ends = Vec::new();
    for question in ["one", "two", "bad"] {
        ends.push(
            ask(recorded.as_ref(), question).await.map(|reply| reply.output).map_err(|error| error.kind),
        );
    }
    assert_eq!(recording.recording.as_ref().map(|tape| tape.finish().expect("written")), Some(3));
    drop(server);

    let bytes = std::fs::read(&path).expect("a file");
    let text = String::from_utf8(zstd::decode_all(bytes.as_slice()).expect("zstd")).expect("UTF-8");
    assert!(text.contains("one by (secret)") && !text.contains(KEY), "{text}");

    let replaying = tape(HttpRecording::replay(&path).expect("a tape"));
    let played = backend("openai_http", "http://127.0.0.1:9", ", model: m", &replaying).await;
    for (question, end) in ["one", "two", "bad"].into_iter().zip(ends) {
        let found =
            ask(played.as_ref(), question).await.map(|reply| reply.output).map_err(|error| error.kind);
        assert_eq!(found, end, "{question}");
    }
    let missing = ask(played.as_ref(), "three").await.expect_err("not recorded");
    assert_eq!(missing.kind.name(), "not_recorded");
    assert!(missing.message.contains("has no answer to this request"), "{missing}");
}

/// A recording identifies requests by what the suite asks: it does not depend on when the refusal was noticed.
#[tokio::test]
async fn refused_default_temperature_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tape.zst");
    let message = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is \
                   supported.";
    let refusal = json!({"error": {"message": message, "code": "unsupported_value", "param": "temperature"}});
    let server = server(move |request| match request.json().get("temperature") {
        Some(_) => Reply::json(400, &refusal).into(),
        None => completion("yes").into(),
    });
    let tape =
        |tape: HttpRecording| OpenOptions { recording: Some(Arc::new(tape)), ..OpenOptions::default() };
    let recording = tape(HttpRecording::record(&path).expect("a tape"));
    let recorded = backend("openai_http", &server.url(), ", model: m, max_retries: 0", &recording).await;
    for (question, attempts) in [("one", 2), ("two", 1)] {
        let reply = ask(recorded.as_ref(), question).await.expect("an answer");
        assert_eq!(reply.timing.attempts, attempts, "{question}");
    }
    assert_eq!(server.requests(), 3);
    assert_eq!(recorded.statistics()["omitted_params"], json!(["temperature"]));
    assert_eq!(recording.recording.as_ref().map(|tape| tape.finish().expect("written")), Some(2));

    let replaying = tape(HttpRecording::replay(&path).expect("a tape"));
    let played = backend("openai_http", "http://127.0.0.1:9", ", model: m", &replaying).await;
    for question in ["two", "one"] {
        ask(played.as_ref(), question).await.expect("a recorded answer");
    }

    // A temperature of the suite is never left out.
    let keys = ", model: m, default_params: {temperature: 0}";
    let set = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    let error = ask(set.as_ref(), "one").await.expect_err("it is refused");
    assert!(
        error.message.contains("`model: {name: openai:MODEL, omit_params: [temperature]}`"),
        "{}",
        error.message
    );
}
