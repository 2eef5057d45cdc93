//! Messages, answers of models, and the texts of a Sample.

use crate::text::text_of;
use serde_json::Value;

pub use crate::bindings::types::{FinishReason, Generation, Message, Role, Usage};

impl Message {
    /// A message of a role.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: content.into(), extra: "{}".to_owned() }
    }

    /// What the model is told to be.
    pub fn system(content: impl Into<String>) -> Message {
        Message::new(Role::System, content)
    }

    /// What a user says.
    pub fn user(content: impl Into<String>) -> Message {
        Message::new(Role::User, content)
    }

    /// What the model said before.
    pub fn assistant(content: impl Into<String>) -> Message {
        Message::new(Role::Assistant, content)
    }
}

impl Generation {
    /// An answer that ended by itself, without usage.
    pub fn of(answer: impl Into<String>) -> Generation {
        Generation { answer: answer.into(), finish: FinishReason::Stop, usage: None, extra: "{}".to_owned() }
    }
}

/// The text of the messages of a role (`user`, `system`, …) of a Sample, with an empty line between
/// messages; parts that are not text are left out.
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
