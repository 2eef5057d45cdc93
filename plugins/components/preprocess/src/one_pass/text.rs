//! Texts, and writing them as JSON.

use gage_sdk::serde_json;
use gage_text_kit::text::strip;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A text of a row.
pub(crate) enum Text<'row> {
    /// JSON text between its quotes, unchanged: text without escapes needs none.
    Plain(&'row str),
    /// Any other text: escaped in the input, or made here.
    Any(Cow<'row, str>),
}

impl<'row> Text<'row> {
    pub(crate) fn made(text: &'row str) -> Text<'row> {
        Text::Any(Cow::Borrowed(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Text::Plain(text) => text,
            Text::Any(text) => text,
        }
    }

    pub(crate) fn borrowed(&self) -> Text<'_> {
        match self {
            Text::Plain(text) => Text::Plain(text),
            Text::Any(text) => Text::Any(Cow::Borrowed(text)),
        }
    }

    /// Returns the text without white space at the ends.
    pub(crate) fn stripped(&self) -> Text<'_> {
        match self {
            Text::Plain(text) => Text::Plain(strip(text)),
            Text::Any(text) => Text::Any(Cow::Borrowed(strip(text))),
        }
    }

    /// Appends the text to JSON text, in quotes.
    pub(crate) fn write(&self, json: &mut String) {
        json.push('"');
        self.write_inside(json);
        json.push('"');
    }

    /// Appends the text to JSON text, without the quotes.
    pub(crate) fn write_inside(&self, json: &mut String) {
        match self {
            Text::Plain(text) => json.push_str(text),
            Text::Any(text) => write_escaped(json, text),
        }
    }
}

/// Appends the name of a member to JSON text, with a comma before it unless it is the first.
pub(crate) fn member(json: &mut String, name: &Text<'_>) {
    separate(json);
    name.write(json);
    json.push(':');
}

/// Appends a Sample name that needs no escapes, in a single copy.
macro_rules! known_member {
    ($json:expr, $name:literal) => {{
        let json: &mut String = $json;
        $crate::one_pass::text::separate(json);
        json.push_str(concat!("\"", $name, "\":"));
    }};
}

pub(crate) use known_member;

/// Appends a comma, unless the member is the first.
pub(crate) fn separate(json: &mut String) {
    if json.as_bytes().last() != Some(&b'{') {
        json.push(',');
    }
}

/// Appends a text to JSON text, in quotes.
pub(crate) fn write_text(json: &mut String, text: &str) {
    Text::made(text).write(json);
}

/// Appends content with one text part to JSON text; the text is given in pieces.
pub(crate) fn write_text_parts(json: &mut String, pieces: &[Text<'_>]) {
    json.push_str(r#"[{"type":"text","text":""#);
    for piece in pieces {
        piece.write_inside(json);
    }
    json.push_str(r#""}]"#);
}

/// Appends text escaped by serde_json.
fn write_escaped(json: &mut String, text: &str) {
    if !text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        json.push_str(text);
        return;
    }
    // Writing a text cannot fail.
    let escaped = serde_json::to_string(text).unwrap_or_default();
    json.push_str(escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default());
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Text<'_>) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<'row> Deserialize<'row> for Text<'row> {
    fn deserialize<D: Deserializer<'row>>(deserializer: D) -> Result<Text<'row>, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'row> Visitor<'row> for TextVisitor {
    type Value = Text<'row>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'row str) -> Result<Text<'row>, E> {
        Ok(Text::Plain(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'row>, E> {
        Ok(Text::Any(Cow::Owned(text.to_owned())))
    }
}
