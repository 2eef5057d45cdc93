//! The bodies of requests and replies.

use crate::api::GenerateRequest;
use gage_config::OpenAiHttpConfig;
use gage_core::{ContentPart, FinishReason, Message, ModelOutput, Object, SamplingParams, Usage};
use serde_json::{Value, json};

/// A reply may not be nested deeper than this.
const MOST_LEVELS: usize = 64;

/// The body of a request.
pub(crate) fn body_of(request: GenerateRequest, config: &OpenAiHttpConfig) -> Result<String, String> {
    let params = request.params.over(&config.default_params);
    let mut body = Object::new();
    body.insert("model".to_owned(), config.model.as_str().into());
    let is_chat = request.prompt.is_none();
    match request.prompt {
        Some(prompt) => body.insert("prompt".to_owned(), prompt.into()),
        None => {
            let messages = request.messages.into_iter().map(message_to_value).collect();
            body.insert("messages".to_owned(), messages)
        }
    };
    put_params(&mut body, params);
    if is_chat && !request.tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(request.tools));
        if let Some(choice) = request.tool_choice {
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    body.extend(config.extra_body.clone());
    serde_json::to_string(&body).map_err(|error| format!("the request cannot be written as JSON: {error}"))
}

fn put_params(body: &mut Object, params: SamplingParams) {
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(key.to_owned(), value);
        }
    };
    put("max_tokens", params.max_new_tokens.map(Value::from));
    put("temperature", Some(params.temperature.unwrap_or(0.0).into()));
    put("top_p", params.top_p.map(Value::from));
    put("top_k", params.top_k.map(Value::from));
    put("min_p", params.min_p.map(Value::from));
    put("seed", params.seed.map(Value::from));
    put("stop", params.stop.map(Value::from));
    put("presence_penalty", params.presence_penalty.map(Value::from));
    put("frequency_penalty", params.frequency_penalty.map(Value::from));
    put("repetition_penalty", params.repetition_penalty.map(Value::from));
}

/// A message in the shape that servers understand best: text alone as a string.
fn message_to_value(message: Message) -> Value {
    let is_plain = message
        .content
        .iter()
        .all(|part| matches!(part, ContentPart::Text { extra, .. } if extra.is_empty()));
    let text = is_plain.then(|| gage_core::text_of(&message.content));
    let mut value = message.into_value();
    if let (Some(text), Some(content)) = (text, value.get_mut("content")) {
        *content = text.into();
    }
    value
}

/// Reads the body of a reply.
pub(crate) fn read_reply(bytes: &[u8]) -> Result<ModelOutput, String> {
    let reply: Value = serde_json::from_slice(bytes).map_err(|error| {
        format!("the reply is not JSON ({error}): {}", shown(&String::from_utf8_lossy(bytes)))
    })?;
    if gage_core::json_depth(&reply) > MOST_LEVELS {
        return Err(format!("the reply is nested deeper than {MOST_LEVELS} levels"));
    }
    let choice = reply
        .pointer("/choices/0")
        .ok_or_else(|| format!("the reply has no choices: {}", shown(&reply.to_string())))?;
    // Completions of a rendered prompt are a `text`, those of a conversation a `message`.
    let completion = choice.get("text").map(|text| json!({"content": text}));
    let message = choice
        .get("message")
        .or(completion.as_ref())
        .ok_or_else(|| format!("the reply has no message: {}", shown(&reply.to_string())))?;
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("stop") | None => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("content_filter") => FinishReason::ContentFilter,
        Some(_) => FinishReason::Other,
    };
    let refusal = message.get("refusal").and_then(Value::as_str);
    let is_refused = refusal.is_some_and(|text| !text.is_empty());
    let finish = if is_refused { FinishReason::ContentFilter } else { finish };
    let count = |key: &str| reply.pointer(&format!("/usage/{key}")).and_then(Value::as_u64);
    let usage = count("prompt_tokens").map(|prompt_tokens| Usage {
        prompt_tokens,
        completion_tokens: count("completion_tokens").unwrap_or(0),
    });
    let mut output = ModelOutput::generated(answer_of(message)?, finish, usage);
    let reasoning = message.get("reasoning_content").or_else(|| message.get("reasoning"));
    for (name, value) in [("reasoning", reasoning), ("tool_calls", message.get("tool_calls"))] {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            output.extra.insert(name.to_owned(), value.clone());
        }
    }
    Ok(output)
}

fn answer_of(message: &Value) -> Result<String, String> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            Ok(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect())
        }
        Some(other) => Err(format!(
            "the content of the reply is neither text nor parts: {}",
            shown(&json!(other).to_string())
        )),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}
