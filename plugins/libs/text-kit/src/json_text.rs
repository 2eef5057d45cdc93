//! JSON embedded in other text: after a sentence, inside a code fence, before a remark.

use gage_sdk::serde_json::{self, Value};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Formatter;

/// Type of the JSON to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

/// A part of a text that begins like JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundJson<'text> {
    /// Start in bytes.
    pub start: usize,
    /// The text up to the closing bracket, or to the end if there is none.
    pub text: &'text str,
    is_closed: bool,
}

impl<'text> FoundJson<'text> {
    /// Returns the value, parsed like [`read_exactly`].
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn value(&self) -> Result<Value, String> {
        if !self.is_closed {
            return Err("it ends before its closing bracket".to_owned());
        }
        read_exactly(self.text).map_err(|error| error.to_string())
    }

    /// Returns the first member name that the object itself repeats, which makes its value ambiguous.
    pub fn doubled_name(&self) -> Option<String> {
        let Names(names) = serde_json::from_str(self.text).ok()?;
        let mut seen = BTreeSet::new();
        names.into_iter().find(|name| !seen.insert(name.clone()))
    }

    /// Returns the spelling of valid JSON, with quotes around long integers as in [`read_exactly`]. Needs no memory for
    /// values.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn exact_text(&self) -> Result<Cow<'text, str>, String> {
        if !self.is_closed {
            return Err("it ends before its closing bracket".to_owned());
        }
        let text = with_long_integers_quoted(self.text);
        serde_json::from_str::<Readable>(&text).map_err(|error| error.to_string())?;
        Ok(text)
    }
}

/// Names of an object's members, in order.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        deserializer.deserialize_map(Names(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = Names;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Names, A::Error> {
        while let Some((name, IgnoredAny)) = members.next_entry()? {
            self.0.push(name);
        }
        Ok(self)
    }
}

/// Any storable JSON, checked without storing it.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Readable, D::Error> {
        // Skipped numbers are not read, so 1e400 would pass.
        deserializer.deserialize_any(Readable)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Readable;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
        while items.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
        while members.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

/// Reads JSON, and turns integers that exceed 64 bits into texts of their digits, so that rounding never makes two of
/// them equal.
///
/// # Errors
/// If it is not JSON.
pub fn read_exactly(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&with_long_integers_quoted(text))
}

/// Minimum number of digits of an integer that may exceed 64 bits.
const LONG_INTEGER: usize = 19;

/// Returns JSON with quotes around the integers that exceed 64 bits.
fn with_long_integers_quoted(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    // Most texts have no such run of digits, which every 19th byte reveals.
    let may_have_any = bytes.iter().step_by(LONG_INTEGER).any(u8::is_ascii_digit);
    if !may_have_any {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut copied, mut at) = (String::new(), 0, 0);
    let mut in_string = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let is_part =
                    |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let end = at + bytes.iter().skip(at).take_while(|byte| is_part(byte)).count();
                let number = text.get(at..end).unwrap_or_default();
                if is_long_integer(number) {
                    quoted.push_str(text.get(copied..at).unwrap_or_default());
                    quoted.extend(["\"", number, "\""]);
                    copied = end;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(quoted)
}

/// Returns whether a JSON number is an integer, without an exponent, that exceeds 64 bits.
fn is_long_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= LONG_INTEGER
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0')
        && number.parse::<i64>().is_err()
        && number.parse::<u64>().is_err()
}

/// Returns the parts of a text that begin like JSON of a shape, in order; none is inside another.
///
/// A brace begins an object if a key or the closing brace follows. So `\frac{1}{2}` has none, and `{'a': 1}` is one
/// with an error. A bracket begins an array if a value or the closing bracket follows. Unclosed JSON extends to the end
/// of the text: text inside a truncated object is a part of it, not a separate answer. Takes linear time.
pub fn find_json(text: &str, shape: Shape) -> Vec<FoundJson<'_>> {
    let opening = match shape {
        Shape::Object => '{',
        Shape::Array => '[',
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(opening)) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        if !begins(rest, shape) {
            at = start + 1;
            continue;
        }
        let closed = length(rest).and_then(|length| rest.get(..length));
        let stretch = closed.unwrap_or(rest);
        at = start + stretch.len();
        found.push(FoundJson { start, text: stretch, is_closed: closed.is_some() });
    }
    found
}

/// Returns whether the text after an opening bracket looks like valid or malformed JSON.
fn begins(text: &str, shape: Shape) -> bool {
    /// Maximum white space before the first key; models do not write JSON with more.
    const MAX_WHITESPACE_BYTES: usize = 256;
    let mut characters =
        text.chars().skip(1).take(MAX_WHITESPACE_BYTES).skip_while(|character| character.is_whitespace());
    match (characters.next(), shape) {
        (Some('"' | '\''), _) | (Some('}'), Shape::Object) => true,
        (Some(first), Shape::Object) if first == '_' || first.is_alphabetic() => {
            // A key without quotes.
            let is_key = |character: &char| *character == '_' || character.is_alphanumeric();
            let mut after_key = characters.skip_while(is_key);
            after_key.find(|character| !character.is_whitespace()) == Some(':')
        }
        (Some(first), Shape::Array) => {
            let mut rest = std::iter::once(first).chain(characters);
            let word: String = rest.by_ref().take_while(char::is_ascii_lowercase).take(5).collect();
            let is_name = ["true", "false", "null"].iter().any(|name| word.starts_with(name));
            is_name || matches!(first, ']' | '[' | '{' | '-') || first.is_ascii_digit()
        }
        _ => false,
    }
}

/// Returns the number of bytes up to the bracket that closes the first one; strings are skipped.
fn length(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                open -= 1;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn objects(text: &str) -> Vec<Option<Value>> {
        find_json(text, Shape::Object).into_iter().map(|found| found.value().ok()).collect()
    }

    #[test]
    fn objects_in_text() {
        for (text, expected) in [
            (
                r#"so {"a": 1} and {"a": {"b": 2}}."#,
                vec![Some(json!({"a": 1})), Some(json!({"a": {"b": 2}}))],
            ),
            ("```json\n{\n  \"a\": \"}\\\"{\"\n}\n``` done", vec![Some(json!({"a": "}\"{"}))]),
            (r"\frac{1}{2} of \boxed{x} {}", vec![Some(json!({}))]),
            (r#"{"a": NaN, "b": {"c": 1}} {"d": 1}"#, vec![None, Some(json!({"d": 1}))]),
            (r#"{'a': 1} {a: 1} {ä_1 : 1}"#, vec![None, None, None]),
            (r#"{"a": {"b": 1}, "c": "#, vec![None]),
            (r#"{"a": 1e400}"#, vec![None]),
            ("{ set of x }", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(objects(text), expected, "{text}");
        }
    }

    #[test]
    fn arrays_in_text() {
        let found = find_json(r#"see [note] and ["a", [1]] or [1 2] or [2"#, Shape::Array);
        let texts: Vec<_> = found.iter().map(|found| (found.text, found.value().is_ok())).collect();
        assert_eq!(texts, [(r#"["a", [1]]"#, true), ("[1 2]", false), ("[2", false)]);
        assert_eq!(found.first().map(|found| found.start), Some(15));
    }

    #[test]
    fn integers_keep_their_digits() {
        for (text, expected) in [
            ("[12345678901234567890123, 5]", json!(["12345678901234567890123", 5])),
            ("{\"a\": -12345678901234567890123}", json!({"a": "-12345678901234567890123"})),
            ("[18446744073709551615, -9223372036854775808]", json!([u64::MAX, i64::MIN])),
            ("[18446744073709551616]", json!(["18446744073709551616"])),
            (
                r#"["\"12345678901234567890123", 1.2345678901234567890123]"#,
                json!(["\"12345678901234567890123", 1.2345678901234567]),
            ),
            ("[123456789012345678901e3]", json!([1.234_567_890_123_456_9e23])),
        ] {
            assert_eq!(read_exactly(text).ok(), Some(expected), "{text}");
        }
        assert!(read_exactly("[012345678901234567890123]").is_err());
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
        assert_eq!(objects(&deep), [None]);
    }

    #[test]
    fn long_texts_take_linear_time() {
        for text in
            ["{\"a\": [".repeat(130_000), "{a".repeat(500_000), format!("{{{}", " ".repeat(1_000_000))]
        {
            assert!(objects(&text).len() <= 1);
        }
    }
}
