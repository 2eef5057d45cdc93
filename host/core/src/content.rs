//! Messages and the parts that they consist of.

use crate::LazyObject;
use crate::fields::FieldError;
use crate::json_decode::FieldReader;
use serde_json::Value;

mod read;

pub(crate) use read::read_tool;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    const ALL: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// What a media part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    const ALL: [MediaKind; 4] = [MediaKind::Image, MediaKind::Audio, MediaKind::Video, MediaKind::File];

    /// The `type` of the part, which is also the key of its URL.
    pub fn type_name(self) -> &'static str {
        match self {
            MediaKind::Image => "image_url",
            MediaKind::Audio => "audio_url",
            MediaKind::Video => "video_url",
            MediaKind::File => "file_url",
        }
    }

    fn from_type_name(name: &str) -> Option<MediaKind> {
        MediaKind::ALL.into_iter().find(|kind| kind.type_name() == name)
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
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Message {
        Message {
            role,
            content: vec![ContentPart::text(text)],
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            extra: LazyObject::default(),
        }
    }

    /// Reads a message from JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_value(value: Value) -> Result<Message, Vec<FieldError>> {
        let mut problems = Vec::new();
        let message = Message::read(value, &mut FieldReader::document(&mut problems));
        match message {
            Some(message) if problems.is_empty() => Ok(message),
            _ => Err(problems),
        }
    }

    /// Whether a part of it is not text.
    pub fn has_media(&self) -> bool {
        self.content.iter().any(|part| matches!(part, ContentPart::Media { .. }))
    }

    /// The message as JSON, in the shape that it was read from; content is always a list of
    /// parts.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self)
    }
}
