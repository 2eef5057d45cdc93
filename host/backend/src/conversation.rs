//! Shared parts of the server protocols: texts, media, tools, and descriptions of backends.

use crate::api::{BackendError, BackendErrorKind, BackendInfo, Capabilities};
use gage_config::HttpBackendConfig;
use gage_core::{
    ContentPart, DEFAULT_MAX_JSON_VALUES, Digest, Message, ModelOutput, Object, Usage, parse_json,
};
use serde::Serialize;
use serde_json::{Value, json};

/// Splits a base64 `data:` URL into its media type and its data. The crate `data-url` only returns decoded bytes, but
/// servers take the Base64 text unchanged.
pub(crate) fn inline_media(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    Some((media_type.split(';').next().unwrap_or(media_type), data))
}

/// Joins the texts of a conversation by line breaks: the prompt that a base model continues.
pub(crate) fn plain_prompt(messages: &[Message]) -> String {
    let texts: Vec<String> = messages.iter().map(|message| gage_core::text_of(&message.content)).collect();
    texts.join("\n")
}

/// Returns true if a message is a single text and nothing else.
pub(crate) fn is_plain(content: &[ContentPart]) -> bool {
    content.iter().all(|part| matches!(part, ContentPart::Text { extra, .. } if extra.is_empty()))
}

/// Returns the name, description and parameters of a tool in the OpenAI format.
pub(crate) fn function_of(tool: &Value) -> (&str, Option<&Value>, Option<&Value>) {
    let function = tool.get("function").unwrap_or(tool);
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    (name, function.get("description"), function.get("parameters"))
}

/// Returns the id, name and arguments of a call in the OpenAI format. Arguments that are not JSON, or have too many values,
/// become an empty object.
pub(crate) fn call_of(call: &Value) -> (&str, &str, Value) {
    let function = call.get("function").unwrap_or(call);
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => {
            parse_json(text.as_bytes(), DEFAULT_MAX_JSON_VALUES).unwrap_or_else(|_| json!({}))
        }
        Some(object @ Value::Object(_)) => object.clone(),
        _ => json!({}),
    };
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
    (id, name, text(function.get("arguments")))
}

/// Creates a tool call in the OpenAI format.
pub(crate) fn call_value(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}

/// Parsed `tool_choice` in the OpenAI format.
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

/// Merges entries into an object. Nested objects are merged; everything else is replaced.
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

/// Adds the entries that have a value to an object.
pub(crate) fn put_known<'k>(into: &mut Object, entries: impl IntoIterator<Item = (&'k str, Option<Value>)>) {
    into.extend(entries.into_iter().filter_map(|(key, value)| value.map(|value| (key.to_owned(), value))));
}

/// Estimates the number of tokens of a request: a quarter of its bytes, plus all that it may generate.
pub(crate) fn estimate(body: &[u8], longest: Option<u32>) -> u64 {
    (body.len() / 4) as u64 + u64::from(longest.unwrap_or(256))
}

/// Maximum plausible number of tokens; no answer has more.
const MAX_REPORTED_TOKENS: u64 = 1 << 40;

/// Reads a token count reported by a server; `None` if it is not plausible.
pub(crate) fn token_count_from_json(value: &Value) -> Option<u64> {
    value.as_u64().and_then(checked_token_count)
}

/// Returns a token count, or `None` if it is not plausible.
pub(crate) fn checked_token_count(count: u64) -> Option<u64> {
    (count <= MAX_REPORTED_TOKENS).then_some(count)
}

/// Returns the usage reported by a component, or `None` if a count is not plausible.
pub(crate) fn checked_usage(usage: Usage) -> Option<Usage> {
    (usage.prompt_tokens.max(usage.completion_tokens) <= MAX_REPORTED_TOKENS).then_some(usage)
}

/// Returns the tokens of a prompt and its answer, as the server counted them.
pub(crate) fn tokens_of(output: &ModelOutput) -> Option<u64> {
    output.usage.map(|usage| usage.prompt_tokens.saturating_add(usage.completion_tokens))
}

/// Returns the headers whose names do not mark them as secret.
pub(crate) fn public_headers(config: &HttpBackendConfig) -> Object {
    let headers = config.headers.iter().filter(|header| !header.is_secret);
    headers.map(|header| (header.name.to_lowercase(), header.value.reveal().into())).collect()
}

/// Returns the description of a backend, as known before any request.
pub(crate) fn info_of(config: &HttpBackendConfig, capabilities: Capabilities) -> BackendInfo {
    let mut details = Object::from_iter([
        ("base_url".to_owned(), config.public_base_url.as_str().into()),
        ("model".to_owned(), config.model.as_str().into()),
    ]);
    // Headers can choose the model that answers, and are not recorded. This digest distinguishes the non-secret ones.
    let headers = public_headers(config);
    if !headers.is_empty() {
        details.insert("headers_digest".to_owned(), Digest::of_json(&headers.into()).to_string().into());
    }
    BackendInfo {
        kind: config.kind.name(),
        model: config.model.clone(),
        capabilities,
        max_concurrency: config.limits.most_requests(),
        details,
    }
}

/// Initial capacity that fits the bodies of short questions.
const TYPICAL_BODY_BYTES: usize = 1024;

/// Serializes a body.
pub(crate) fn bytes_of(body: &impl Serialize) -> Result<bytes::Bytes, BackendError> {
    let mut bytes = Vec::with_capacity(TYPICAL_BODY_BYTES);
    serde_json::to_writer(&mut bytes, body).map_err(|error| {
        let message = format!("the request cannot be written as JSON: {error}");
        BackendError::new(BackendErrorKind::Internal, message)
    })?;
    Ok(bytes.into())
}

/// Creates the error for a request that a protocol cannot express.
pub(crate) fn unsupported(kind: &str, what: &str) -> BackendError {
    BackendError::new(BackendErrorKind::Unsupported, format!("{kind} cannot be sent {what}"))
}
