//! Numbers in JSON texts: an all-digit secret may occur as a number, which only a string can replace.

use crate::examined::count_examined;
use std::ops::Range;

/// Tracks the strings of a JSON text from its start. The state is kept between calls, so each byte is read once.
#[derive(Default)]
pub(crate) struct JsonStrings {
    /// Number of bytes read.
    read: usize,
    is_within: bool,
    is_escaped: bool,
}

impl JsonStrings {
    /// Returns true if a position is within a string. Positions must not decrease between calls.
    pub(crate) fn are_open_at(&mut self, text: &[u8], position: usize) -> bool {
        for byte in text.get(self.read..position).unwrap_or_default() {
            count_examined(1);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_within => self.is_escaped = true,
                b'"' => self.is_within = !self.is_within,
                _ => {}
            }
        }
        self.read = position;
        self.is_within
    }
}

/// Returns true if a text may be JSON, or an event stream line with JSON.
pub(crate) fn may_be_json(text: &[u8]) -> bool {
    let start = text.trim_ascii_start();
    start.starts_with(b"{") || start.starts_with(b"[") || start.starts_with(b"data:")
}

/// Returns the whole number around some of its digits, starting no earlier than `from`.
pub(crate) fn number_around(text: &[u8], digits: &Range<usize>, from: usize) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let before = text.get(from..digits.start).unwrap_or_default();
    let start = digits.start - before.iter().rev().take_while(|byte| is_part(byte)).count();
    let after = text.get(digits.end..).unwrap_or_default();
    let end = digits.end + after.iter().take_while(|byte| is_part(byte)).count();
    count_examined(end - start);
    start..end
}
