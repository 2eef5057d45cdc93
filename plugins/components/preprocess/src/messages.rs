//! Messages of a Sample: their standard form, and the additions from parameters.

use crate::openai_choices::content_text;
use crate::sample::{message, text_part};
use gage_sdk::serde_json::Value;

/// Returns a message whose content is a list of parts.
pub(crate) fn with_parts(mut message: Value) -> Value {
    if let Some(content @ Value::String(_)) = message.get_mut("content") {
        let Value::String(text) = content.take() else { return message };
        *content = Value::Array(vec![text_part(text)]);
    }
    message
}

/// Puts a system message before all others, unless one is already there; an empty text means none.
pub(crate) fn add_system(messages: &mut Vec<Value>, system_prompt: Option<&str>) {
    let has_system = messages.first().is_some_and(|first| first["role"] == "system");
    if let Some(system_prompt) = system_prompt.filter(|text| !text.is_empty() && !has_system) {
        messages.insert(0, message("system", system_prompt));
    }
}

/// Adds an instruction after the text of the last user message; an empty one means none.
pub(crate) fn add_instruction(messages: &mut [Value], instruction: Option<&str>) {
    let Some(instruction) = instruction.filter(|text| !text.is_empty()) else { return };
    let last_user = messages.iter_mut().rev().find(|message| message["role"] == "user");
    let Some(Value::Array(parts)) = last_user.and_then(|message| message.get_mut("content")) else { return };
    match parts.last_mut().and_then(|part| part.get_mut("text")) {
        Some(Value::String(text)) => {
            text.push_str("\n\n");
            text.push_str(instruction);
        }
        _ => parts.push(text_part(instruction)),
    }
}

/// Returns the text of the last of these messages from the model; `None` if that is empty.
pub(crate) fn last_said(messages: &[Value]) -> Option<String> {
    let last = messages.iter().rev().find(|message| message["role"] == "assistant")?;
    Some(content_text(&last["content"])).filter(|text| !text.is_empty())
}
