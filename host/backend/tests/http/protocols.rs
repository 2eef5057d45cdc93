//! Requests and replies of each protocol.

use super::{backend, question, server};
use gage_backend::{Continuation, EmbedRequest, GenerateRequest, LoglikelihoodRequest, OpenOptions};
use gage_core::{Message, ModelOutput, SamplingParams};
use gage_load_server::{Answer, Reply, events};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns a conversation with everything: a system message, a picture, a tool call and its result.
fn everything() -> GenerateRequest {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]},
        {"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    ]);
    let messages = messages.as_array().expect("a list").iter().cloned();
    let tool = json!({"type": "function", "function": {
        "name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}},
    }});
    GenerateRequest {
        id: "q".to_owned(),
        messages: messages.map(|message| Message::from_value(message).expect("a message")).collect(),
        prompt: None,
        params: SamplingParams {
            max_new_tokens: Some(9),
            seed: Some(7),
            stop: Some(vec!["\n".to_owned()]),
            top_p: Some(0.5),
            ..SamplingParams::default()
        },
        tools: vec![tool],
        tool_choice: Some(json!({"type": "function", "function": {"name": "look"}})),
        draw: None,
        place: None,
    }
}

/// Sends a request to a server with a fixed answer. Returns what the server received and what was parsed.
async fn exchange(
    kind: &str,
    keys: &str,
    request: GenerateRequest,
    answer: Answer,
) -> (Value, Result<(ModelOutput, bool), String>) {
    let seen: Arc<Mutex<Value>> = Arc::default();
    let noted = Arc::clone(&seen);
    let server = server(move |request| {
        let headers: Vec<String> = ["authorization", "x-api-key", "x-goog-api-key", "anthropic-version"]
            .iter()
            .chain(&["openai-organization", "openai-project", "x-further"])
            .filter_map(|name| Some(format!("{name}: {}", request.header(name)?)))
            .collect();
        *noted.lock().unwrap_or_else(PoisonError::into_inner) =
            json!({"path": request.path, "headers": headers, "body": request.json()});
        answer.clone()
    });
    let url = format!("{}/v1", server.url());
    let backend = backend(kind, &url, &format!("{keys}, max_retries: 0"), &OpenOptions::default()).await;
    let reply = backend.generate(Box::new(request)).await;
    let reply = reply
        .map(|reply| (reply.output, reply.timing.first_token.is_some()))
        .map_err(|error| format!("{}: {}", error.kind.name(), error.message.replace(&server.url(), "")));
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (seen, reply)
}

/// Formats the request and the parsed reply for a snapshot.
fn shown(exchange: (Value, Result<(ModelOutput, bool), String>)) -> String {
    let read = match exchange.1 {
        Ok((output, is_timed)) => format!("{:#}\nfirst token timed: {is_timed}", output.to_value()),
        Err(message) => message,
    };
    format!("{:#}\n--- read as\n{read}", exchange.0)
}

fn whole(body: Value) -> Answer {
    Reply::json(200, &body).into()
}

#[tokio::test]
async fn openai_conversations() {
    let keys = ", model: m, headers: {openai-organization: org, openai-project: proj, x-further: further}, logprobs: 1, \
                response_format: {type: json_object}, max_tokens_name: max_completion_tokens, omit_params: [seed], \
                default_params: {temperature: 0.5}, extra_body: {user: me, chat_template_kwargs: {a: 1}}";
    let answer = whole(json!({
        "choices": [{
            "finish_reason": "tool_calls",
            "message": {
                "content": "A cat.", "reasoning_content": "It has fur.",
                "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            },
            "logprobs": {"content": [{"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": [{"token": "A", "logprob": -0.1, "bytes": [65]}]}]},
        }],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    }));
    insta::assert_snapshot!("openai_chat", shown(exchange("openai_http", keys, everything(), answer).await));
    let prompt = GenerateRequest { prompt: Some("2+2=".to_owned()), ..question("q") };
    let answer = whole(json!({"choices": [{"text": "4", "finish_reason": "stop"}]}));
    insta::assert_snapshot!(
        "openai_completion",
        shown(exchange("openai_http", ", model: m, logprobs: true", prompt, answer).await)
    );
}

/// Covers less common features: names, several texts, audio, text next to a call, and merged settings of the suite.
#[tokio::test]
async fn openai_bodies_hold_what_is_rare() {
    let messages = json!([
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "own": 1},
        {"role": "user", "content": [
            {"type": "audio_url", "audio_url": {"url": "data:audio/mpeg;base64,AAAA"}},
            {"type": "audio_url", "audio_url": {"url": "https://host/sound.wav"}},
            {"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}},
        ]},
        {"role": "assistant", "content": "let me look", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]);
    let messages = messages.as_array().expect("a list").iter().cloned();
    let messages = messages.map(|message| Message::from_value(message).expect("a message")).collect();
    let request = GenerateRequest { messages, ..question("q") };
    let keys = ", model: m, stream: true, extra_body: {stream_options: {chunk: 1}, model: other, stream: false, z: {a: [1]}}";
    let answer = whole(json!({"choices": [{"message": {"content": "4"}}]}));
    let (seen, _) = exchange("openai_http", keys, request, answer).await;
    let expected = json!({
        "model": "other",
        "messages": [
            {"role": "user", "name": "Ann", "content": "one two", "own": 1},
            {"role": "user", "content": [
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
                {"type": "audio_url", "audio_url": {"url": "https://host/sound.wav"}},
                {"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "assistant", "content": "let me look", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "content": "", "tool_call_id": "c"},
        ],
        "temperature": 0.0,
        "stream": false,
        "stream_options": {"include_usage": true, "chunk": 1},
        "z": {"a": [1]},
    });
    assert_eq!(seen["body"].to_string(), expected.to_string());
}

#[tokio::test]
async fn openai_streams() {
    let keys = ", model: m, stream: true";
    let pieces = [
        json!({"choices": [{"delta": {"role": "assistant", "content": ""}}]}),
        json!({"choices": [{"delta": {"reasoning_content": "hm"}}]}),
        json!({"choices": [{"delta": {"content": "4"}}]}),
        json!({"choices": [{"delta": {"content": "2", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a\":"}}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        json!("[DONE]"),
    ];
    let answer = events(&pieces, false);
    insta::assert_snapshot!(
        "openai_stream",
        shown(exchange("openai_http", keys, question("q"), answer).await)
    );
    for (pieces, breaks_off, expected) in [
        (&pieces[..4], false, "protocol: /v1/chat/completions: the stream ended before the answer did"),
        (&pieces[..4], true, "connection: "),
        (&[json!("{\"choices\": [")][..], false, "protocol: "),
        (&[json!({"error": {"message": "overloaded"}})][..], false, "protocol: "),
        (
            &[json!({"error": {"message": "no", "code": "insufficient_quota"}})][..],
            false,
            "quota_exhausted: ",
        ),
    ] {
        let (_, read) = exchange("openai_http", keys, question("q"), events(pieces, breaks_off)).await;
        let message = read.expect_err(expected);
        assert!(message.starts_with(expected), "{message}");
    }
    // Nothing after the end of the answer is read.
    for (behind, breaks_off) in [(None, true), (Some(json!("{\"garbage")), false)] {
        let pieces: Vec<Value> = pieces.iter().cloned().chain(behind).collect();
        let (_, read) = exchange("openai_http", keys, question("q"), events(&pieces, breaks_off)).await;
        assert_eq!(read.map(|(output, _)| output.answer), Ok("42".to_owned()));
    }
    // If there are several answers, the first one counts.
    let several = [
        json!({"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "4"}}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "pe"}, "finish_reason": "stop"}]}),
        json!({"choices": [{"index": 0, "delta": {"content": "2"}, "finish_reason": "stop"}]}),
    ];
    let (_, read) = exchange("openai_http", keys, question("q"), events(&several, false)).await;
    assert_eq!(read.map(|(output, _)| output.answer), Ok("42".to_owned()));
    // A server without streaming answers as a whole.
    let answer = whole(json!({"choices": [{"message": {"content": "4"}}]}));
    let (_, read) = exchange("openai_http", keys, question("q"), answer).await;
    assert_eq!(read.map(|(output, is_timed)| (output.answer, is_timed)), Ok(("4".to_owned(), false)));
}

#[tokio::test]
async fn anthropic_messages() {
    let keys = ", model: claude";
    let answer = whole(json!({
        "content": [
            {"type": "thinking", "thinking": "It has fur.", "signature": "x"},
            {"type": "text", "text": "A cat."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 2}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 3},
    }));
    insta::assert_snapshot!("anthropic", shown(exchange("anthropic_http", keys, everything(), answer).await));
    let pieces = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "4"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ];
    let stream = ", model: claude, stream: true";
    let answer = events(&pieces, false);
    insta::assert_snapshot!(
        "anthropic_stream",
        shown(exchange("anthropic_http", stream, question("q"), answer).await)
    );
    let (_, read) = exchange("anthropic_http", stream, question("q"), events(&pieces, true)).await;
    assert_eq!(read.map(|(output, _)| output.answer), Ok("4".to_owned()));
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (_, read) = exchange("anthropic_http", stream, question("q"), events(&[error], false)).await;
    assert!(read.expect_err("an error").starts_with("server: "));
    let (_, read) = exchange("anthropic_http", stream, question("q"), events(&pieces[..6], false)).await;
    assert!(read.expect_err("cut off").starts_with("protocol: "));
    for (status, body, expected) in [
        (529, json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}), "server: "),
        (400, json!({"error": {"message": "Your credit balance is too low"}}), "quota_exhausted: "),
        (
            401,
            json!({"error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
            "unauthorized: ",
        ),
        (400, json!({"error": {"message": "prompt is too long: 9 tokens > 8"}}), "context_length: "),
    ] {
        let (_, read) =
            exchange("anthropic_http", keys, question("q"), Reply::json(status, &body).into()).await;
        let message = read.expect_err(expected);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[tokio::test]
async fn gemini_contents() {
    let keys = ", model: gemini, extra_body: {generationConfig: {thinkingConfig: {includeThoughts: true}}}";
    let answer = whole(json!({
        "candidates": [{
            "content": {"parts": [
                {"text": "It has fur.", "thought": true}, {"text": "A cat."},
                {"functionCall": {"name": "look", "args": {"at": 2}}},
            ]},
            "finishReason": "STOP",
        }],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
    }));
    insta::assert_snapshot!("gemini", shown(exchange("gemini_http", keys, everything(), answer).await));
    let pieces = [
        json!({"candidates": [{"content": {"parts": [{"text": "4"}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 1}}),
    ];
    let stream = ", model: gemini, stream: true";
    let answer = events(&pieces, false);
    insta::assert_snapshot!(
        "gemini_stream",
        shown(exchange("gemini_http", stream, question("q"), answer).await)
    );
    for (status, body, expected) in [
        (200, json!({"promptFeedback": {"blockReason": "SAFETY"}}), "content_filter"),
        (200, json!({"candidates": [{"finishReason": "SAFETY"}]}), "content_filter"),
        (200, json!({}), "protocol"),
        (
            400,
            json!({"error": {"message": "API key not valid. Please pass a valid API key."}}),
            "unauthorized",
        ),
        (429, json!({"error": {"message": "quota", "status": "RESOURCE_EXHAUSTED"}}), "rate_limited"),
        (
            429,
            json!({"error": {"details": [{"quotaId": "GenerateRequestsPerDayPerModel"}]}}),
            "quota_exhausted",
        ),
    ] {
        let (_, read) = exchange("gemini_http", keys, question("q"), Reply::json(status, &body).into()).await;
        let found = match read {
            Ok((output, _)) => output.to_value()["finish_reason"].as_str().unwrap_or_default().to_owned(),
            Err(message) => message.split(':').next().unwrap_or_default().to_owned(),
        };
        assert_eq!(found, expected, "{body}");
    }
}

#[tokio::test]
async fn texts_are_continued() {
    let request = || GenerateRequest {
        prompt: Some("2+2=".to_owned()),
        params: SamplingParams {
            stop: Some(vec![".".to_owned()]),
            temperature: Some(0.0),
            ..SamplingParams::default()
        },
        ..question("q")
    };
    let answer = whole(json!({
        "generated_text": "4.",
        "details": {"finish_reason": "stop_sequence", "generated_tokens": 2, "prefill": [{}, {}]},
    }));
    insta::assert_snapshot!("tgi", shown(exchange("tgi", "", request(), answer).await));
    let pieces = [
        json!({"token": {"text": "4"}, "generated_text": null}),
        json!({"token": {"text": "."}, "generated_text": "4.", "details": {"finish_reason": "length", "generated_tokens": 2}}),
    ];
    insta::assert_snapshot!(
        "tgi_stream",
        shown(exchange("tgi", ", stream: true", request(), events(&pieces, false)).await)
    );
    let answer = whole(json!([{"generated_text": "4"}]));
    insta::assert_snapshot!(
        "endpoint",
        shown(exchange("hf_inference_endpoint", "", request(), answer).await)
    );
    let (_, read) = exchange("tgi", "", everything(), whole(json!({}))).await;
    assert!(read.expect_err("media").starts_with("unsupported: "));
}

#[tokio::test]
async fn likelihoods_and_vectors() {
    let server = server(|request| {
        let body = request.json();
        if request.path == "/v1/embeddings" {
            return whole(
                json!({"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]}),
            );
        }
        let text = body["prompt"].as_str().unwrap_or_default();
        let tokens: Vec<String> = text.chars().map(String::from).collect();
        let offsets: Vec<usize> = (0..tokens.len()).collect();
        let values: Vec<Option<f64>> = (0..tokens.len()).map(|index| (index > 0).then_some(-0.5)).collect();
        whole(
            json!({"choices": [{"logprobs": {"tokens": tokens, "text_offset": offsets, "token_logprobs": values}}]}),
        )
    });
    let url = format!("{}/v1", server.url());
    let keys = ", model: m, loglikelihood: echo";
    let backend = backend("openai_http", &url, keys, &OpenOptions::default()).await;
    let continuation = |id: &str, text: &str| Continuation { id: id.to_owned(), text: text.to_owned() };
    let request = LoglikelihoodRequest {
        id: "q".to_owned(),
        messages: question("ab").messages,
        prompt: None,
        continuations: vec![continuation("A", " é"), continuation("B", " xyz")],
    };
    let scores = backend.loglikelihood(request).await.expect("scores").output.scores;
    let found: Vec<_> = scores
        .iter()
        .map(|score| (score.id.as_str(), score.logprob, score.token_count, score.byte_count))
        .collect();
    assert_eq!(found, [("A", -1.0, 2, 3), ("B", -2.0, 4, 4)]);
    // White space at the end of the prompt is scored with the option, and is not part of its bytes.
    let request = LoglikelihoodRequest {
        id: "q".to_owned(),
        messages: question("ab \n").messages,
        prompt: None,
        continuations: vec![continuation("A", "x")],
    };
    let score = backend.loglikelihood(request).await.expect("a score").output.scores.remove(0);
    assert_eq!((score.logprob, score.token_count, score.byte_count), (-1.5, 3, 1));
    let request = EmbedRequest { id: "e".to_owned(), texts: vec!["a".to_owned(), "b".to_owned()] };
    let vectors = backend.embed(request).await.expect("vectors").output.vectors;
    assert_eq!(vectors, [[1.0, 0.0], [0.0, 1.0]]);
}
