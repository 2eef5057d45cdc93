//! Bodies of requests.

use crate::api::{BackendError, GenerateRequest};
use crate::conversation::{
    ToolChoice, call_of, function_of, inline_media, is_plain, merge, put_known, unsupported,
};
use gage_config::{ANTHROPIC_MAX_TOKENS, HttpBackendConfig};
use gage_core::{ContentPart, MediaKind, Message, Object, Role};
use serde_json::{Value, json};

/// Builds the body of a request. Also returns the maximum number of tokens that it may generate.
pub(super) fn body_of(
    request: GenerateRequest,
    config: &HttpBackendConfig,
) -> Result<(Object, u32), BackendError> {
    let params = request.params.over(&config.default_params);
    let longest = params.max_new_tokens.unwrap_or(ANTHROPIC_MAX_TOKENS);
    let mut messages = request.messages.into_vec();
    if let Some(prompt) = request.prompt {
        messages = vec![Message::text(Role::User, prompt)];
    }
    let system: Vec<String> = messages
        .iter()
        .filter(|message| message.role == Role::System)
        .map(|message| gage_core::text_of(&message.content))
        .collect();
    let mut body = Object::from_iter([
        ("model".to_owned(), config.model.as_str().into()),
        ("max_tokens".to_owned(), longest.into()),
    ]);
    if !system.is_empty() {
        body.insert("system".to_owned(), system.join("\n\n").into());
    }
    body.insert("messages".to_owned(), conversation(messages)?);
    // With thinking enabled, the API accepts only its own default temperature.
    let thinks = config.extra_body.contains_key("thinking");
    let temperature = params.temperature.or((!thinks).then_some(0.0));
    let further = [
        ("temperature", temperature.map(Value::from)),
        ("top_p", params.top_p.map(Value::from)),
        ("top_k", params.top_k.map(Value::from)),
        ("stop_sequences", params.stop.map(Value::from)),
        ("stream", config.stream.then_some(Value::Bool(true))),
    ];
    put_known(&mut body, further);
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        if let Some(choice) = &request.tool_choice {
            let choice = match ToolChoice::of(choice) {
                ToolChoice::Auto => json!({"type": "auto"}),
                ToolChoice::None => json!({"type": "none"}),
                ToolChoice::Required => json!({"type": "any"}),
                ToolChoice::Named(name) => json!({"type": "tool", "name": name}),
            };
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    merge(&mut body, &config.extra_body);
    Ok((body, longest))
}

fn tool(tool: &Value) -> Value {
    let (name, description, parameters) = function_of(tool);
    let mut object = Object::from_iter([("name".to_owned(), name.into())]);
    put_known(&mut object, [("description", description.cloned())]);
    let schema = parameters.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    object.insert("input_schema".to_owned(), schema);
    Value::Object(object)
}

/// Converts all messages except system messages, which are sent separately. Tool results are parts of user messages.
fn conversation(messages: Vec<Message>) -> Result<Value, BackendError> {
    let mut list: Vec<Value> = Vec::new();
    for message in messages {
        if message.role == Role::System {
            continue;
        }
        if message.role == Role::Tool {
            let result = json!({
                "type": "tool_result",
                "tool_use_id": message.tool_call_id.unwrap_or_default(),
                "content": gage_core::text_of(&message.content),
            });
            // All tool results of one turn go into one message.
            let last = list.last_mut().and_then(|last| last.get_mut("content")).and_then(Value::as_array_mut);
            match last.filter(|parts| parts.iter().all(|part| part["type"] == "tool_result")) {
                Some(parts) => parts.push(result),
                None => list.push(json!({"role": "user", "content": [result]})),
            }
            continue;
        }
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        if message.tool_calls.is_empty() && is_plain(&message.content) {
            list.push(json!({"role": role, "content": gage_core::text_of(&message.content)}));
            continue;
        }
        let mut parts = message.content.into_iter().map(part).collect::<Result<Vec<Value>, _>>()?;
        // The API refuses empty texts.
        parts.retain(|part| part.get("text").and_then(Value::as_str) != Some(""));
        for call in &message.tool_calls {
            let (id, name, arguments) = call_of(call);
            parts.push(json!({"type": "tool_use", "id": id, "name": name, "input": arguments}));
        }
        list.push(json!({"role": role, "content": parts}));
    }
    Ok(Value::Array(list))
}

fn part(part: ContentPart) -> Result<Value, BackendError> {
    let (kind, url) = match part {
        ContentPart::Text { text, .. } => return Ok(json!({"type": "text", "text": text})),
        ContentPart::Media { kind, url, .. } => (kind, url),
    };
    let name = match kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio => return Err(unsupported("anthropic_http", "sound")),
        MediaKind::Video => return Err(unsupported("anthropic_http", "video")),
    };
    let source = match inline_media(&url) {
        Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
        None => json!({"type": "url", "url": url}),
    };
    Ok(json!({"type": name, "source": source}))
}
