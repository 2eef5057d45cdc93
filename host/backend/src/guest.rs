//! Between the messages and answers of this program and those of components.

use crate::conversation::plausible;
use base64::Engine as _;
use gage_core::{ContentPart, FinishReason, Message, ModelOutput, Object, Role, TIMING_KEYS, Usage};
use gage_plugin::MediaSet;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// A message for a component. With a set, media that lie in the message go into it, and a reference
/// takes their place.
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
    gage_plugin::Message { role, content, extra: Value::Object(extra).to_string() }
}

/// What stands for media that lie in the message itself, as a `data:` URL.
fn reference_of(part: &ContentPart, media: &mut MediaSet) -> Option<Value> {
    let ContentPart::Media { kind, url, .. } = part else { return None };
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
    let guest_kind = match kind {
        gage_core::MediaKind::Image => gage_plugin::MediaKind::Image,
        gage_core::MediaKind::Audio => gage_plugin::MediaKind::Audio,
        gage_core::MediaKind::Video => gage_plugin::MediaKind::Video,
        gage_core::MediaKind::File => gage_plugin::MediaKind::File,
    };
    let reference = media.add(guest_kind, media_type, Arc::from(bytes));
    Some(json!({
        "type": "media",
        "kind": kind.type_name().trim_end_matches("_url"),
        "digest": reference.digest,
        "media_type": reference.media_type,
        "size": reference.size,
    }))
}

/// What a component answered.
pub(crate) fn output_of(generation: gage_plugin::Generation) -> ModelOutput {
    let finish = match generation.finish {
        gage_plugin::FinishReason::Stop => FinishReason::Stop,
        gage_plugin::FinishReason::Length => FinishReason::Length,
        gage_plugin::FinishReason::ToolCalls => FinishReason::ToolCalls,
        gage_plugin::FinishReason::ContentFilter => FinishReason::ContentFilter,
        gage_plugin::FinishReason::Other => FinishReason::Other,
    };
    let usage = generation.usage.and_then(|usage| {
        plausible(Usage { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens })
    });
    let mut output = ModelOutput::generated(generation.answer, finish, usage);
    // It was checked to be an object when it came out of the component.
    if let Ok(Value::Object(extra)) = serde_json::from_str(&generation.extra) {
        output.extra = extra;
        TIMING_KEYS.into_iter().for_each(|name| drop(output.extra.shift_remove(name)));
    }
    // A component knows what its settings hold.
    if let Cow::Owned(clean) = gage_secrets::redact(&output.answer) {
        output.answer = clean;
    }
    gage_secrets::redact_value_and_numbers(&mut output.extra);
    output
}

/// An answer of a model, for a component that is to read it.
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
        answer: output.answer,
        finish,
        usage,
        extra: Value::Object(output.extra).to_string(),
    }
}
