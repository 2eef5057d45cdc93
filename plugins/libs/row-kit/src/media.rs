//! Images, audio, videos and documents in the forms that datasets use: a path or a URL, an object with `url`, `path` or
//! `bytes`, a part of a message, or a list of any of these.
//!
//! This module opens nothing. The host checks that a source exists and has the right type.

mod base64;

use crate::fields::{Fields, object};
use gage_sdk::serde_json::Value;

/// Type of a piece of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An image.
    Image,
    /// An audio clip.
    Audio,
    /// A video.
    Video,
    /// A document.
    File,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Image, Kind::Audio, Kind::Video, Kind::File];

    /// Returns the `type` of a message part for this kind, which is also the key of its URL.
    pub fn part_type(self) -> &'static str {
        match self {
            Kind::Image => "image_url",
            Kind::Audio => "audio_url",
            Kind::Video => "video_url",
            Kind::File => "file_url",
        }
    }
}

/// Location of a piece of media.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// A URL, a `data:` URL, or a path as written in the dataset.
    pub url: String,
    /// Other members next to `url`, such as `detail`.
    pub extra: Fields,
}

impl Source {
    fn new(url: String) -> Source {
        Source { url, extra: Fields::new() }
    }

    /// Converts the source to a message part that shows or plays it.
    pub fn into_part(self, kind: Kind) -> Value {
        let mut inner = Fields::from_iter([("url".to_owned(), Value::from(self.url))]);
        inner.extend(self.extra);
        object([("type", kind.part_type().into()), (kind.part_type(), inner.into())])
    }
}

/// Returns the sources that a value holds, in order; none for null, an empty text and an empty list.
///
/// `bytes` are Base64 text or a `data:` URL. The media type of Base64 follows from its first characters. A long text
/// that is Base64 of a known type also counts as bytes. Of `url`, `bytes` and `path` the first one present is used.
/// Other members next to `bytes` and `path` are ignored.
///
/// # Errors
/// Says what the value must be.
pub fn read(value: Value, kind: Kind) -> Result<Vec<Source>, String> {
    match value {
        Value::Array(items) => {
            items.into_iter().filter_map(|item| read_one(item, kind).transpose()).collect()
        }
        single => Ok(read_one(single, kind)?.into_iter().collect()),
    }
}

fn read_one(value: Value, kind: Kind) -> Result<Option<Source>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.trim().is_empty() => Ok(None),
        Value::String(text) => {
            Ok(Some(Source::new(if base64::is_bare(&text) { base64::data_url(&text, kind) } else { text })))
        }
        // Content parts of a message: those of another kind are not media of this one.
        Value::Object(members) if is_other_part(&members, kind) => Ok(None),
        Value::Object(members) => read_object(members, kind).map(Some),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(refusal()),
    }
}

fn is_other_part(members: &Fields, kind: Kind) -> bool {
    let part_type = members.get("type").and_then(Value::as_str);
    part_type.is_some_and(|part_type| part_type != kind.part_type() && members.contains_key(part_type))
}

fn read_object(mut members: Fields, kind: Kind) -> Result<Source, String> {
    let given = |members: &mut Fields, name: &str| match members.get_mut(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(std::mem::take(text)),
        _ => None,
    };
    // A message part holds its URL one level down, or as a text.
    let inner = match members.get_mut(kind.part_type()) {
        Some(Value::Object(inner)) => Some(std::mem::take(inner)),
        Some(Value::String(url)) => return Ok(Source::new(std::mem::take(url))),
        _ => None,
    };
    let mut members = inner.unwrap_or(members);
    if let Some(url) = given(&mut members, "url") {
        members.retain(|name, value| !["url", "path", "bytes"].contains(&name.as_str()) && !value.is_null());
        return Ok(Source { url, extra: members });
    }
    if let Some(bytes) = given(&mut members, "bytes") {
        let is_url = bytes.starts_with("data:");
        return Ok(Source::new(if is_url { bytes } else { base64::data_url(&bytes, kind) }));
    }
    given(&mut members, "path").map(Source::new).ok_or_else(refusal)
}

fn refusal() -> String {
    "must be a path, a URL, an object with 'url', 'path' or 'bytes' (Base64), or a list of these".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn shapes() {
        let plain = |url: &str| Source::new(url.to_owned());
        let detailed =
            Source { url: "a".to_owned(), extra: Fields::from_iter([("detail".into(), "low".into())]) };
        for (value, expected) in [
            (json!(null), vec![]),
            (json!(""), vec![]),
            (json!([]), vec![]),
            (
                json!([{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "a"}}]),
                vec![plain("a")],
            ),
            (json!("a.png"), vec![plain("a.png")]),
            (json!(["a.png", null, { "path": "b.png" }]), vec![plain("a.png"), plain("b.png")]),
            (json!({ "bytes": null, "path": "b.png" }), vec![plain("b.png")]),
            (
                json!({ "bytes": "iVBORw0KGgo=", "path": "b.png" }),
                vec![plain("data:image/png;base64,iVBORw0KGgo=")],
            ),
            (json!({ "bytes": "data:image/png;base64,AA==" }), vec![plain("data:image/png;base64,AA==")]),
            (json!({ "url": "a", "detail": "low", "path": null }), vec![detailed.clone()]),
            (json!({ "type": "image_url", "image_url": { "url": "a", "detail": "low" } }), vec![detailed]),
            (json!({ "type": "image_url", "image_url": "a" }), vec![plain("a")]),
        ] {
            assert_eq!(read(value.clone(), Kind::Image), Ok(expected), "{value}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        for value in
            [json!(1), json!(true), json!({}), json!({ "path": 1 }), json!([["a"]]), json!({ "bytes": [1] })]
        {
            assert!(read(value.clone(), Kind::Image).is_err(), "{value}");
        }
    }

    #[test]
    fn parts() {
        let source = Source::new("a.wav".to_owned());
        let part = json!({ "type": "audio_url", "audio_url": { "url": "a.wav" } });
        assert_eq!(source.into_part(Kind::Audio), part);
    }
}
