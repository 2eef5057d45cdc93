//! Answers in the shapes that clients expect.

use crate::{Answer, Reply, Request};
use bytes::Bytes;
use serde_json::{Value, json};

/// Returns a reply of the chat completions API.
pub fn completion(answer: &str) -> Reply {
    Reply::json(
        200,
        &json!({
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}},
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }),
    )
}

/// Returns a stream of server-sent events, each in its own chunk.
pub fn events(data: &[Value], breaks_off: bool) -> Answer {
    let piece = |data: &Value| {
        let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        Bytes::from(format!("data: {text}\n\n"))
    };
    Answer::Chunks { content_type: "text/event-stream", pieces: data.iter().map(piece).collect(), breaks_off }
}

/// Returns the last message of a chat completion request.
pub fn last_message(request: &Request) -> String {
    let body = request.json();
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.last().and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}
