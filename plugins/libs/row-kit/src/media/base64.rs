//! Media as Base64 text, with types recognized by their first characters.

use super::Kind;

/// Minimum length of bare Base64 in bytes. A shorter text is a path, regardless of its first characters.
const MIN_BARE_BYTES: usize = 256;

/// First Base64 characters of each media type: characters, their position, the type. RIFF files differ only from their
/// tenth byte on, which is the thirteenth character.
const BEGINNINGS: [(&[(usize, &str)], &str); 14] = [
    (&[(0, "iVBORw0KGgo")], "image/png"),
    (&[(0, "/9j/")], "image/jpeg"),
    (&[(0, "R0lGOD")], "image/gif"),
    (&[(0, "UklGR"), (12, "RUJQ")], "image/webp"),
    (&[(0, "SUkqA")], "image/tiff"),
    (&[(0, "TU0AK")], "image/tiff"),
    (&[(0, "UklGR"), (12, "QVZF")], "audio/wav"),
    (&[(0, "SUQz")], "audio/mpeg"),
    (&[(0, "ZkxhQ")], "audio/flac"),
    (&[(0, "T2dnU")], "audio/ogg"),
    (&[(0, "UklGR"), (12, "Vkkg")], "video/x-msvideo"),
    (&[(0, "AAAA"), (6, "Z0eX")], "video/mp4"),
    (&[(0, "GkXfo")], "video/webm"),
    (&[(0, "JVBERi0")], "application/pdf"),
];

/// Returns the media type that the first characters of Base64 text indicate.
fn media_type(text: &str) -> Option<&'static str> {
    let begins = |marks: &[(usize, &str)]| {
        marks.iter().all(|(place, mark)| text.get(*place..).is_some_and(|rest| rest.starts_with(mark)))
    };
    BEGINNINGS.iter().find(|(marks, _)| begins(marks)).map(|(_, media_type)| *media_type)
}

/// Returns whether a text without any prefix is Base64 of a known type. Some tables store their images this way.
pub(super) fn is_bare(text: &str) -> bool {
    text.len() >= MIN_BARE_BYTES && media_type(text).is_some() && text.bytes().all(is_base64)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r')
}

/// Returns the `data:` URL of Base64 text, without its line breaks.
pub(super) fn data_url(text: &str, kind: Kind) -> String {
    let media_type = match (media_type(text), kind) {
        (Some("video/mp4"), Kind::Audio) => "audio/mp4",
        (Some("video/webm"), Kind::Audio) => "audio/webm",
        (Some(known), _) => known,
        (None, _) => "application/octet-stream",
    };
    let mut url = String::with_capacity(text.len() + media_type.len() + "data:;base64,".len());
    url.push_str("data:");
    url.push_str(media_type);
    url.push_str(";base64,");
    url.extend(text.split(['\n', '\r', ' ']));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_by_beginnings() {
        for (text, kind, expected) in [
            ("UklGRgAAAABXRUJQ", Kind::Image, "image/webp"),
            ("UklGRgAAAABXQVZF", Kind::Audio, "audio/wav"),
            ("AAAAGGZ0eXBtcDQy", Kind::Video, "video/mp4"),
            ("AAAAIGZ0eXBNNEEg", Kind::Audio, "audio/mp4"),
            ("JVBERi0xLjQK", Kind::File, "application/pdf"),
            ("AAAA", Kind::Image, "application/octet-stream"),
            ("é", Kind::Image, "application/octet-stream"),
        ] {
            assert_eq!(data_url(text, kind), format!("data:{expected};base64,{text}"), "{text}");
        }
        assert_eq!(data_url("/9j/\r\nAA==\n", Kind::Image), "data:image/jpeg;base64,/9j/AA==");
    }

    #[test]
    fn long_texts_may_be_bytes() {
        let long = format!("/9j/{}", "A".repeat(MIN_BARE_BYTES));
        assert!(is_bare(&long));
        assert!(!is_bare("/9j/AAAA"));
        assert!(!is_bare(&format!("{long}.jpg")));
        assert!(!is_bare(&"A".repeat(MIN_BARE_BYTES)));
    }
}
