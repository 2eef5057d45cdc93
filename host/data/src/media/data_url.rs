//! `data:` URLs.
//!
//! The crate `data-url` (0.3) is not used: it drops everything after a `#` without an error, and does not report the
//! position of damaged base64.

use super::error::{MediaError, MediaErrorKind};
use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use percent_encoding::percent_decode_str;

/// Accepts base64 with and without padding.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decoded `data:` URL.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DataUrl<'a> {
    /// Declared media type, without parameters; empty if missing.
    pub(super) declared: &'a str,
    /// Content.
    pub(super) bytes: Vec<u8>,
    /// True if the spelling equals that of [`encode`].
    pub(super) is_plain: bool,
}

/// Decodes a `data:` URL of at most `most` bytes. Base64 of the standard alphabet may be split into lines,
/// percent-encoded and without padding.
///
/// # Errors
/// `media_url` for one without a comma, `media_too_large`, and `media_unreadable` for invalid base64.
pub(super) fn decode(url: &str, most: u64) -> Result<DataUrl<'_>, MediaError> {
    let Some((head, body)) = url.get(5..).and_then(|rest| rest.split_once(',')) else {
        return Err(MediaError::new(MediaErrorKind::Url, "a data URL needs a comma before its content"));
    };
    let declared = head.split(';').next().unwrap_or_default().trim();
    let is_base64 = head.rsplit_once(';').is_some_and(|(_, last)| last.trim().eq_ignore_ascii_case("base64"));
    let body_bytes = body.len() as u64;
    // Four letters encode three bytes; percent-encoding takes at most three letters per byte.
    let fewest = if is_base64 { body_bytes / 4 * 3 } else { body_bytes / 3 };
    let bytes = match (is_base64, fewest > most.saturating_add(2)) {
        (_, true) => return Err(too_large(most)),
        (true, false) => base64_of(body)?,
        (false, false) => (percent_decode_str(body).collect(), false),
    };
    let (bytes, is_strict) = bytes;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    let is_plain = is_strict && url.starts_with("data:") && head.strip_suffix(";base64") == Some(declared);
    Ok(DataUrl { declared, bytes, is_plain })
}

/// Returns the plain spelling: the media type, and standard base64 with padding.
pub(super) fn encode(media_type: &str, bytes: &[u8]) -> String {
    let mut url = format!("data:{media_type};base64,");
    STANDARD.encode_string(bytes, &mut url);
    url
}

/// Encodes bytes without a known name as a `data:` URL, with the media type detected from their beginning.
#[cfg(feature = "parquet")]
pub(crate) fn embedded_url(bytes: &[u8]) -> String {
    use super::format::Format::{Flac, Gif, Jpeg, Mp3, Ogg, Pdf, Png, Unknown, Wav, WebP};
    let format = match super::sniff::sniff(bytes) {
        known @ (Png | Jpeg | Gif | WebP | Wav | Flac | Ogg | Mp3 | Pdf) => known,
        _ => Unknown,
    };
    encode(format.media_type(), bytes)
}

/// Returns the bytes, and whether the text was strict base64.
fn base64_of(body: &str) -> Result<(Vec<u8>, bool), MediaError> {
    if let Ok(bytes) = STANDARD.decode(body) {
        return Ok((bytes, true));
    }
    let mut letters: Vec<u8> = match body.contains('%') {
        true => percent_decode_str(body).collect(),
        false => body.as_bytes().to_vec(),
    };
    letters.retain(|letter| !letter.is_ascii_whitespace());
    let bytes = FORGIVING.decode(&letters).map_err(|error| {
        let message = format!("the base64 of the data URL is damaged: {}", describe(&error));
        MediaError::new(MediaErrorKind::Unreadable, message)
    })?;
    Ok((bytes, false))
}

fn describe(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(offset, letter) => {
            format!("'{}' at letter {offset} is not of the standard alphabet", letter.escape_ascii())
        }
        base64::DecodeError::InvalidLength(length) => {
            format!("{length} letters cannot be a whole number of bytes")
        }
        base64::DecodeError::InvalidLastSymbol(offset, _) => {
            format!("the last letter, {offset}, has unused bits that are set")
        }
        base64::DecodeError::InvalidPadding => "its padding is wrong".to_owned(),
    }
}

fn too_large(most: u64) -> MediaError {
    MediaError::new(MediaErrorKind::TooLarge, format!("the data URL has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_data_urls() {
        let cases = [
            ("data:image/png;base64,AAEC", Ok(("image/png", &[0, 1, 2][..], true))),
            ("DATA:image/png;base64,AAEC", Ok(("image/png", &[0, 1, 2], false))),
            ("data:image/png;charset=x;BASE64,AAEC", Ok(("image/png", &[0, 1, 2], false))),
            ("data:;base64,AAE", Ok(("", &[0, 1], false))),
            ("data:text/plain;base64,AA%3D%3D", Ok(("text/plain", &[0], false))),
            ("data:;base64,AA\r\n EC", Ok(("", &[0, 1, 2], false))),
            ("data:,a%20b", Ok(("", b"a b", false))),
            ("data:text/plain;x=1,abc", Ok(("text/plain", b"abc", false))),
            ("data:,", Ok(("", b"", false))),
            ("data:image/png;base64", Err(MediaErrorKind::Url)),
            ("data:;base64,A", Err(MediaErrorKind::Unreadable)),
            ("data:;base64,AA_-", Err(MediaErrorKind::Unreadable)),
            ("data:,123456789", Err(MediaErrorKind::TooLarge)),
            ("data:;base64,AAECAAECAAEC", Err(MediaErrorKind::TooLarge)),
        ];
        for (url, expected) in cases {
            let found = decode(url, 8);
            let found = found.as_ref().map(|url| (url.declared, &url.bytes[..], url.is_plain));
            assert_eq!(found.map_err(|error| error.kind), expected, "{url}");
        }
    }

    #[test]
    fn bytes_get_the_media_type_of_their_beginning() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0"[..], "image/png"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"\xff\xfb\x90", "audio/mpeg"),
            (b"%PDF-1.7", "application/pdf"),
            (b"text", "application/octet-stream"),
            (b"", "application/octet-stream"),
        ] {
            assert!(embedded_url(bytes).starts_with(&format!("data:{expected};base64,")), "{bytes:?}");
        }
        assert_eq!(embedded_url(b"GIF87a"), "data:image/gif;base64,R0lGODdh");
    }

    proptest! {
        #[test]
        fn encoded_bytes_decode_to_themselves(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let url = encode("image/png", &bytes);
            let back = decode(&url, 200);
            prop_assert_eq!(back, Ok(DataUrl { declared: "image/png", bytes, is_plain: true }));
        }

        #[test]
        fn no_text_is_too_odd(text in "data:.{0,60}") {
            let _ = decode(&text, 20);
        }
    }
}
