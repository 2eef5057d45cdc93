//! Messages and the parts that they consist of.

use crate::Object;
use crate::fields::{Fields, Problem, expected};
use serde_json::{Value, json};

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
}

/// One part of a message or of an answer. Keys that are not known are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text itself.
        text: String,
        /// Keys that are not known.
        extra: Object,
    },
    /// An image, a sound, a video or a document, by URL or local path.
    Media {
        /// Which of them.
        kind: MediaKind,
        /// A URL, a `data:` URL or a path.
        url: String,
        /// Other keys beside `url`, such as `detail`.
        options: Object,
        /// Other keys beside `type`.
        extra: Object,
    },
}

impl ContentPart {
    /// A text part.
    pub fn text(text: impl Into<String>) -> ContentPart {
        ContentPart::Text { text: text.into(), extra: Object::new() }
    }

    pub(crate) fn read(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<ContentPart> {
        let mut fields = Fields::of(value, pointer, problems)?;
        let kind = fields.string("type");
        match kind.as_deref() {
            Some("text") => {
                let Value::String(text) = fields.required("text")? else {
                    fields.problem("text", "expected a string");
                    return None;
                };
                Some(ContentPart::Text { text, extra: fields.rest() })
            }
            Some(name) => {
                let Some(kind) = MediaKind::ALL.into_iter().find(|kind| kind.type_name() == name) else {
                    let message = format!(
                        "unknown type '{name}'; allowed: text, image_url, audio_url, video_url, file_url"
                    );
                    fields.problem("type", message);
                    return None;
                };
                let mut options = match fields.required(name)? {
                    Value::Object(object) => object,
                    Value::String(url) => Object::from_iter([("url".to_owned(), Value::String(url))]),
                    _ => {
                        fields.problem(name, "expected an object with a 'url'");
                        return None;
                    }
                };
                let Some(Value::String(url)) = options.shift_remove("url") else {
                    fields.problem(name, "the object needs a 'url' that is a string");
                    return None;
                };
                Some(ContentPart::Media { kind, url, options, extra: fields.rest() })
            }
            None => {
                fields.problem("type", "a content part needs a 'type'");
                None
            }
        }
    }

    /// Reads `content`: a list of parts, or a string for one text part.
    pub(crate) fn read_all(value: Value, pointer: &str, problems: &mut Vec<Problem>) -> Vec<ContentPart> {
        match value {
            Value::String(text) => vec![ContentPart::text(text)],
            Value::Array(parts) => parts
                .into_iter()
                .enumerate()
                .filter_map(|(index, part)| match part {
                    Value::String(text) => Some(ContentPart::text(text)),
                    part => ContentPart::read(part, format!("{pointer}/{index}"), problems),
                })
                .collect(),
            other => {
                problems.push(expected("a string or a list of parts", &other, pointer.to_owned()));
                Vec::new()
            }
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            ContentPart::Text { text, extra } => with_extra(json!({"type": "text", "text": text}), extra),
            ContentPart::Media { kind, url, options, extra } => {
                let inner = with_extra(json!({"url": url}), options);
                with_extra(json!({"type": kind.type_name(), (kind.type_name()): inner}), extra)
            }
        }
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
    pub extra: Object,
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
            extra: Object::new(),
        }
    }

    /// Reads a message from JSON.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_value(value: Value) -> Result<Message, Vec<Problem>> {
        let mut problems = Vec::new();
        let message = Message::read(value, String::new(), &mut problems);
        match message {
            Some(message) if problems.is_empty() => Ok(message),
            _ => Err(problems),
        }
    }

    /// Whether a part of it is not text.
    pub fn has_media(&self) -> bool {
        self.content.iter().any(|part| matches!(part, ContentPart::Media { .. }))
    }

    pub(crate) fn read(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<Message> {
        let mut fields = Fields::of(value, pointer, problems)?;
        let role = fields.string("role");
        let role = role.as_deref().and_then(Role::from_name).or_else(|| {
            let found = role.map_or_else(|| "no role".to_owned(), |role| format!("the role '{role}'"));
            fields.problem("role", format!("found {found}; allowed: system, user, assistant, tool"));
            None
        });
        let tool_calls = fields.list("tool_calls");
        let content = match fields.take("content") {
            Some(content) => {
                let pointer = fields.pointer_to("content");
                ContentPart::read_all(content, &pointer, fields.problems())
            }
            None => {
                if tool_calls.is_empty() {
                    fields.problem("content", "a message needs 'content', or 'tool_calls'");
                }
                Vec::new()
            }
        };
        Some(Message {
            role: role?,
            content,
            name: fields.string("name"),
            tool_calls,
            tool_call_id: fields.string("tool_call_id"),
            extra: fields.rest(),
        })
    }

    /// The message as JSON, in the shape that it was read from; content is always a list of
    /// parts.
    pub fn into_value(self) -> Value {
        let mut object = Object::new();
        object.insert("role".to_owned(), self.role.name().into());
        if let Some(name) = self.name {
            object.insert("name".to_owned(), name.into());
        }
        if !self.content.is_empty() || self.tool_calls.is_empty() {
            let parts = self.content.into_iter().map(ContentPart::into_value).collect();
            object.insert("content".to_owned(), Value::Array(parts));
        }
        if !self.tool_calls.is_empty() {
            object.insert("tool_calls".to_owned(), Value::Array(self.tool_calls));
        }
        if let Some(id) = self.tool_call_id {
            object.insert("tool_call_id".to_owned(), id.into());
        }
        with_extra(Value::Object(object), self.extra)
    }
}

/// Adds the keys that were not known behind those that were.
pub(crate) fn with_extra(mut value: Value, extra: Object) -> Value {
    if let Value::Object(object) = &mut value {
        object.extend(extra);
    }
    value
}
