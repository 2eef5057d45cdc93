//! Messages, model answers, and texts of a Sample.

use crate::text::text_of;
use serde_json::Value;

pub use crate::bindings::types::{FinishReason, Generation, Message, Role, Usage};

impl Message {
    /// Creates a message of a role.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: content.into(), extra: "{}".to_owned() }
    }

    /// Creates a system message.
    pub fn system(content: impl Into<String>) -> Message {
        Message::new(Role::System, content)
    }

    /// Creates a user message.
    pub fn user(content: impl Into<String>) -> Message {
        Message::new(Role::User, content)
    }

    /// Creates a message with an earlier answer of the model.
    pub fn assistant(content: impl Into<String>) -> Message {
        Message::new(Role::Assistant, content)
    }
}

impl Generation {
    /// Creates an answer that finished normally, without usage.
    pub fn of(answer: impl Into<String>) -> Generation {
        Generation { answer: answer.into(), finish: FinishReason::Stop, usage: None, extra: "{}".to_owned() }
    }
}

/// Returns the text of a Sample's messages with a role (`user`, `system`, …), separated by empty lines. Parts
/// that are not text are omitted.
pub fn sample_text(sample: &Value, role: &str) -> String {
    let messages = sample["messages"].as_array().into_iter().flatten();
    let texts = messages.filter(|message| message["role"] == role).map(|message| match &message["content"] {
        Value::Array(parts) => {
            parts.iter().filter(|part| part["type"] == "text").map(|part| text_of(&part["text"])).collect()
        }
        content => text_of(content),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_of_samples() {
        let sample = json!({ "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": [
                { "type": "text", "text": "a" },
                { "type": "image_url", "image_url": { "url": "b" } },
                { "type": "text", "text": "c" },
            ] },
            { "role": "user", "content": "d" },
        ] });
        assert_eq!(sample_text(&sample, "user"), "ac\n\nd");
        assert_eq!(sample_text(&sample, "tool"), "");
        assert_eq!(sample_text(&json!(null), "user"), "");
    }
}
