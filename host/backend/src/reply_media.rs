//! Media in the replies of servers, as content parts with a `data:` URL or a URL of the server.

use gage_core::MediaKind;
use serde_json::{Value, json};

/// Number of JSON values in a part.
pub(crate) const MEDIA_PART_VALUES: usize = 4;

/// Creates a part from a URL.
pub(crate) fn media_part(kind: MediaKind, url: &str) -> Value {
    let name = kind.type_name();
    json!({"type": name, name: {"url": url}})
}

/// Creates a part from base64 and its media type. The type decides the kind; an unknown one makes a file.
pub(crate) fn base64_part(media_type: &str, data: &str) -> Value {
    let kind = match media_type.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::File,
    };
    media_part(kind, &format!("data:{media_type};base64,{data}"))
}

/// Returns the media among content parts in the format of the chat API. A URL may be a text or an object.
pub(crate) fn media_parts_of(parts: &Value) -> Vec<Value> {
    let part = |part: &Value| {
        let name = part.get("type")?.as_str()?;
        let kind = MediaKind::from_type_name(name)?;
        let url = part.get(name)?;
        let url = url.as_str().or_else(|| url.get("url")?.as_str())?;
        Some(media_part(kind, url))
    };
    parts.as_array().into_iter().flatten().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_both_spellings() {
        let parts = json!([
            {"type": "text", "text": "a cat"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
            {"type": "video_url", "video_url": "https://example.org/v.mp4"},
            {"type": "image_url"},
            {"type": "image_url", "image_url": 3},
            "text",
        ]);
        let expected = [
            media_part(MediaKind::Image, "data:image/png;base64,AA=="),
            media_part(MediaKind::Video, "https://example.org/v.mp4"),
        ];
        assert_eq!(media_parts_of(&parts), expected);
        assert!(media_parts_of(&json!("text")).is_empty());
        assert_eq!(
            base64_part("audio/wav", "AA=="),
            media_part(MediaKind::Audio, "data:audio/wav;base64,AA==")
        );
        assert_eq!(base64_part("x", "AA==")["type"], "file_url");
    }
}
