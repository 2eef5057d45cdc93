//! Replies of servers: whole bodies, streams of events, and refusals, of all protocols.

use crate::input_numbers::InputNumbers;
use crate::servers::{PROTOCOLS, Protocol, RequestResult, STREAMED_PROTOCOLS, ServerAnswer, ask};
use crate::{Target, Verdict, mutation};
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Whole bodies of answers.
pub const BODIES: Target = Target {
    name: "server_bodies",
    cases: 500,
    seeds: body_seeds,
    inputs: || mutation::json_inputs(body_seeds(), NAMES),
    check: check_body,
};

/// Streams of server-sent events.
pub const STREAMS: Target = Target {
    name: "server_streams",
    cases: 500,
    seeds: stream_seeds,
    inputs: || mutation::inputs(stream_seeds(), STREAM_TOKENS),
    check: check_stream,
};

/// Statuses that are not a success, with their headers and bodies.
pub const REFUSALS: Target = Target {
    name: "server_refusals",
    cases: 500,
    seeds: refusal_seeds,
    inputs: || mutation::inputs(refusal_seeds(), REFUSAL_TOKENS),
    check: check_refusal,
};

/// Maximum number of places where a body is cut.
const MAX_CUTS: usize = 12;

/// Maximum size of a body that is also sent byte by byte.
const MAX_BYTEWISE_BYTES: usize = 600;

const NAMES: &[&str] = &[
    "id",
    "object",
    "model",
    "system_fingerprint",
    "choices",
    "index",
    "message",
    "delta",
    "text",
    "role",
    "content",
    "type",
    "refusal",
    "reasoning_content",
    "reasoning",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "images",
    "image_url",
    "url",
    "audio",
    "data",
    "transcript",
    "logprobs",
    "tokens",
    "token_logprobs",
    "top_logprobs",
    "text_offset",
    "token",
    "logprob",
    "bytes",
    "prompt_logprobs",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "stop_reason",
    "thinking",
    "input",
    "partial_json",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "inlineData",
    "mimeType",
    "finishReason",
    "usageMetadata",
    "promptTokenCount",
    "promptFeedback",
    "blockReason",
    "generated_text",
    "details",
    "generated_tokens",
    "prefill",
    "embedding",
    "error",
    "code",
    "status",
];

const STREAM_TOKENS: &[&str] = &[
    "data: ",
    "data:",
    "data",
    "event: ",
    "id: 7",
    ":",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\u{feff}",
    "[DONE]",
    "data: [DONE]\n\n",
    "{}",
    "{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}",
    "\"finish_reason\":\"stop\"",
    "{\"type\":\"message_stop\"}",
    "{\"error\":{\"message\":\"no\",\"code\":429}}",
    "\"index\":1023",
    "\"id\":\"b\"",
    "[",
    "{",
    "}",
    "]",
    ",",
    "\"",
    "\\",
    "\\ud83d",
    "é",
    "\u{0}",
    "null",
    "sk-0123456789abcdef",
];

const REFUSAL_TOKENS: &[&str] = &[
    "429\n",
    "200\n",
    "301\n",
    "503\n",
    "retry-after: ",
    "retry-after-ms: ",
    "x-ratelimit-remaining-requests: 0\n",
    "x-ratelimit-limit-requests: 1\n",
    "x-ratelimit-reset-requests: ",
    "anthropic-ratelimit-tokens-reset: ",
    "ratelimit-remaining: 0\n",
    "ratelimit-reset: ",
    "date: Fri, 02 Jan 2026 03:04:05 GMT\n",
    "location: ",
    "1h2m",
    "-1",
    "1e300",
    "NaN",
    "2026-01-02T03:04:06.5Z",
    "x-should-retry: true\n",
    "\n\n",
    "\n",
    ": ",
    "{\"error\":",
    "\"message\":",
    "\"code\":",
    "\"retryDelay\":\"1e300s\"",
    "insufficient_quota",
    "[",
    "{",
    "}",
    "]",
    "\"",
    "sk-0123456789abcdef",
    "é",
    "\u{0}",
];

fn bodies() -> Vec<Value> {
    vec![
        json!({"id": "chatcmpl-1", "model": "m", "system_fingerprint": "f", "choices": [{
            "index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "<think>hm</think>4", "refusal": null, "reasoning_content": "hm",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
                "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
                "audio": {"data": "AAAA", "transcript": "four"},
            },
            "logprobs": {"content": [{"token": "4", "logprob": -0.1, "bytes": [52], "top_logprobs": [
                {"token": "5", "logprob": -2.5, "bytes": [53]}]}]},
        }], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}),
        json!({"choices": [{"index": 0, "text": "4", "finish_reason": "stop", "logprobs": {
            "tokens": ["2", "+", "2", "=", "4"], "token_logprobs": [null, -0.5, -0.25, -1.5, -0.125],
            "top_logprobs": [null, {"+": -0.5}, {"2": -0.25}, {"=": -1.5}, {"4": -0.125}], "text_offset": [0, 1, 2, 3, 4],
        }}]}),
        json!({"choices": [{"text": "", "prompt_logprobs": [
            null, {"7": {"logprob": -0.5, "rank": 1}}, {"8": {"logprob": -0.25}, "9": {"logprob": -4.0}}, {"3": -1.5}, {"4": -0.125},
        ]}]}),
        json!({"id": "msg_1", "type": "message", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "4"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 2}},
        ], "stop_reason": "tool_use", "usage": {"input_tokens": 10, "cache_read_input_tokens": 2, "output_tokens": 3}}),
        json!({"responseId": "r", "candidates": [{"content": {"parts": [
            {"text": "hm", "thought": true}, {"text": "4"}, {"functionCall": {"name": "look", "args": {"at": 2}}},
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        ]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3}}),
        json!({"promptFeedback": {"blockReason": "SAFETY"}}),
        json!([{"generated_text": "4.", "details": {"finish_reason": "length", "generated_tokens": 2, "prefill": [{}]}}]),
        json!({"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.5]}], "usage": {"prompt_tokens": 2}}),
    ]
}

fn body_seeds() -> Vec<Vec<u8>> {
    bodies().iter().map(|body| body.to_string().into_bytes()).collect()
}

fn stream_of(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| format!("data: {event}\n\n");
    events.iter().map(event).collect::<String>().into_bytes()
}

fn stream_seeds() -> Vec<Vec<u8>> {
    let delta = |delta: Value| json!({"id": "a", "model": "m", "choices": [{"index": 0, "delta": delta}]});
    let mut chat = stream_of(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "4"})),
        delta(
            json!({"content": "é😀", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a\":"}}]}),
        ),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})),
        delta(json!({"audio": {"data": "AAAA", "transcript": "x"}})),
        json!({"id": "a", "choices": [{"delta": {}, "finish_reason": "stop", "logprobs": {"content": [{"token": "4", "logprob": -0.1}]}}]}),
        json!({"id": "a", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    ]);
    chat.extend(b": comment\r\nevent: end\ndata: [DONE]\n\n");
    let anthropic = stream_of(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "4"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ]);
    let gemini = stream_of(&[
        json!({"candidates": [{"content": {"parts": [{"text": "4"}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}]}),
    ]);
    let texts = stream_of(&[
        json!({"token": {"text": "4"}, "generated_text": null}),
        json!({"token": {"text": "."}, "generated_text": "4.", "details": {"finish_reason": "length"}}),
    ]);
    // After a byte order mark, with other line ends, and without the last ones.
    let odd =
        b"\xef\xbb\xbfdata:{\"choices\":[{\"text\":\"4\",\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]"
            .to_vec();
    // Bytes after the answer do not count. They may arrive with it or later.
    let ended =
        b"data: {\"choices\":[{\"text\":\"4\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n\xff\n"
            .to_vec();
    vec![chat, anthropic, gemini, texts, odd, ended]
}

fn refusal_seeds() -> Vec<Vec<u8>> {
    let seeds = [
        "429\nretry-after: 3\nx-ratelimit-remaining-requests: 0\nx-ratelimit-limit-requests: 60\n\
         x-ratelimit-reset-requests: 1m0s\n\n{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}",
        "429\ndate: Fri, 02 Jan 2026 03:04:05 GMT\nretry-after: Fri, 02 Jan 2026 03:14:05 GMT\n\n\
         {\"error\":{\"details\":[{\"quotaId\":\"PerDay\"},{\"retryDelay\":\"2.5s\"}]}}",
        "529\nanthropic-ratelimit-requests-remaining: 0\nanthropic-ratelimit-requests-limit: 10\n\
         anthropic-ratelimit-requests-reset: 2026-01-02T03:05:05Z\n\n{\"error\":{\"type\":\"overloaded_error\"}}",
        "401\n\n{\"error\":{\"message\":\"invalid key sk-0123456789abcdef\"}}",
        "400\n\n{\"error\":{\"message\":\"filtered\",\"code\":\"content_filter\"}}",
        "302\nlocation: /v1/elsewhere\n\n",
        "404\nx-should-retry: true\n\n<html>nothing here</html>",
        "503\nratelimit-remaining: 0\nratelimit-reset: 2\n\n[{\"error\":{\"message\":\"later\"}}]",
    ];
    seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

fn answer_of(status: u16, content_type: &'static str, pieces: &[&[u8]]) -> ServerAnswer {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
    ServerAnswer { status, headers, pieces }
}

/// Checks that the result of a body does not depend on its pieces.
fn check_pieces(
    protocol: Protocol,
    content_type: &'static str,
    body: &[u8],
    numbers: &mut InputNumbers,
) -> Result<RequestResult, String> {
    let whole = ask(protocol, answer_of(200, content_type, &[body]), None)?;
    let mut cuts = vec![numbers.pieces(body, MAX_CUTS)];
    if body.len() <= MAX_BYTEWISE_BYTES {
        cuts.push(body.chunks(1).collect());
    }
    for pieces in cuts {
        let again = ask(protocol, answer_of(200, content_type, &pieces), None)?;
        if again != whole {
            let count = pieces.len();
            return Err(format!("{protocol:?}: whole: {whole:?}, in {count} pieces: {again:?}"));
        }
    }
    Ok(whole)
}

fn check_body(input: &[u8]) -> Result<Verdict, String> {
    let mut numbers = InputNumbers::of(input);
    let mut verdict = Verdict::Refused;
    for protocol in PROTOCOLS {
        let result = check_pieces(protocol, "application/json", input, &mut numbers)?;
        verdict = verdict.or(Verdict::of(&result));
    }
    Ok(verdict)
}

fn check_stream(input: &[u8]) -> Result<Verdict, String> {
    let mut numbers = InputNumbers::of(input);
    let mut verdict = Verdict::Refused;
    for protocol in STREAMED_PROTOCOLS {
        let result = check_pieces(protocol, "text/event-stream", input, &mut numbers)?;
        verdict = verdict.or(Verdict::of(&result));
    }
    Ok(verdict)
}

/// Reads a refusal: a status, headers, an empty line, and a body.
fn refusal_in(input: &[u8]) -> Option<ServerAnswer> {
    let end = input.windows(2).position(|pair| pair == b"\n\n").unwrap_or(input.len());
    let (head, body) = (input.get(..end)?, input.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|byte| *byte == b'\n');
    let status: u16 = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (line.get(..colon)?, line.get(colon + 1..).unwrap_or_default());
        let pair = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value.trim_ascii()));
        if let (Ok(name), Ok(value)) = pair {
            headers.append(name, value);
        }
    }
    let is_refusal = (100..1_000).contains(&status) && !(200..300).contains(&status);
    is_refusal.then(|| ServerAnswer { status, headers, pieces: vec![Bytes::copy_from_slice(body)] })
}

/// A refusal is an error, or an answer of a content filter. Its verdict says whether the input is a refusal.
fn check_refusal(input: &[u8]) -> Result<Verdict, String> {
    let Some(answer) = refusal_in(input) else { return Ok(Verdict::Refused) };
    for protocol in PROTOCOLS {
        if let Err((_, message)) = ask(protocol, answer.clone(), None)?
            && message.is_empty()
        {
            return Err(format!("{protocol:?}: an error without a message"));
        }
    }
    Ok(Verdict::Accepted)
}
