//! Cached answers, shared between two backends as between two processes.

use super::{KEY, backend, question, server};
use gage_backend::{
    AnswerCache, AnswerReading, Backend, Continuation, DrawIndex, EmbedRequest, GenerateRequest,
    LoglikelihoodRequest, OpenOptions,
};
use gage_core::SamplingParams;
use gage_load_server::{Answer, Reply, completion, events};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Opens a backend that caches its answers in a folder.
async fn keeping(url: &str, folder: &Path, reading: AnswerReading) -> Arc<dyn Backend> {
    let answers = AnswerCache::open(folder, 1 << 30, reading).expect("a cache");
    let options = OpenOptions { answers: Some(Arc::new(answers)), ..OpenOptions::default() };
    let keys = ", model: m, max_retries: 0, loglikelihood: echo";
    backend("openai_http", url, keys, &options).await
}

fn drawn(repeat: u64) -> Box<GenerateRequest> {
    let params = SamplingParams { temperature: Some(0.7), ..SamplingParams::default() };
    Box::new(GenerateRequest {
        params,
        draw: Some(DrawIndex { repeat, ..DrawIndex::default() }),
        ..question("q")
    })
}

#[tokio::test]
async fn an_answer_is_asked_for_once_and_costs_no_attempt_then() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(|request| completion(&format!("to {}", request.json()["messages"])).into());
    let first = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
    let asked = first.generate(drawn(0)).await.expect("an answer");
    assert_eq!((server.requests(), asked.timing.attempts), (1, 1));
    let second = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
    let kept = second.generate(drawn(0)).await.expect("an answer");
    assert_eq!((server.requests(), kept.timing.attempts), (1, 0));
    assert_eq!(kept.output, asked.output);
    // Another repeat is a different answer.
    second.generate(drawn(1)).await.expect("an answer");
    assert_eq!(server.requests(), 2);
    // Requests without a draw index, such as those of components, always go to the server.
    for _ in 0..2 {
        second.generate(Box::new(GenerateRequest { draw: None, ..*drawn(0) })).await.expect("an answer");
    }
    assert_eq!(server.requests(), 4);
    let counts = &second.statistics()["cache"];
    assert_eq!(
        *counts,
        json!({"hits": 1, "misses": 1, "passed": 2, "kept": 1, "damaged": 0, "unwritten": 0})
    );
    assert_eq!(second.statistics()["requests"], 3, "what the server was asked is counted as before");
    let replacing = keeping(&server.url(), folder.path(), AnswerReading::Replace).await;
    replacing.generate(drawn(0)).await.expect("an answer");
    assert_eq!(server.requests(), 5);
}

#[tokio::test]
async fn no_failure_is_kept_and_no_secret() {
    let broken = events(&[json!({"choices": [{"delta": {"content": "half"}}]})], true);
    let filtered = json!({"choices": [{"message": {"content": "h"}, "finish_reason": "content_filter"}]});
    let answers: Vec<(&str, Answer)> = vec![
        ("an error of the server", Reply::json(500, &json!({"error": "no"})).into()),
        ("a refusal", Reply::json(400, &json!({"error": "no"})).into()),
        ("no answer", Reply::json(200, &json!({"id": 1})).into()),
        ("half an answer", Reply::new(200, "application/json", "{\"choices\": [{\"mess").into()),
        ("a body that broke off", Answer::Truncated(completion("4"))),
        ("a stream that broke off", broken),
        ("what a filter cut off", Reply::json(200, &filtered).into()),
        ("an empty answer", completion("").into()),
    ];
    for (name, answer) in answers {
        let folder = tempfile::tempdir().expect("a folder");
        let server = server(move |_| answer.clone());
        let backend = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
        for asked in 1..=2 {
            let _ = backend.generate(drawn(0)).await;
            assert_eq!(server.requests(), asked, "{name}");
        }
        assert_eq!(backend.statistics()["cache"]["kept"], 0, "{name}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(|_| completion(&format!("the key is {KEY}")).into());
    let backend = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
    backend.generate(drawn(0)).await.expect("an answer");
    let shards = std::fs::read_dir(folder.path().join("v1")).expect("a folder").flatten();
    let files = shards.flat_map(|shard| std::fs::read_dir(shard.path()).expect("a folder").flatten());
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file.path()).expect("text")).collect();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("the key is") && !texts[0].contains(KEY), "{}", texts[0]);
}

#[tokio::test]
async fn what_was_damaged_is_asked_for_anew_and_kept_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(|_| completion("4").into());
    let backend = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
    backend.generate(drawn(0)).await.expect("an answer");
    let shards = std::fs::read_dir(folder.path().join("v1")).expect("a folder").flatten();
    for file in shards.flat_map(|shard| std::fs::read_dir(shard.path()).expect("a folder").flatten()) {
        let text = std::fs::read_to_string(file.path()).expect("text").replace("\"4\"", "\"5\"");
        std::fs::write(file.path(), text).expect("written");
    }
    for requests in [2, 2] {
        let reply = backend.generate(drawn(0)).await.expect("an answer");
        assert_eq!((reply.output.answer.as_str(), server.requests()), ("4", requests));
    }
    assert_eq!(backend.statistics()["cache"]["damaged"], 1);
}

#[tokio::test]
async fn scores_and_vectors_are_kept_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(|request| {
        let body = request.json();
        if body["input"].is_array() {
            return Reply::json(200, &json!({"data": [{"index": 0, "embedding": [0.1, -2.5]}]})).into();
        }
        let logprobs = json!({
            "tokens": ["a", "b"], "text_offset": [0, 1], "token_logprobs": [null, -0.123_456_789],
        });
        Reply::json(200, &json!({"choices": [{"logprobs": logprobs}]})).into()
    });
    let scored = LoglikelihoodRequest {
        id: "q".to_owned(),
        messages: Vec::new().into(),
        prompt: Some("a".to_owned()),
        continuations: vec![Continuation { id: "x".to_owned(), text: "b".to_owned() }],
    };
    let embedded = EmbedRequest { id: "e".to_owned(), texts: vec!["a".to_owned()] };
    let mut outputs = Vec::new();
    for attempts in [1, 0] {
        let backend = keeping(&server.url(), folder.path(), AnswerReading::Use).await;
        let score = backend.loglikelihood(scored.clone()).await.expect("scores");
        let vector = backend.embed(embedded.clone()).await.expect("vectors");
        assert_eq!((score.timing.attempts, vector.timing.attempts), (attempts, attempts));
        outputs.push((score.output, vector.output));
    }
    assert_eq!((outputs[0].clone(), server.requests()), (outputs[1].clone(), 2));
}
