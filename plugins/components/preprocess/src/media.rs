//! Media next to the question: the fields in which older formats store them, and their place in messages.

use gage_row_kit::fields::{Fields, object, unusable};
use gage_row_kit::media::{Kind, Source, read};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;

/// File extensions of documents. Fields like `document` often hold a text instead.
const DOCUMENT_EXTENSIONS: [&str; 20] = [
    "pdf", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "odt", "ods", "odp", "rtf", "txt", "md", "html",
    "htm", "csv", "tsv", "json", "xml", "epub",
];

/// Maximum length of a text that may be the path of a document.
const MAX_PATH_BYTES: usize = 1024;

/// A field of a row that holds media.
pub(crate) struct MediaField {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) value: Value,
}

/// Returns the kind of media that a field holds, by its name: `image`, `images`, `image_path`, `image_url` and likewise
/// for the other kinds; `file` and `document` are the same.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    if !name.starts_with(['i', 'a', 'v', 'f', 'd']) {
        return None;
    }
    let (stem, ending) = name.split_once('_').unwrap_or((name, ""));
    let kind = match stem {
        "image" => Kind::Image,
        "audio" => Kind::Audio,
        "video" => Kind::Video,
        "file" | "document" => Kind::File,
        "images" if ending.is_empty() => return Some(Kind::Image),
        "audios" if ending.is_empty() => return Some(Kind::Audio),
        "videos" if ending.is_empty() => return Some(Kind::Video),
        "files" | "documents" if ending.is_empty() => return Some(Kind::File),
        _ => return None,
    };
    matches!(ending, "" | "path" | "paths" | "url" | "urls").then_some(kind)
}

/// Returns whether a value of such a field can be media at all. Numbers and booleans cannot, and a text in a field for
/// documents must look like a path or a URL of one.
pub(crate) fn may_be_media(kind: Kind, value: &Value) -> bool {
    match value {
        Value::String(text) => kind != Kind::File || is_document(text),
        Value::Array(items) => items.iter().all(|item| !item.is_string() || may_be_media(kind, item)),
        Value::Bool(_) | Value::Number(_) | Value::Null => false,
        Value::Object(_) => true,
    }
}

fn is_document(text: &str) -> bool {
    if text.starts_with("data:") {
        return true;
    }
    if text.len() > MAX_PATH_BYTES || text.contains(['\n', '\r']) {
        return false;
    }
    let is_url = ["http://", "https://", "file://"].iter().any(|scheme| text.starts_with(scheme));
    let extension = text.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    is_url || extension.is_some_and(|extension| DOCUMENT_EXTENSIONS.contains(&extension.as_str()))
}

/// Puts media before the text of the last user message. Fields of a kind that the messages already hold are returned as
/// they are, unless they name the same media.
///
/// # Errors
/// If a field holds a value that cannot be media.
pub(crate) fn place(messages: &mut Vec<Value>, fields: Vec<MediaField>) -> Result<Fields, PluginError> {
    let mut left = Fields::new();
    let mut parts = Vec::new();
    for MediaField { name, kind, value } in fields {
        if !is_there(messages, kind) {
            for source in read(value, kind).map_err(|why| unusable(&name, &why))? {
                push_new(&mut parts, source, kind);
            }
        } else if !all_there(messages, &value, kind) {
            left.insert(name, value);
        }
    }
    put_before_question(messages, parts);
    Ok(left)
}

/// Puts parts at the beginning of the last user message, or of a new one if there is none.
pub(crate) fn put_before_question(messages: &mut Vec<Value>, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    let last_user = messages.iter_mut().rev().find(|message| message["role"] == "user");
    match last_user.and_then(|message| message.get_mut("content")) {
        Some(Value::Array(content)) => {
            content.splice(0..0, parts);
        }
        _ => messages.push(object([("role", "user".into()), ("content", parts.into())])),
    }
}

/// Adds a source once: two fields of a row may hold the same image, as its path and as its URL.
fn push_new(parts: &mut Vec<Value>, source: Source, kind: Kind) {
    if !parts.iter().any(|part| url_of(part, kind) == Some(source.url.as_str())) {
        parts.push(source.into_part(kind));
    }
}

fn url_of(part: &Value, kind: Kind) -> Option<&str> {
    let inner = part.get(kind.part_type())?;
    inner.as_str().or_else(|| inner.get("url")?.as_str())
}

fn parts_of(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages.iter().filter_map(|message| message.get("content")?.as_array()).flatten()
}

fn is_there(messages: &[Value], kind: Kind) -> bool {
    parts_of(messages).any(|part| url_of(part, kind).is_some())
}

fn all_there(messages: &[Value], value: &Value, kind: Kind) -> bool {
    // A value that is not media stays in the row.
    read(value.clone(), kind).is_ok_and(|sources| {
        sources
            .iter()
            .all(|source| parts_of(messages).any(|part| url_of(part, kind) == Some(source.url.as_str())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::message;
    use gage_sdk::json;

    fn fields(given: &[(&str, Value)]) -> Vec<MediaField> {
        let field = |(name, value): &(&str, Value)| {
            let kind = kind_of(name).unwrap_or(Kind::Image);
            MediaField { name: (*name).to_owned(), kind, value: value.clone() }
        };
        given.iter().map(field).collect()
    }

    fn urls(messages: &[Value]) -> Vec<&str> {
        let url = |part| Kind::ALL.into_iter().find_map(|kind| url_of(part, kind));
        parts_of(messages).filter_map(url).collect()
    }

    #[test]
    fn names() {
        for (name, expected) in [
            ("image", Some(Kind::Image)),
            ("images", Some(Kind::Image)),
            ("image_path", Some(Kind::Image)),
            ("image_urls", Some(Kind::Image)),
            ("audio", Some(Kind::Audio)),
            ("video_url", Some(Kind::Video)),
            ("document", Some(Kind::File)),
            ("file_path", Some(Kind::File)),
            ("image_id", None),
            ("images_path", None),
            ("index", None),
            ("", None),
        ] {
            assert_eq!(kind_of(name), expected, "{name}");
        }
    }

    #[test]
    fn documents_are_told_from_texts() {
        for (value, expected) in [
            (json!("a/paper.PDF"), true),
            (json!("https://a.example/paper"), true),
            (json!(["a.pdf", "b.docx"]), true),
            (json!({ "path": "a" }), true),
            (json!("It rained. It rained again."), false),
            (json!("src/main.rs"), false),
            (json!(["a.pdf", "a text"]), false),
            (json!("a\nb.pdf"), false),
            (json!(7), false),
        ] {
            assert_eq!(may_be_media(Kind::File, &value), expected, "{value}");
        }
    }

    #[test]
    fn media_stand_before_the_question() {
        let mut messages = vec![message("user", "q"), message("assistant", "a"), message("user", "r")];
        let given = [("image", json!("a.png")), ("image_path", json!("a.png")), ("audio", json!(["b.wav"]))];
        assert_eq!(place(&mut messages, fields(&given)), Ok(Fields::new()));
        assert_eq!(urls(&messages), ["a.png", "b.wav"]);
        assert_eq!(messages[2]["content"][2]["text"], "r");
    }

    #[test]
    fn media_that_stand_there_are_not_added() {
        let part = json!({ "type": "image_url", "image_url": { "url": "a.png" } });
        for (given, left) in [(json!("a.png"), 0), (json!(["a.png"]), 0), (json!("b.png"), 1), (json!(7), 1)]
        {
            let mut messages = vec![json!({ "role": "user", "content": [part] })];
            let placed = place(&mut messages, fields(&[("image", given.clone())]));
            assert_eq!(placed.map(|left| left.len()), Ok(left), "{given}");
            assert_eq!(urls(&messages), ["a.png"]);
        }
    }

    #[test]
    fn a_message_is_made_where_there_is_none() {
        let mut messages = vec![message("system", "s")];
        assert_eq!(place(&mut messages, fields(&[("video", json!("a.mp4"))])), Ok(Fields::new()));
        assert_eq!(
            messages[1],
            json!({ "role": "user", "content": [
            { "type": "video_url", "video_url": { "url": "a.mp4" } },
        ] })
        );
        let error = place(&mut messages, fields(&[("image", json!(7))])).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/image"));
    }
}
