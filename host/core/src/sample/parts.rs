//! Parts of a Sample other than messages.

use crate::content::{ContentPart, Message, Role, text_of};
use crate::{LazyObject, Object};
use serde_json::Value;

/// One candidate of a multiple-choice question. The order of the list is the order of display.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceOption {
    /// The identifier, usually a letter.
    pub id: String,
    /// The text.
    pub content: String,
    /// Keys that are not known.
    pub extra: LazyObject,
}

/// A right answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// The answer's parts.
    pub answer: Vec<ContentPart>,
    /// About the answer.
    pub meta: LazyObject,
    /// Keys that are not known.
    pub extra: LazyObject,
}

impl Reference {
    /// The answer as one string: its text, or the URL where it begins with a media part.
    pub fn text(&self) -> String {
        match self.answer.first() {
            Some(ContentPart::Media { url, .. }) => url.clone(),
            _ => text_of(&self.answer),
        }
    }
}

/// An example in front of the question. It holds no example and no result of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FewShotExample {
    /// The question.
    pub messages: Vec<Message>,
    /// The candidates.
    pub options: Vec<ChoiceOption>,
    /// The right answers.
    pub references: Vec<Reference>,
    /// The first right answer as a string.
    pub label: Option<String>,
    /// Tool definitions.
    pub tools: Vec<Value>,
    /// Which tool to use.
    pub tool_choice: Option<Value>,
    /// Keys that are not known.
    pub extra: LazyObject,
}

impl FewShotExample {
    /// Returns whether its messages end with the answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.messages.last().is_some_and(|message| message.role == Role::Assistant)
    }
}

/// The environment that a sample's code or agent runs in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxSpec {
    /// Container image.
    pub image: Option<String>,
    /// Relative target path to URI or local path, both strings.
    pub files: Object,
    /// Script to run first.
    pub setup: Option<String>,
    /// Environment variables; the values are strings.
    pub env: Object,
    /// Keys that are not known.
    pub extra: Object,
}
