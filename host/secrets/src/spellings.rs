//! Patterns of a secret: the spellings that the automaton searches for.

use crate::decoder::decoded;
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE};

/// A pattern of the automaton.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SecretPattern {
    pub(crate) bytes: Vec<u8>,
    /// First bytes of the value, if the pattern is only the rest. An escape before the value may absorb them, as `\r`
    /// in `\rest-of-key`.
    pub(crate) prefix: Vec<u8>,
    /// True if it consists only of digits, and may be a JSON number.
    pub(crate) is_number: bool,
}

/// Minimum length of a pattern in bytes; a shorter one would occur by chance.
const MIN_PATTERN_BYTES: usize = 6;

/// Returns the patterns of a value, the plain value first.
pub(crate) fn patterns_of(value: &str) -> Vec<SecretPattern> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let mut patterns = vec![SecretPattern { bytes: value.into(), prefix: Vec::new(), is_number }];
    let mut add = |bytes: Vec<u8>, prefix: &str| {
        let pattern = SecretPattern { bytes, prefix: prefix.into(), is_number: false };
        let is_known = |known: &SecretPattern| known.bytes == pattern.bytes && known.prefix == pattern.prefix;
        if pattern.bytes.len() >= MIN_PATTERN_BYTES && !patterns.iter().any(is_known) {
            patterns.push(pattern);
        }
    };
    // YAML and CSV double quotes, and forms encode a space as a plus.
    let doubled = [value.replace('\'', "''"), value.replace('"', "\"\""), value.replace(' ', "+")];
    for spelling in [value.to_owned()].into_iter().chain(doubled) {
        add(without_open_escape(decoded(spelling.as_bytes())), "");
    }
    for count in [1, 2, 3, 5, 9] {
        if let Some((prefix, rest)) =
            value.split_at_checked(count).filter(|(prefix, _)| may_end_escape(prefix))
        {
            add(without_open_escape(decoded(rest.as_bytes())), prefix);
        }
    }
    for spelling in [value.to_lowercase(), value.to_uppercase(), value.chars().rev().collect()] {
        add(without_open_escape(decoded(spelling.as_bytes())), "");
        add(spelling.into_bytes(), "");
    }
    for offset in 0..3 {
        for alphabet in [&STANDARD, &URL_SAFE] {
            add(within_base64(value.as_bytes(), offset, alphabet), "");
        }
    }
    add(value.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(), "");
    add(value.bytes().flat_map(|byte| format!("{byte:02X}").into_bytes()).collect(), "");
    patterns
}

/// Removes an incomplete escape at the end of a value, which the following text could complete.
fn without_open_escape(mut bytes: Vec<u8>) -> Vec<u8> {
    let tail = bytes.len().saturating_sub(2);
    if let Some(open) = bytes.iter().skip(tail).position(|byte| b"\\%&".contains(byte)) {
        bytes.truncate(tail + open);
    }
    bytes
}

/// Returns true if the first bytes of a value can be the end of an escape.
fn may_end_escape(prefix: &str) -> bool {
    let are_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match prefix.split_at_checked(1) {
        Some((first, "")) => "nrtbf".contains(first) || are_hexadecimal(first),
        Some(("x", rest)) if rest.len() == 2 => are_hexadecimal(rest),
        Some(("u", rest)) if rest.len() == 4 => are_hexadecimal(rest),
        Some(("U", rest)) if rest.len() == 8 => are_hexadecimal(rest),
        _ => prefix.len() == 2 && are_hexadecimal(prefix),
    }
}

/// Returns the digits of a value at `offset` bytes after a group of three, without those that its neighbors affect.
fn within_base64(value: &[u8], offset: usize, alphabet: &GeneralPurpose) -> Vec<u8> {
    let digits = alphabet.encode([vec![0; offset].as_slice(), value].concat());
    let (first, last) = ((offset * 8).div_ceil(6), (offset + value.len()) * 8 / 6);
    digits.as_bytes()[first..last].to_vec()
}
