//! Answers to other requests: a server that sends one answer too many shifts all later ones of the connection.

use super::{ask, backend, server};
use futures::StreamExt as _;
use gage_backend::OpenOptions;
use gage_load_server::{Answer, Reply, completion, last_message};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sends 3,000 requests, 16 at a time, to a server that repeats every 40th answer when the next request arrives. `id`
/// returns the id of an answer by its number. Returns the number of wrong answers and of failed requests.
async fn wrong_and_failed(id: fn(u64) -> Option<String>) -> (usize, usize) {
    let answers = AtomicU64::new(0);
    let server = server(move |request| {
        let number = answers.fetch_add(1, Ordering::SeqCst);
        let answer = json!({
            "id": id(number),
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": last_message(request)}}],
        });
        match number % 40 == 39 {
            true => Answer::Twice(Reply::json(200, &answer)),
            false => Reply::json(200, &answer).into(),
        }
    });
    let keys = ", model: m, max_concurrency: 16, retry_base: 0.001";
    let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    let backend = backend.as_ref();
    let requests = futures::stream::iter((0..3_000).map(|number| async move {
        let question = format!("question {number}");
        ask(backend, &question).await.map(|reply| reply.output.answer == question)
    }));
    let ends: Vec<_> = requests.buffer_unordered(16).collect().await;
    let count =
        |of: fn(&Result<bool, gage_backend::BackendError>) -> bool| ends.iter().filter(|end| of(end)).count();
    (count(|end| matches!(end, Ok(false))), count(|end| end.is_err()))
}

#[tokio::test(flavor = "multi_thread")]
async fn surplus_answers_are_never_taken_for_others() {
    assert_eq!(wrong_and_failed(|number| Some(format!("chatcmpl-{number}"))).await, (0, 0));
}

/// Without different ids, nothing shows the shift: this is what the check prevents.
#[tokio::test(flavor = "multi_thread")]
async fn answers_without_different_ids_cannot_be_checked() {
    for id in [(|_| None) as fn(u64) -> Option<String>, |_| Some("one".to_owned())] {
        let (wrong, failed) = wrong_and_failed(id).await;
        assert!(wrong > 0 && failed == 0, "{wrong} wrong, {failed} failed");
    }
}

/// A server may give all its answers one id. They are accepted after the first doubt.
#[tokio::test]
async fn one_id_for_all_answers_costs_one_retry() {
    let server = server(|request| {
        let choice = json!({"index": 0, "message": {"content": last_message(request)}});
        Reply::json(200, &json!({"id": "one", "choices": [choice]})).into()
    });
    let keys = ", model: m, retry_base: 0.001";
    let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
    for number in 0..20 {
        assert!(ask(backend.as_ref(), &format!("question {number}")).await.is_ok());
    }
    assert_eq!(server.requests(), 21);
}

#[tokio::test]
async fn connections_are_closed_after_some_hundred_requests() {
    let server = server(|_| completion("4").into());
    let backend = backend("openai_http", &server.url(), ", model: m", &OpenOptions::default()).await;
    for number in 0..600 {
        assert!(ask(backend.as_ref(), &format!("question {number}")).await.is_ok());
    }
    assert_eq!(server.connections(), 3);
}

/// Pieces of two streams in one are an error, and each piece may have an id of its own if there are more than two.
#[tokio::test]
async fn pieces_of_another_answer_are_rejected() {
    for (ids, is_accepted) in [
        (["a", "a", "a", "a"], true),
        (["a", "b", "c", "d"], true),
        (["", "a", "a", ""], true),
        (["a", "a", "b", "a"], false),
        (["a", "b", "b", "b"], false),
        (["", "a", "b", ""], false),
    ] {
        let pieces = ids.map(|id| json!({"id": id, "choices": [{"index": 0, "delta": {"content": "x"}}]}));
        let events: Vec<_> = pieces.into_iter().chain([json!("[DONE]")]).collect();
        let server = server(move |_| gage_load_server::events(&events, false));
        let keys = ", model: m, stream: true, max_retries: 0";
        let backend = backend("openai_http", &server.url(), keys, &OpenOptions::default()).await;
        let reply = ask(backend.as_ref(), "question").await;
        assert_eq!(reply.is_ok(), is_accepted, "{ids:?}: {reply:?}");
    }
}

/// The other protocols have ids too.
#[tokio::test]
async fn pieces_of_another_message_are_rejected() {
    let contents = |second: &str| {
        let piece = |id: &str| {
            let candidate = json!({"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"});
            json!({"responseId": id, "candidates": [candidate]})
        };
        vec![piece("a"), piece(second)]
    };
    let messages = |second: &str| {
        let start = |id: &str| json!({"type": "message_start", "message": {"id": id}});
        vec![
            start("a"),
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": "x"}}),
            start(second),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ]
    };
    for (kind, events, is_accepted) in [
        ("gemini_http", contents("a"), true),
        ("gemini_http", contents("b"), false),
        ("anthropic_http", messages("a"), true),
        ("anthropic_http", messages("b"), false),
    ] {
        let server = server(move |_| gage_load_server::events(&events, false));
        let keys = ", model: m, stream: true, max_retries: 0";
        let backend = backend(kind, &server.url(), keys, &OpenOptions::default()).await;
        let reply = ask(backend.as_ref(), "question").await;
        assert_eq!(reply.is_ok(), is_accepted, "{kind}: {reply:?}");
    }
}

/// If several answers were requested, their order does not matter.
#[tokio::test]
async fn the_choice_with_the_index_0_counts() {
    let server = server(|_| {
        let choice = |index: u64, text: &str| json!({"index": index, "message": {"content": text}});
        Reply::json(200, &json!({"choices": [choice(1, "second"), choice(0, "first")]})).into()
    });
    let backend = backend("openai_http", &server.url(), ", model: m", &OpenOptions::default()).await;
    let reply = ask(backend.as_ref(), "question").await.expect("an answer");
    assert_eq!(reply.output.answer, "first");
}
