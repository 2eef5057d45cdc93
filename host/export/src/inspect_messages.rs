//! Converts messages to Inspect's format.

use super::text;
use gage_core::{DEFAULT_MAX_JSON_VALUES, Object, parse_json};
use serde_json::{Value, json};

/// Converts a message of a Sample or of a conversation.
pub(super) fn message(message: &Value) -> Value {
    let role = message["role"].as_str().unwrap_or("user");
    let mut made = json!({"role": role, "content": content(&message["content"])});
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    match role {
        "assistant" if !calls.is_empty() => made["tool_calls"] = calls.iter().map(tool_call).collect(),
        "tool" => made["tool_call_id"] = message["tool_call_id"].clone(),
        _ => {}
    }
    made
}

/// Returns a string if there is only text, or else a list of parts.
fn content(content: &Value) -> Value {
    match (text::plain(content), content) {
        (Some(text), _) => text.into(),
        (None, Value::Array(parts)) => parts.iter().map(part).collect(),
        (None, other) => other.to_string().into(),
    }
}

fn part(part: &Value) -> Value {
    let kind = part["type"].as_str().unwrap_or_default();
    let url = part[kind]["url"].as_str().unwrap_or_default();
    let format_of = |known: &[&'static str]| {
        let named = known.iter().find(|format| has_format(url, format));
        named.copied()
    };
    match kind {
        "text" => json!({"type": "text", "text": part["text"].as_str().unwrap_or_default()}),
        "image_url" => json!({"type": "image", "image": url}),
        "audio_url" if format_of(&["wav", "mp3"]).is_some() => {
            json!({"type": "audio", "audio": url, "format": format_of(&["wav", "mp3"])})
        }
        "video_url" if format_of(&["mp4", "mpeg", "mov"]).is_some() => {
            json!({"type": "video", "video": url, "format": format_of(&["mp4", "mpeg", "mov"])})
        }
        // Kinds that Inspect lacks are kept unchanged.
        _ => json!({"type": "data", "data": part}),
    }
}

/// Returns true if a path or a `data:` URL has a format.
fn has_format(url: &str, format: &str) -> bool {
    match url.strip_prefix("data:") {
        Some(rest) => rest
            .split([';', ','])
            .next()
            .and_then(|kind| kind.rsplit_once('/'))
            .is_some_and(|(_, kind)| kind == format),
        None => url.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(format)),
    }
}

/// Converts an OpenAI tool call, whose arguments are a string, to one whose arguments are an object.
pub(super) fn tool_call(call: &Value) -> Value {
    let written = &call["function"]["arguments"];
    let parsed = match written {
        Value::String(text) => {
            parse_json::<Object>(text.as_bytes(), DEFAULT_MAX_JSON_VALUES).map_err(|error| error.to_string())
        }
        Value::Object(object) => Ok(object.clone()),
        _ => Ok(Object::new()),
    };
    let mut made = json!({
        "id": call["id"].as_str().unwrap_or_default(),
        "function": call["function"]["name"].as_str().unwrap_or_default(),
        "type": "function",
    });
    match parsed {
        Ok(arguments) => made["arguments"] = Value::Object(arguments),
        Err(error) => {
            made["arguments"] = json!({"arguments": written});
            made["parse_error"] = error.into();
        }
    }
    made
}
