//! Messages and the parts that they consist of.

use crate::LazyObject;
use crate::fields::FieldError;
use crate::json_decode::{FieldReader, borrow};
use serde_json::Value;
use strum::VariantArray as _;

mod read;

pub(crate) use read::read_tool;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Instructions that stand above the conversation.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        name.parse().ok()
    }
}

/// What a media part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case", suffix = "_url")]
pub enum MediaKind {
    /// `image_url`
    Image,
    /// `audio_url`
    Audio,
    /// `video_url`
    Video,
    /// `file_url`
    File,
}

impl MediaKind {
    /// The `type` of the part, which is also the key of its URL.
    pub fn type_name(self) -> &'static str {
        self.into()
    }

    fn from_type_name(name: &str) -> Option<MediaKind> {
        MediaKind::VARIANTS.iter().copied().find(|kind| kind.type_name() == name)
    }
}

/// One part of a message or of an answer. Keys that are not known are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text itself.
        text: String,
        /// Keys that are not known.
        extra: LazyObject,
    },
    /// An image, a sound, a video or a document, by URL or local path.
    Media {
        /// Which of them.
        kind: MediaKind,
        /// A URL, a `data:` URL or a path.
        url: String,
        /// Other keys beside `url`, such as `detail`.
        options: LazyObject,
        /// Other keys beside `type`.
        extra: LazyObject,
    },
}

impl ContentPart {
    /// A text part.
    pub fn text(text: impl Into<String>) -> ContentPart {
        ContentPart::Text { text: text.into(), extra: LazyObject::default() }
    }
}

/// The text of all text parts, one after the other.
pub fn text_of(parts: &[ContentPart]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text { text, .. } => Some(text.as_str()),
            ContentPart::Media { .. } => None,
        })
        .collect()
}

/// One message of a conversation, in the shape of the OpenAI chat API.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; empty for a message that only calls tools.
    pub content: Vec<ContentPart>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Calls in the OpenAI shape, each with `id`, `type` and `function`.
    pub tool_calls: Vec<Value>,
    /// For a tool's result: which call it answers.
    pub tool_call_id: Option<String>,
    /// Keys that are not known.
    pub extra: LazyObject,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, content: Vec<ContentPart>) -> Message {
        Message {
            role,
            content,
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            extra: LazyObject::default(),
        }
    }

    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Message {
        Message::new(role, vec![ContentPart::text(text)])
    }

    /// Reads a message from JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_value(value: Value) -> Result<Message, Vec<FieldError>> {
        let mut problems = Vec::new();
        let message = Message::read(borrow(&value), &mut FieldReader::document(&mut problems));
        match message {
            Some(message) if problems.is_empty() => Ok(message),
            _ => Err(problems),
        }
    }

    /// Returns whether a part of it is not text.
    pub fn has_media(&self) -> bool {
        self.content.iter().any(|part| matches!(part, ContentPart::Media { .. }))
    }

    /// The message as JSON, in the shape that it was read from; content is always a list of
    /// parts.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self)
    }
}
