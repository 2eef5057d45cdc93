//! Converts messages of Inspect to those of a Sample.

use serde_json::{Map, Value, json};

/// Beginning of a text that names an attachment of its sample.
const ATTACHMENT: &str = "attachment://";

/// Puts the attachments of a sample into the texts that name them.
pub(super) fn attach(value: &mut Value, attachments: &Map<String, Value>) {
    match value {
        Value::String(text) => {
            let attached = text.strip_prefix(ATTACHMENT).and_then(|name| attachments.get(name)?.as_str());
            if let Some(attached) = attached.map(str::to_owned) {
                *text = attached;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| attach(item, attachments)),
        Value::Object(members) => members.values_mut().for_each(|member| attach(member, attachments)),
        _ => {}
    }
}

/// Converts a message. Of a tool, only the text is kept.
pub(super) fn message(message: &Value) -> Value {
    let role = message["role"].as_str().unwrap_or("user");
    json!({"role": role, "content": parts(&message["content"])})
}

/// Converts the content of a message to a list of parts.
fn parts(content: &Value) -> Value {
    match content {
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::String(text) => json!([{"type": "text", "text": text}]),
        Value::Null => json!([]),
        other => json!([{"type": "text", "text": other.to_string()}]),
    }
}

fn part(part: &Value) -> Option<Value> {
    let url = |kind: &str, name: &str| Some(json!({"type": name, name: {"url": part[kind].as_str()?}}));
    match part["type"].as_str()? {
        "text" => Some(json!({"type": "text", "text": part["text"].as_str()?})),
        "image" => url("image", "image_url"),
        "audio" => url("audio", "audio_url"),
        "video" => url("video", "video_url"),
        // The thoughts of a model, and parts that Samples do not have.
        _ => None,
    }
}

/// Returns the texts of a content, joined.
pub(super) fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts =
                parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
            Some(texts.collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_become_those_of_a_sample() {
        for (given, expected) in [
            (
                json!({"role": "user", "content": "a"}),
                json!({"role": "user", "content": [{"type": "text", "text": "a"}]}),
            ),
            (
                json!({"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "text", "text": "b"}]}),
                json!({"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "b"},
                ]}),
            ),
            (
                json!({"role": "assistant", "content": [{"type": "reasoning", "reasoning": "x"}]}),
                json!({"role": "assistant", "content": []}),
            ),
        ] {
            assert_eq!(message(&given), expected);
        }
    }

    #[test]
    fn attachments_replace_the_texts_that_name_them() {
        let Value::Object(attachments) = json!({"ab": "long text"}) else { panic!("not an object") };
        let mut value = json!([{"content": "attachment://ab"}, "attachment://none"]);
        attach(&mut value, &attachments);
        assert_eq!(value, json!([{"content": "long text"}, "attachment://none"]));
    }
}
