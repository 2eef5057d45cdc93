//! Reads a row by walking over its text: the way of most rows, in few calls, each of which costs a component
//! more than what it does.
//!
//! What is given is what [`super::row`] reads through serde_json; nothing where that is in doubt.

use super::field::{Field, Row, TYPICAL_FIELDS};
use super::nested::{MAX_MEMBERS, Place, Writer};
use super::text::Text;
use gage_sdk::serde_json;
use serde::de::DeserializeSeed as _;
use std::borrow::Cow;

/// How deep values may be nested that are copied as they stand.
const MAX_DEPTH: usize = 8;
/// The most members of a nested object that is copied as it stands.
const MAX_NAMES: usize = 8;
/// Digits that are spelt alike by everybody.
const MAX_DIGITS: usize = 15;

/// The fields of a row.
pub(super) fn row(text: &str) -> Option<Row<'_>> {
    let mut scan = Scan { text, at: 0 };
    let mut row = Row::with_capacity(TYPICAL_FIELDS);
    scan.blanks();
    scan.take(b'{')?;
    scan.blanks();
    if scan.byte() == Some(b'}') {
        return None;
    }
    loop {
        scan.take(b'"')?;
        let (name, is_plain) = scan.string()?;
        if !is_plain || row.len() == MAX_MEMBERS || row.iter().any(|(other, _)| other.as_str() == name) {
            return None;
        }
        scan.blanks();
        scan.take(b':')?;
        scan.blanks();
        let field = scan.field(name)?;
        row.push((Text::Plain(name), field));
        scan.blanks();
        let next = scan.byte()?;
        scan.at += 1;
        match next {
            b',' => scan.blanks(),
            b'}' => break,
            _ => return None,
        }
    }
    scan.blanks();
    scan.byte().is_none().then_some(row)
}

struct Scan<'row> {
    text: &'row str,
    at: usize,
}

impl<'row> Scan<'row> {
    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then(|| self.at += 1)
    }

    #[inline(always)]
    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// What stands up to the closing quote, and whether nothing in it is escaped.
    #[inline(always)]
    fn string(&mut self) -> Option<(&'row str, bool)> {
        let (bytes, begin) = (self.text.as_bytes(), self.at);
        let mut is_plain = true;
        loop {
            self.at = unusual(bytes, self.at);
            match bytes.get(self.at)? {
                b'"' => {
                    let text = self.text.get(begin..self.at)?;
                    self.at += 1;
                    return Some((text, is_plain));
                }
                b'\\' => {
                    is_plain = false;
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    fn field(&mut self, name: &str) -> Option<Field<'row>> {
        let begin = self.at;
        let field = match self.byte()? {
            b'"' => {
                self.at += 1;
                let (text, is_plain) = self.string()?;
                if is_plain {
                    return Some(Field::Text(Text::Plain(text)));
                }
                let text = serde_json::from_str(self.text.get(begin..self.at)?).ok()?;
                Field::Text(Text::Any(Cow::Owned(text)))
            }
            b'{' | b'[' => {
                let is_as_written = self.nested(0)?;
                let text = self.text.get(begin..self.at)?;
                let place = if name == "messages" { Place::Messages } else { Place::Other };
                if is_as_written && place == Place::Other {
                    return Some(Field::Nested(Cow::Borrowed(text)));
                }
                let mut json = String::with_capacity(text.len());
                let mut deserializer = serde_json::Deserializer::from_str(text);
                let writer = Writer { json: &mut json, names: &mut Vec::new(), place };
                writer.deserialize(&mut deserializer).ok()?;
                deserializer.end().ok()?;
                Field::Nested(Cow::Owned(json))
            }
            b'n' => self.word("null", Field::Null)?,
            b't' => self.word("true", Field::Bool(true))?,
            b'f' => self.word("false", Field::Bool(false))?,
            _ => {
                let is_as_written = self.number()?;
                let text = self.text.get(begin..self.at)?;
                if is_as_written {
                    Field::Integer(text)
                } else {
                    Field::Number(serde_json::from_str(text).ok()?)
                }
            }
        };
        Some(field)
    }

    #[inline(always)]
    fn word(&mut self, word: &str, field: Field<'row>) -> Option<Field<'row>> {
        let begins = self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes());
        begins.then(|| {
            self.at += word.len();
            field
        })
    }

    /// Walks over a number; whether it is a whole one that is written as it stands.
    #[inline(always)]
    fn number(&mut self) -> Option<bool> {
        let begin = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        let first = self.byte();
        let digits = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        let count = self.at - digits;
        let is_whole = !matches!(self.byte(), Some(b'.' | b'e' | b'E' | b'+' | b'-'));
        while matches!(self.byte(), Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
            self.at += 1;
        }
        let has_zero = first == Some(b'0') && (count > 1 || digits > begin);
        (count > 0).then_some(is_whole && count <= MAX_DIGITS && !has_zero)
    }

    /// Walks over a list or an object; whether all of it is written as it stands: without white space and
    /// escapes, with numbers and names that need no closer look. What is not is read by others.
    fn nested(&mut self, depth: usize) -> Option<bool> {
        let mut is_as_written = depth < MAX_DEPTH;
        let open = self.byte()?;
        self.at += 1;
        let close = if open == b'{' { b'}' } else { b']' };
        is_as_written &= !self.skips_blanks();
        if self.byte()? == close {
            self.at += 1;
            return Some(is_as_written);
        }
        let (mut names, mut count) = ([""; MAX_NAMES], 0);
        loop {
            is_as_written &= !self.skips_blanks();
            if open == b'{' {
                self.take(b'"')?;
                let (name, is_plain) = self.string()?;
                let before = names.get(..count).unwrap_or_default();
                is_as_written &= is_plain && count < MAX_NAMES && !before.contains(&name);
                if let Some(place) = names.get_mut(count) {
                    *place = name;
                    count += 1;
                }
                is_as_written &= !self.skips_blanks();
                self.take(b':')?;
                is_as_written &= !self.skips_blanks();
            }
            is_as_written &= match self.byte()? {
                b'"' => {
                    self.at += 1;
                    self.string()?.1
                }
                // Who nests deeper than this is read by others.
                b'{' | b'[' if depth < MAX_DEPTH => self.nested(depth + 1)?,
                b'n' => self.word("null", Field::Null).map(|_| true)?,
                b't' => self.word("true", Field::Null).map(|_| true)?,
                b'f' => self.word("false", Field::Null).map(|_| true)?,
                _ => self.number()?,
            };
            is_as_written &= !self.skips_blanks();
            let next = self.byte()?;
            self.at += 1;
            match next {
                b',' => {}
                _ if next == close => return Some(is_as_written),
                _ => return None,
            }
        }
    }

    /// Walks over white space; whether there was any.
    #[inline(always)]
    fn skips_blanks(&mut self) -> bool {
        let before = self.at;
        self.blanks();
        self.at > before
    }
}

/// Where the next quote, backslash or control character stands, or the end.
#[inline(always)]
fn unusual(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    while let Some(word) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let backslashes = zeros(word ^ (ONES * u64::from(b'\\')));
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quotes | backslashes | controls) & HIGHS;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if *byte < 0x20 || matches!(byte, b'"' | b'\\') {
            return at;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::default::fast::row;

    /// A row as its Sample would be written from it.
    fn written(row: &Row<'_>) -> Vec<(String, String)> {
        let write = |field: &Field<'_>| {
            let mut json = String::new();
            field.write(&mut json);
            json
        };
        row.iter().map(|(name, field)| (name.as_str().to_owned(), write(field))).collect()
    }

    #[test]
    fn usual_rows_are_read_here_and_odd_ones_elsewhere() {
        for (text, expected) in [
            (r#"{"a":1}"#, true),
            (" {\"a\" : -7 ,\n\"b\":\"x\" , \"c\" : [ ] } ", true),
            (r#"{"a":-0,"b":007.5,"c":1}"#, false),
            (r#"{"a":-0,"b":1.50,"c":1e3,"d":1234567890123456789}"#, true),
            (r#"{"a":"\u00e9\n","b":{"c":"\u00e9"},"d":{"c":[1.0,"x"]}}"#, true),
            (r#"{"a":{"b": {"b":1, "c":[null,true,false]}},"d":[]}"#, true),
            (r#"{"messages":[{"role":"user","content":"q"}]}"#, true),
            (r#"{"a":"a text that is longer than eight bytes, with é and 漢字 in it"}"#, true),
            (r#"{"a":[[[[[[[[1]]]]]]]]}"#, true),
            (r#"{"a":[[[[[[[[[[1]]]]]]]]]]}"#, false),
            (r#"{"\u0061":1}"#, false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a":{"b":1,"b":2}}"#, false),
            (r#"{"a":"\x"}"#, false),
            (r#"{"a":"\é"}"#, false),
            (r#"{"a":"\ud800"}"#, false),
            (r#"{"a":["\ud800"]}"#, false),
            ("{\"a\":\"\n\"}", false),
            (r#"{"a":[1,]}"#, false),
            (r#"{"a":[,1]}"#, false),
            (r#"{"a":{"b"}}"#, false),
            (r#"{"a":[1}}"#, false),
            (r#"{"a":1,}"#, false),
            (r#"{"a":1e999}"#, false),
            (r#"{"a":-}"#, false),
            (r#"{"a":nul}"#, false),
            (r#"{"a":1} {}"#, false),
            (r#"{"a"#, false),
            ("{}", false),
            ("", false),
        ] {
            let scanned = super::row(text);
            assert_eq!(scanned.is_some(), expected, "{text}");
            if let Some(scanned) = scanned {
                let thorough = row::thoroughly(text).map(|row| written(&row));
                assert_eq!(Some(written(&scanned)), thorough, "{text}");
            }
        }
    }
}
