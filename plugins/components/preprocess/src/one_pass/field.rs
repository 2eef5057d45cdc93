//! The fields of a row, with nested values as JSON text.

use super::text::Text;
use gage_row_kit::fields;
use gage_sdk::serde_json::{self, Number, Value};
use std::borrow::Cow;
use std::fmt::Write;

/// Room for the fields of most rows.
pub(crate) const TYPICAL_FIELDS: usize = 16;

/// The value of a field.
pub(crate) enum Field<'row> {
    Null,
    Bool(bool),
    Number(Number),
    /// A text.
    Text(Text<'row>),
    /// A list or an object: its JSON text without white space.
    Nested(Cow<'row, str>),
}

/// The fields of a row, in order. Each name is there once.
pub(crate) type Row<'row> = Vec<(Text<'row>, Field<'row>)>;

impl Field<'_> {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Field::Null)
    }

    /// Returns whether it is a text, a list or an object.
    pub(crate) fn may_be_media(&self) -> bool {
        matches!(self, Field::Text(_) | Field::Nested(_))
    }

    /// Returns the text of a list; `None` for anything else.
    pub(crate) fn as_list(&self) -> Option<&str> {
        self.as_nested().filter(|text| text.starts_with('['))
    }

    /// Returns the text of an object; `None` for anything else.
    pub(crate) fn as_object(&self) -> Option<&str> {
        self.as_nested().filter(|text| text.starts_with('{'))
    }

    fn as_nested(&self) -> Option<&str> {
        match self {
            Field::Nested(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a scalar as text, like [`fields::text`].
    pub(crate) fn as_text(&self) -> Option<Text<'_>> {
        match self {
            Field::Text(text) => Some(text.borrowed()),
            Field::Null | Field::Nested(_) => None,
            Field::Bool(_) | Field::Number(_) => {
                let value = self.to_value()?;
                fields::text(&value).map(|text| Text::Any(Cow::Owned(text.into_owned())))
            }
        }
    }

    /// Returns the value itself, for the ordinary steps.
    pub(crate) fn to_value(&self) -> Option<Value> {
        match self {
            Field::Null => Some(Value::Null),
            Field::Bool(value) => Some(Value::Bool(*value)),
            Field::Number(number) => Some(Value::Number(number.clone())),
            Field::Text(text) => Some(text.as_str().into()),
            Field::Nested(text) => serde_json::from_str(text).ok(),
        }
    }

    /// Adds it to JSON text.
    pub(crate) fn write(&self, json: &mut String) {
        match self {
            Field::Null => json.push_str("null"),
            Field::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            Field::Number(number) => {
                // Writing to a text cannot fail.
                let _ = write!(json, "{number}");
            }
            Field::Text(text) => text.write(json),
            Field::Nested(text) => json.push_str(text),
        }
    }
}
