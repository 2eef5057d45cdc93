//! Media in the reply of a model.

use super::data_url::decode;
use super::error::MediaError;
use super::sniff::sniff;

/// Decoded content of a `data:` URL.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyMedia {
    /// Media type detected from the content. The declaration of the URL is ignored.
    pub media_type: &'static str,
    /// Usual extension of a file of this type; `bin` if the type is unknown.
    pub extension: &'static str,
    /// Content.
    pub bytes: Vec<u8>,
}

impl ReplyMedia {
    /// Decodes a `data:` URL of at most `max_bytes`.
    ///
    /// # Errors
    /// For a malformed or oversize URL, and damaged base64.
    pub fn of_data_url(url: &str, max_bytes: u64) -> Result<ReplyMedia, MediaError> {
        let bytes = decode(url, max_bytes)?.bytes;
        let format = sniff(&bytes);
        Ok(ReplyMedia { media_type: format.media_type(), extension: format.extension(), bytes })
    }
}

/// Encodes content as a `data:` URL, with the media type of the content.
pub fn data_url_of(bytes: &[u8]) -> String {
    super::data_url::encode(sniff(bytes).media_type(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_the_type() {
        for (url, media_type, extension) in [
            ("data:image/jpeg;base64,iVBORw0KGgo=", "image/png", "png"),
            ("data:audio/wav;base64,UklGRgAAAABXQVZF", "audio/wav", "wav"),
            ("data:text/html,<script>", "text/plain", "txt"),
            ("data:;base64,AAEC", "application/octet-stream", "bin"),
        ] {
            let found = ReplyMedia::of_data_url(url, 100).expect("content");
            assert_eq!((found.media_type, found.extension), (media_type, extension), "{url}");
            assert_eq!(ReplyMedia::of_data_url(&data_url_of(&found.bytes), 100), Ok(found));
        }
        assert!(ReplyMedia::of_data_url("data:;base64,A", 100).is_err());
        assert!(ReplyMedia::of_data_url("data:,123", 2).is_err());
    }
}
