//! Parts of a Sample other than messages.

use crate::content::{ContentPart, Message, Role, text_of};
use crate::{LazyObject, Object};
use serde_json::Value;

/// One candidate of a multiple-choice question. The order of the list is the display order.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceOption {
    /// The identifier, usually a letter.
    pub id: String,
    /// The text.
    pub content: String,
    /// Unknown keys.
    pub extra: LazyObject,
}

/// A correct answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// The answer's parts.
    pub answer: Vec<ContentPart>,
    /// Metadata of the answer.
    pub meta: LazyObject,
    /// Unknown keys.
    pub extra: LazyObject,
}

impl Reference {
    /// Returns the answer as one string: its text, or the URL if it starts with a media part.
    pub fn text(&self) -> String {
        match self.answer.first() {
            Some(ContentPart::Media { url, .. }) => url.clone(),
            _ => text_of(&self.answer),
        }
    }

    /// Returns whether the answer has neither media nor a text with anything but white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.answer.iter().all(ContentPart::is_blank)
    }
}

/// An example before the question. It contains no nested examples or results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FewShotExample {
    /// The question.
    pub messages: Vec<Message>,
    /// The candidates.
    pub options: Vec<ChoiceOption>,
    /// The correct answers.
    pub references: Vec<Reference>,
    /// The first correct answer as a string.
    pub label: Option<String>,
    /// Tool definitions.
    pub tools: Vec<Value>,
    /// Tool choice.
    pub tool_choice: Option<Value>,
    /// Unknown keys.
    pub extra: LazyObject,
}

impl FewShotExample {
    /// Returns whether its messages end with the answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.messages.last().is_some_and(|message| message.role == Role::Assistant)
    }
}

/// Environment in which a sample's code or agent runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxSpec {
    /// Container image.
    pub image: Option<String>,
    /// Maps relative target paths to URIs or local paths, all strings.
    pub files: Object,
    /// Script to run first.
    pub setup: Option<String>,
    /// Environment variables; the values are strings.
    pub env: Object,
    /// Unknown keys.
    pub extra: Object,
}
