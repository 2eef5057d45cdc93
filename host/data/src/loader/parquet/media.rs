//! Bytes as a `data:` URL.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Appends `data:<type>;base64,…`; the type is told by the first bytes.
pub(crate) fn data_url(bytes: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(format!("data:{};base64,", media_type(bytes)).as_bytes());
    let mut encoded = String::with_capacity(bytes.len().div_ceil(3) * 4);
    STANDARD.encode_string(bytes, &mut encoded);
    text.extend_from_slice(encoded.as_bytes());
}

fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => "audio/wav",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'I', b'D', b'3', ..] => "audio/mpeg",
        // The beginning of a frame of layer III.
        [0xff, 0xfa | 0xfb | 0xf2 | 0xf3 | 0xe2 | 0xe3, ..] => "audio/mpeg",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_are_known_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"fLaC\0", "audio/flac"),
            (b"ID3\x04", "audio/mpeg"),
            (b"\xff\xfb\x90", "audio/mpeg"),
            (b"%PDF-1.7", "application/pdf"),
            (b"text", "application/octet-stream"),
            (b"", "application/octet-stream"),
        ] {
            assert_eq!(media_type(bytes), expected);
        }
        let mut text = Vec::new();
        data_url(b"GIF87a", &mut text);
        assert_eq!(text, b"data:image/gif;base64,R0lGODdh");
    }
}
