//! Shared parts of the server protocols: texts, media, tools, and what is known of a backend.

use crate::api::{BackendError, BackendErrorKind, BackendInfo, Capabilities};
use gage_config::HttpBackendConfig;
use gage_core::{ContentPart, Digest, Message, ModelOutput, Object, Usage};
use serde::Serialize;
use serde_json::{Value, json};

/// A `data:` URL in base64: its media type and its data. The crate `data-url` gives only the decoded bytes; servers take the
/// Base64 text as it is.
pub(crate) fn inline_media(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    Some((media_type.split(';').next().unwrap_or(media_type), data))
}

/// The texts of a conversation, joined by line breaks: what a base model continues.
pub(crate) fn plain_prompt(messages: &[Message]) -> String {
    let texts: Vec<String> = messages.iter().map(|message| gage_core::text_of(&message.content)).collect();
    texts.join("\n")
}

/// Returns whether a message is one text and nothing else.
pub(crate) fn is_plain(content: &[ContentPart]) -> bool {
    content.iter().all(|part| matches!(part, ContentPart::Text { extra, .. } if extra.is_empty()))
}

/// The name, description and parameters of a tool in the OpenAI shape.
pub(crate) fn function_of(tool: &Value) -> (&str, Option<&Value>, Option<&Value>) {
    let function = tool.get("function").unwrap_or(tool);
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    (name, function.get("description"), function.get("parameters"))
}

/// The id, name and arguments of a call in the OpenAI shape. Arguments that are no JSON are none.
pub(crate) fn call_of(call: &Value) -> (&str, &str, Value) {
    let function = call.get("function").unwrap_or(call);
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
        Some(object @ Value::Object(_)) => object.clone(),
        _ => json!({}),
    };
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    (id, name, text(function.get("arguments")))
}

/// A call of a tool in the OpenAI shape.
pub(crate) fn call_value(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

/// What a `tool_choice` of the OpenAI shape says.
pub(crate) enum ToolChoice<'v> {
    Auto,
    None,
    Required,
    Named(&'v str),
}

impl ToolChoice<'_> {
    pub(crate) fn of(value: &Value) -> ToolChoice<'_> {
        let named = value.pointer("/function/name").or_else(|| value.get("name")).and_then(Value::as_str);
        match (value.as_str(), named) {
            (Some("none"), _) => ToolChoice::None,
            (Some("required" | "any"), _) => ToolChoice::Required,
            (_, Some(name)) => ToolChoice::Named(name),
            _ => ToolChoice::Auto,
        }
    }
}

/// Puts entries into an object; objects within are merged, everything else is replaced.
pub(crate) fn merge(into: &mut Object, further: &Object) {
    for (key, value) in further {
        match (into.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Puts those entries into an object that have a value.
pub(crate) fn put_known<'k>(into: &mut Object, entries: impl IntoIterator<Item = (&'k str, Option<Value>)>) {
    into.extend(entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
}

/// About how many tokens a request takes: a quarter of its bytes, and all that it may generate.
pub(crate) fn estimate(body: &[u8], longest: Option<u32>) -> u64 {
    (body.len() / 4) as u64 + u64::from(longest.unwrap_or(256))
}

/// A larger number of tokens is not plausible: no answer has as many.
const MAX_REPORTED_TOKENS: u64 = 1 << 40;

/// Reads a number of tokens that a server reports; `None` if it is not a plausible count.
pub(crate) fn token_count_from_json(value: &Value) -> Option<u64> {
    value.as_u64().and_then(checked_token_count)
}

/// A number of tokens, or `None` if it is not plausible.
pub(crate) fn checked_token_count(count: u64) -> Option<u64> {
    (count <= MAX_REPORTED_TOKENS).then_some(count)
}

/// The usage that a component reports, or `None` if a count is not plausible.
pub(crate) fn checked_usage(usage: Usage) -> Option<Usage> {
    (usage.prompt_tokens.max(usage.completion_tokens) <= MAX_REPORTED_TOKENS).then_some(usage)
}

/// The tokens of a prompt and its answer, as the server counted them.
pub(crate) fn tokens_of(output: &ModelOutput) -> Option<u64> {
    output.usage.map(|usage| usage.prompt_tokens.saturating_add(usage.completion_tokens))
}

/// Headers whose names do not say that they are secret.
pub(crate) fn public_headers(config: &HttpBackendConfig) -> Object {
    let headers = config.headers.iter().filter(|header| !header.is_secret);
    headers.map(|header| (header.name.to_lowercase(), header.value.reveal().into())).collect()
}

/// What is known of a backend before it is asked.
pub(crate) fn info_of(config: &HttpBackendConfig, capabilities: Capabilities) -> BackendInfo {
    let mut details = Object::from_iter([
        ("base_url".to_owned(), config.public_base_url.as_str().into()),
        ("model".to_owned(), config.model.as_str().into()),
    ]);
    // Headers can choose the model that answers and are not recorded; this digest distinguishes those that are not secret.
    let headers = public_headers(config);
    if !headers.is_empty() {
        details.insert("headers_digest".to_owned(), Digest::of_json(&headers.into()).to_string().into());
    }
    BackendInfo {
        kind: config.kind.name(),
        model: config.model.clone(),
        capabilities,
        max_concurrency: config.limits.max_concurrency,
        details,
    }
}

/// Room for the bodies of short questions.
const TYPICAL_BODY_BYTES: usize = 1024;

/// A body as bytes.
pub(crate) fn bytes_of(body: &impl Serialize) -> Result<bytes::Bytes, BackendError> {
    let mut bytes = Vec::with_capacity(TYPICAL_BODY_BYTES);
    serde_json::to_writer(&mut bytes, body).map_err(|error| {
        let message = format!("the request cannot be written as JSON: {error}");
        BackendError::new(BackendErrorKind::Internal, message)
    })?;
    Ok(bytes.into())
}

/// A request that a protocol has no words for.
pub(crate) fn unsupported(kind: &str, what: &str) -> BackendError {
    BackendError::new(BackendErrorKind::Unsupported, format!("{kind} cannot be sent {what}"))
}
