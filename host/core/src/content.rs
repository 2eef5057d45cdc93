//! Messages and their parts.

use crate::LazyObject;
use crate::fields::FieldError;
use crate::json_decode::{FieldReader, borrow};
use serde_json::Value;
use strum::VariantArray as _;

mod read;

pub(crate) use read::read_tool;

/// Speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Instructions above the conversation.
    System,
    /// The person asking.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        name.parse().ok()
    }
}

/// Kind of a media part.
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
    /// Returns the `type` of the part, which is also the key of its URL.
    pub fn type_name(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of a part by its `type`.
    pub fn from_type_name(name: &str) -> Option<MediaKind> {
        MediaKind::VARIANTS.iter().copied().find(|kind| kind.type_name() == name)
    }
}

/// One part of a message or of an answer. Unknown keys are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text itself.
        text: String,
        /// Unknown keys.
        extra: LazyObject,
    },
    /// An image, audio, video or document, by URL or local path.
    Media {
        /// Kind of the media.
        kind: MediaKind,
        /// A URL, a `data:` URL or a path.
        url: String,
        /// Other keys next to `url`, such as `detail`.
        options: LazyObject,
        /// Other keys next to `type`.
        extra: LazyObject,
    },
}

impl ContentPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> ContentPart {
        ContentPart::Text { text: text.into(), extra: LazyObject::default() }
    }

    /// Returns whether it is a text of white space.
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            ContentPart::Text { text, .. } => text.trim().is_empty(),
            ContentPart::Media { .. } => false,
        }
    }
}

/// Concatenates the text of all text parts.
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
    /// Speaker of the message.
    pub role: Role,
    /// Content of the message; empty if it only calls tools.
    pub content: Vec<ContentPart>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Calls in the OpenAI shape, each with `id`, `type` and `function`.
    pub tool_calls: Vec<Value>,
    /// For a tool's result: the id of the call that it answers.
    pub tool_call_id: Option<String>,
    /// Unknown keys.
    pub extra: LazyObject,
}

impl Message {
    /// Creates a message from parts.
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

    /// Creates a message from a text.
    pub fn text(role: Role, text: impl Into<String>) -> Message {
        Message::new(role, vec![ContentPart::text(text)])
    }

    /// Parses a message from JSON.
    ///
    /// # Errors
    /// All problems of the message.
    pub fn from_value(value: Value) -> Result<Message, Vec<FieldError>> {
        let mut problems = Vec::new();
        let message = Message::read(borrow(&value), &mut FieldReader::document(&mut problems));
        match message {
            Some(message) if problems.is_empty() => Ok(message),
            _ => Err(problems),
        }
    }

    /// Returns whether any part is not text.
    pub fn has_media(&self) -> bool {
        self.content.iter().any(|part| matches!(part, ContentPart::Media { .. }))
    }

    /// Returns the message as JSON, in the shape in which it was read, except that content is always a list
    /// of parts.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self)
    }
}
