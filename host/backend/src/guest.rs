//! Converts messages and answers between this program and components.

use crate::conversation::{checked_usage, inline_media};
use base64::Engine as _;
use gage_core::{ContentPart, FinishReason, Message, ModelOutput, Object, Role, TIMING_KEYS, Usage};
use gage_plugin::MediaSet;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// Converts a message for a component. With a set, inline media are moved into it and replaced by a reference.
pub(crate) fn message_to_guest(message: Message, media: Option<&mut MediaSet>) -> gage_plugin::Message {
    let role = match message.role {
        Role::System => gage_plugin::Role::System,
        Role::User => gage_plugin::Role::User,
        Role::Assistant => gage_plugin::Role::Assistant,
        Role::Tool => gage_plugin::Role::Tool,
    };
    let content = gage_core::text_of(&message.content);
    let references: Vec<Option<Value>> = match media {
        Some(media) => message.content.iter().map(|part| reference_of(part, media)).collect(),
        None => Vec::new(),
    };
    let has_media = message.has_media();
    let mut extra = match message.to_value() {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    extra.shift_remove("role");
    if let Some(mut parts) = extra.shift_remove("content").filter(|_| has_media) {
        let list = parts.as_array_mut().into_iter().flatten();
        for (part, reference) in list.zip(references) {
            if let Some(reference) = reference {
                *part = reference;
            }
        }
        extra.insert("parts".to_owned(), parts);
    }
    gage_plugin::Message { role, content: clean(content), extra: clean(Value::Object(extra).to_string()) }
}

/// Converts the kind of media for components.
pub fn media_kind_to_guest(kind: gage_core::MediaKind) -> gage_plugin::MediaKind {
    match kind {
        gage_core::MediaKind::Image => gage_plugin::MediaKind::Image,
        gage_core::MediaKind::Audio => gage_plugin::MediaKind::Audio,
        gage_core::MediaKind::Video => gage_plugin::MediaKind::Video,
        gage_core::MediaKind::File => gage_plugin::MediaKind::File,
    }
}

/// Returns the reference that replaces inline media (a `data:` URL).
fn reference_of(part: &ContentPart, media: &mut MediaSet) -> Option<Value> {
    let ContentPart::Media { kind, url, .. } = part else { return None };
    let (media_type, data) = inline_media(url)?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
    let reference = media.add(media_kind_to_guest(*kind), media_type, Arc::from(bytes));
    Some(json!({
        "type": "media",
        "kind": kind.type_name().trim_end_matches("_url"),
        "digest": reference.digest,
        "media_type": reference.media_type,
        "size": reference.size,
    }))
}

/// Converts a component's answer.
pub(crate) fn output_of(generation: gage_plugin::Generation) -> ModelOutput {
    let finish = match generation.finish {
        gage_plugin::FinishReason::Stop => FinishReason::Stop,
        gage_plugin::FinishReason::Length => FinishReason::Length,
        gage_plugin::FinishReason::ToolCalls => FinishReason::ToolCalls,
        gage_plugin::FinishReason::ContentFilter => FinishReason::ContentFilter,
        gage_plugin::FinishReason::Other => FinishReason::Other,
    };
    let usage = generation.usage.and_then(|usage| {
        checked_usage(Usage {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
        })
    });
    let mut output = ModelOutput::generated(generation.answer, finish, usage);
    // It was checked to be an object when it came out of the component.
    if let Ok(Value::Object(extra)) = serde_json::from_str(&generation.extra) {
        output.extra = extra;
        TIMING_KEYS.into_iter().for_each(|name| drop(output.extra.shift_remove(name)));
    }
    // A component knows its settings, which may include secrets.
    output.answer = clean(output.answer);
    gage_secrets::redact_value_and_numbers(&mut output.extra);
    output
}

/// Redacts secrets in a text: none may enter a component.
pub(crate) fn clean(text: String) -> String {
    match gage_secrets::redact(&text) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => text,
    }
}

/// Converts a model's answer for a component to read.
pub fn output_to_guest(output: ModelOutput) -> gage_plugin::Generation {
    let finish = match output.finish_reason {
        FinishReason::Stop => gage_plugin::FinishReason::Stop,
        FinishReason::Length => gage_plugin::FinishReason::Length,
        FinishReason::ToolCalls => gage_plugin::FinishReason::ToolCalls,
        FinishReason::ContentFilter => gage_plugin::FinishReason::ContentFilter,
        FinishReason::Scored | FinishReason::Other => gage_plugin::FinishReason::Other,
    };
    let usage = output.usage.map(|usage| gage_plugin::Usage {
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
    });
    gage_plugin::Generation {
        answer: clean(output.answer),
        finish,
        usage,
        extra: clean(Value::Object(output.extra).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-guest/1<2>3";

    /// Checks every text of a request and of an answer that a component receives, with the secret both verbatim and in
    /// JSON.
    #[test]
    fn no_secret_enters_a_component() {
        gage_secrets::register_secret(SECRET);
        let in_json = json!({"key": SECRET}).to_string();
        for message in [
            json!({"role": "user", "content": SECRET}),
            json!({"role": "user", "content": in_json}),
            json!({"role": "system", "content": [{"type": "text", "text": SECRET, "note": SECRET}]}),
            json!({"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": format!("https://x.test/{SECRET}.png")}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": SECRET}},
            ]}),
            json!({"role": "user", "name": SECRET, "content": "x"}),
            json!({"role": "tool", "tool_call_id": SECRET, "content": SECRET}),
            json!({"role": "assistant", "content": "", "tool_calls": [
                {"id": SECRET, "type": "function", "function": {"name": "f", "arguments": in_json}},
            ]}),
            json!({"role": "user", "content": "x", "further": {"deep": [SECRET]}}),
        ] {
            for with_media in [false, true] {
                let mut media = MediaSet::default();
                let own = Message::from_value(message.clone()).expect("a message");
                let guest = message_to_guest(own, with_media.then_some(&mut media));
                let all = format!("{} {}", guest.content, guest.extra);
                // A reference to media replaces everything that a part says.
                assert!(with_media || all.contains("(secret)"), "{message}: {all}");
                assert!(!all.contains("sk-guest"), "{message}: {all}");
            }
        }
        let mut output = ModelOutput::generated(format!("is {SECRET}"), FinishReason::Stop, None);
        output.extra.insert("reasoning".to_owned(), in_json.into());
        let guest = output_to_guest(output);
        assert_eq!(guest.answer, "is (secret)");
        assert!(guest.extra.contains("(secret)") && !guest.extra.contains("sk-guest"), "{}", guest.extra);
    }
}
