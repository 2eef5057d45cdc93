//! Keys in PEM (RFC 7468): exactly one block, and nothing else.

use crate::key_error::{KeyError, MAX_KEY_BYTES};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::shown_name;

const NO_BEGIN: KeyError = KeyError::Pem { problem: "it does not begin with a line `-----BEGIN …-----`" };
const NO_END: KeyError = KeyError::Pem { problem: "the matching line `-----END …-----` is missing" };
const TRAILING_TEXT: KeyError = KeyError::Pem { problem: "there is more than one key or text in it" };
const DAMAGED: KeyError = KeyError::Pem { problem: "its Base64 is damaged" };

/// Length of a line of Base64, in characters.
const LINE_CHARS: usize = 64;

/// A block of PEM, whose content is not decoded yet.
pub(crate) struct PemBlock<'t> {
    /// The label, such as `PUBLIC KEY`.
    pub(crate) label: &'t str,
    /// The text after the first line.
    rest: &'t str,
}

impl<'t> PemBlock<'t> {
    /// Reads the label of a block.
    pub(crate) fn open(text: &'t str) -> Result<PemBlock<'t>, KeyError> {
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLarge { bytes: text.len() });
        }
        let (first, rest) = text.trim().split_once('\n').ok_or(NO_BEGIN)?;
        let label = first.trim_end().strip_prefix("-----BEGIN ").ok_or(NO_BEGIN)?;
        let label = label.strip_suffix("-----").ok_or(NO_BEGIN)?;
        Ok(PemBlock { label, rest })
    }

    /// Decodes the content.
    pub(crate) fn decode(&self) -> Result<Vec<u8>, KeyError> {
        let end = format!("-----END {}-----", self.label);
        let mut lines = self.rest.lines().map(str::trim_end);
        let mut encoded = String::new();
        loop {
            match lines.next() {
                Some(line) if line == end => break,
                Some(line) => encoded.push_str(line),
                None => return Err(NO_END),
            }
        }
        if lines.next().is_some() {
            return Err(TRAILING_TEXT);
        }
        STANDARD.decode(&encoded).map_err(|_| DAMAGED)
    }

    /// Returns the error of a block that is not the expected one.
    pub(crate) fn unexpected(&self, expected: &'static str) -> KeyError {
        KeyError::Label { label: shown_name(self.label), expected }
    }
}

/// Encodes a block.
pub(crate) fn encode(label: &str, content: &[u8]) -> String {
    let encoded = STANDARD.encode(content);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while let Some((line, further)) = rest.split_at_checked(LINE_CHARS) {
        text.push_str(line);
        text.push('\n');
        rest = further;
    }
    if !rest.is_empty() {
        text.push_str(rest);
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}
