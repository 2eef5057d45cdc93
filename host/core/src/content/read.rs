//! Parsing of messages, their parts, and the functions that they call.

use super::{ContentPart, MediaKind, Message, Role};
use crate::json_decode::FieldReader;
use crate::{LazyObject, Object};
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;

impl ContentPart {
    /// Reads one part, which must be an object.
    fn read(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<ContentPart> {
        let members = reading.members(value)?;
        let kind = match members.iter().find(|(key, _)| key == "type").map(|(_, value)| value) {
            Some(BorrowedValue::Str(name)) => match &**name {
                "text" => None,
                name => Some(media_kind(name, reading)?),
            },
            None | Some(BorrowedValue::Null) => {
                reading.key("type").problem("a content part needs a 'type'");
                return None;
            }
            Some(other) => return reading.key("type").reject("a string", other),
        };
        let name = kind.map_or("text", MediaKind::type_name);
        let mut main = BorrowedValue::Null;
        let mut extra = LazyObject::default();
        for (key, value) in members {
            match &*key {
                "type" => {}
                key if key == name => main = value,
                _ => {
                    extra.insert(key.into_owned(), value.into());
                }
            }
        }
        let mut reading = reading.key(name);
        match kind {
            None => Some(ContentPart::Text { text: required_string(main, &mut reading)?, extra }),
            Some(kind) => {
                let (url, options) = read_media(main, &mut reading)?;
                Some(ContentPart::Media { kind, url, options: options.into(), extra })
            }
        }
    }

    /// Reads `content` or `answer`: a string, or a list of parts in which a string is a text part.
    pub(crate) fn read_all(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Vec<ContentPart> {
        match value {
            BorrowedValue::Str(text) => vec![ContentPart::text(text)],
            BorrowedValue::Array(_) => reading.items(value, |part, reading| match part {
                BorrowedValue::Str(text) => Some(ContentPart::text(text)),
                part => ContentPart::read(part, reading),
            }),
            other => reading.reject("a string or a list of parts", &other).unwrap_or_default(),
        }
    }
}

fn media_kind(name: &str, reading: &mut FieldReader<'_>) -> Option<MediaKind> {
    let kind = MediaKind::from_type_name(name);
    if kind.is_none() {
        reading.key("type").problem(format!(
            "unknown type '{name}'; allowed: text, image_url, audio_url, video_url, file_url"
        ));
    }
    kind
}

/// Reads the URL of a media part and the keys next to it. A string alone is the URL.
fn read_media(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<(String, Object)> {
    match value {
        BorrowedValue::Str(url) => Some((url.into_owned(), Object::new())),
        BorrowedValue::Object(_) => {
            let (mut url, mut options) = (BorrowedValue::Null, Object::new());
            for (key, value) in reading.members(value)? {
                match &*key {
                    "url" => url = value,
                    _ => {
                        options.insert(key.into_owned(), value.into());
                    }
                }
            }
            Some((required_string(url, &mut reading.key("url"))?, options))
        }
        BorrowedValue::Null => {
            reading.problem("this field is required: an object with a 'url'");
            None
        }
        other => reading.reject("an object with a 'url'", &other),
    }
}

fn required_string(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<String> {
    if value.is_null() {
        reading.problem("this field is required, and is a string");
    }
    reading.string(value)
}

impl Message {
    /// Reads one message, which must be an object.
    pub(crate) fn read(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Message> {
        let members = reading.members(value)?;
        let mut role = BorrowedValue::Null;
        let mut content = BorrowedValue::Null;
        let mut message = Message::new(Role::User, Vec::new());
        for (key, value) in members {
            let mut reading = reading.key(&key);
            match &*key {
                "role" => role = value,
                "content" => content = value,
                "name" => message.name = reading.string(value),
                "tool_calls" => {
                    message.tool_calls =
                        reading.items(value, |call, reading| read_tool_call(call.into(), reading))
                }
                "tool_call_id" => message.tool_call_id = reading.string(value),
                _ => {
                    message.extra.insert(key.into_owned(), value.into());
                }
            }
        }
        if !content.is_null() {
            message.content = ContentPart::read_all(content, &mut reading.key("content"));
        } else if message.tool_calls.is_empty() {
            reading.key("content").problem("a message needs 'content', or 'tool_calls'");
        }
        message.role = read_role(&role, &mut reading.key("role"))?;
        Some(message)
    }
}

fn read_role(value: &BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Role> {
    let found = match value {
        BorrowedValue::Str(name) => match Role::from_name(name) {
            Some(role) => return Some(role),
            None => format!("the role '{name}'"),
        },
        BorrowedValue::Null => "no role".to_owned(),
        other => format!("{other} as the role"),
    };
    reading.problem(format!("found {found}; allowed: system, user, assistant, tool"));
    None
}

pub(super) fn read_tool_call(call: Value, reading: &mut FieldReader<'_>) -> Option<Value> {
    check_function(&call, "arguments", reading);
    if let Some(arguments) = call.pointer("/function/arguments")
        && !matches!(arguments, Value::Null | Value::String(_) | Value::Object(_))
    {
        reading.key("function").key("arguments").mistyped("a string of JSON, or an object", arguments);
    }
    Some(call)
}

/// Reads the definition of a tool, which is kept unchanged.
pub(crate) fn read_tool(tool: Value, reading: &mut FieldReader<'_>) -> Option<Value> {
    check_function(&tool, "parameters", reading);
    if let Some(kind) = tool.get("type").and_then(Value::as_str).filter(|kind| *kind != "function") {
        reading.key("type").problem(format!("'{kind}' is not a type of tool; allowed: function"));
    }
    if let Some(parameters) = tool.pointer("/function/parameters")
        && !matches!(parameters, Value::Null | Value::Object(_))
    {
        reading
            .key("function")
            .key("parameters")
            .mistyped("an object: the JSON Schema of the arguments", parameters);
    }
    Some(tool)
}

/// Tools and calls are forwarded unchanged, but a function without a name cannot be called.
fn check_function(value: &Value, what: &str, reading: &mut FieldReader<'_>) {
    match value {
        Value::Object(members) => match members.get("function") {
            Some(Value::Object(function)) => match function.get("name") {
                Some(Value::String(name)) if !name.is_empty() => {}
                _ => reading
                    .key("function")
                    .key("name")
                    .problem("the function needs a 'name': a string that is not empty"),
            },
            _ => reading
                .key("function")
                .problem(format!("this field is required: an object with a 'name' and the '{what}'")),
        },
        other => reading.mistyped("an object with a 'function'", other),
    }
}
