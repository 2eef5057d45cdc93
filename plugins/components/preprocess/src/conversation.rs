//! The conversation of a row that is already a Sample.

use crate::messages::{add_system, with_parts};
use crate::openai_choices::content_text;
use gage_row_kit::fields::Fields;
use gage_sdk::serde_json::Value;

/// The messages of a Sample. The last user message is the question.
pub(crate) struct Conversation {
    messages: Vec<Value>,
    /// Position of the question.
    question: usize,
}

impl Conversation {
    /// Returns the conversation of a row; `None` if it has no message of the user.
    pub(crate) fn of(row: &Fields) -> Option<Conversation> {
        let messages = row.get("messages")?.as_array()?;
        let question = messages.iter().rposition(|message| message["role"] == "user")?;
        Some(Conversation { messages: messages.iter().cloned().map(with_parts).collect(), question })
    }

    /// Returns the text of the question; `None` if it has none.
    pub(crate) fn question(&self) -> Option<String> {
        let message = self.messages.get(self.question)?;
        Some(content_text(&message["content"])).filter(|text| !text.trim().is_empty())
    }

    /// Returns the messages with another text of the question, and other messages before the conversation. A system
    /// message of the Sample itself stays the first.
    pub(crate) fn with_question(&self, text: &str, system: Option<&str>, before: &[Value]) -> Vec<Value> {
        let mut messages = self.messages.clone();
        if let Some(Value::Array(parts)) =
            messages.get_mut(self.question).and_then(|one| one.get_mut("content"))
        {
            set_text(parts, text);
        }
        add_system(&mut messages, system);
        let start = messages.iter().take_while(|message| message["role"] == "system").count();
        messages.splice(start..start, before.iter().cloned());
        messages
    }

    /// Returns the messages unchanged.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.messages.clone()
    }
}

/// Puts a text in place of all texts of a message. Its media stay.
fn set_text(parts: &mut Vec<Value>, text: &str) {
    let is_text = |part: &Value| part.get("text").is_some();
    let mut text = Some(crate::sample::text_part(text));
    parts.retain_mut(|part| match (is_text(part), text.take()) {
        (true, Some(new)) => {
            *part = new;
            true
        }
        (true, None) => false,
        (false, unused) => {
            text = unused;
            true
        }
    });
    parts.extend(text);
}
