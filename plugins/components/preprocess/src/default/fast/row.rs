//! A row read in one pass, without a tree of values: names, texts and numbers of its own fields, and
//! everything that is nested in them as the JSON text that it will be written as.
//!
//! Reading goes through serde_json, so whatever it refuses or respells is refused or respelt here too.

use super::nested::{MAX_MEMBERS, Place, Writer, too_odd, visit_scalars};
use super::text::Text;
use gage_row_kit::fields;
use gage_sdk::serde_json::{self, Number, Value};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// Room for the fields of most rows.
pub(super) const TYPICAL_FIELDS: usize = 16;

/// Room for a nested value at first.
const NESTED_BYTES: usize = 128;

/// The value of a field.
pub(super) enum Field<'row> {
    Null,
    Bool(bool),
    Number(Number),
    /// A number as it stands, which is how it is written.
    Integer(&'row str),
    /// A text.
    Text(Text<'row>),
    /// A list or an object: its JSON text without white space.
    Nested(Cow<'row, str>),
}

/// The fields of a row, in order. Each name is there once.
pub(super) type Row<'row> = Vec<(Text<'row>, Field<'row>)>;

impl Field<'_> {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Field::Null)
    }

    /// Whether it is a text, a list or an object.
    pub(super) fn may_be_media(&self) -> bool {
        matches!(self, Field::Text(_) | Field::Nested(_))
    }

    /// The text of a list; none of anything else.
    pub(super) fn as_list(&self) -> Option<&str> {
        self.as_nested().filter(|text| text.starts_with('['))
    }

    /// The text of an object; none of anything else.
    pub(super) fn as_object(&self) -> Option<&str> {
        self.as_nested().filter(|text| text.starts_with('{'))
    }

    fn as_nested(&self) -> Option<&str> {
        match self {
            Field::Nested(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as text, as [`fields::text`] has it.
    pub(super) fn as_text(&self) -> Option<Text<'_>> {
        match self {
            Field::Text(text) => Some(text.borrowed()),
            Field::Integer(digits) => Some(Text::Plain(digits)),
            Field::Null | Field::Nested(_) => None,
            Field::Bool(_) | Field::Number(_) => {
                let value = self.to_value()?;
                fields::text(&value).map(|text| Text::Any(Cow::Owned(text.into_owned())))
            }
        }
    }

    /// The value itself, for the ordinary steps.
    pub(super) fn to_value(&self) -> Option<Value> {
        match self {
            Field::Null => Some(Value::Null),
            Field::Bool(value) => Some(Value::Bool(*value)),
            Field::Number(number) => Some(Value::Number(number.clone())),
            Field::Text(text) => Some(text.as_str().into()),
            Field::Integer(text) => serde_json::from_str(text).ok(),
            Field::Nested(text) => serde_json::from_str(text).ok(),
        }
    }

    /// Adds it to JSON text.
    pub(super) fn write(&self, json: &mut String) {
        match self {
            Field::Null => json.push_str("null"),
            Field::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            Field::Number(number) => {
                // Writing to a text cannot fail.
                let _ = write!(json, "{number}");
            }
            Field::Text(text) => text.write(json),
            Field::Integer(text) => json.push_str(text),
            Field::Nested(text) => json.push_str(text),
        }
    }
}

/// Reads a row; none where it is no object of distinct names, where an object in it is none, or where one
/// has more than [`MAX_MEMBERS`].
pub(super) fn read(row: &str) -> Option<Row<'_>> {
    super::scan::row(row).or_else(|| thoroughly(row))
}

/// The same through serde_json.
pub(super) fn thoroughly(row: &str) -> Option<Row<'_>> {
    let mut deserializer = serde_json::Deserializer::from_str(row);
    let fields = deserializer.deserialize_map(RowVisitor).ok()?;
    deserializer.end().ok()?;
    Some(fields)
}

struct RowVisitor;

impl<'row> Visitor<'row> for RowVisitor {
    type Value = Row<'row>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a row")
    }

    fn visit_map<A: MapAccess<'row>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut row = Row::with_capacity(TYPICAL_FIELDS);
        let mut names = Vec::new();
        while let Some(name) = access.next_key::<Text<'row>>()? {
            if row.len() == MAX_MEMBERS || row.iter().any(|(other, _)| *other == name) {
                return Err(too_odd());
            }
            let place = if name.as_str() == "messages" { Place::Messages } else { Place::Other };
            let field = access.next_value_seed(FieldSeed { names: &mut names, place })?;
            row.push((name, field));
        }
        Ok(row)
    }
}

/// Reads the value of a field.
struct FieldSeed<'read, 'row> {
    names: &'read mut Vec<Text<'row>>,
    place: Place,
}

impl<'row> FieldSeed<'_, 'row> {
    fn scalar(self, value: Field<'row>) -> Field<'row> {
        value
    }
}

impl<'row> DeserializeSeed<'row> for FieldSeed<'_, 'row> {
    type Value = Field<'row>;

    fn deserialize<D: Deserializer<'row>>(self, deserializer: D) -> Result<Field<'row>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'row> Visitor<'row> for FieldSeed<'_, 'row> {
    type Value = Field<'row>;

    visit_scalars!();

    fn visit_borrowed_str<E>(self, value: &'row str) -> Result<Field<'row>, E> {
        Ok(Field::Text(Text::Plain(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Field<'row>, E> {
        Ok(Field::Text(Text::Any(Cow::Owned(value.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'row>>(self, access: A) -> Result<Field<'row>, A::Error> {
        let mut json = String::with_capacity(NESTED_BYTES);
        Writer { json: &mut json, names: self.names, place: self.place }.visit_seq(access)?;
        Ok(Field::Nested(Cow::Owned(json)))
    }

    fn visit_map<A: MapAccess<'row>>(self, access: A) -> Result<Field<'row>, A::Error> {
        let mut json = String::with_capacity(NESTED_BYTES);
        Writer { json: &mut json, names: self.names, place: self.place }.visit_map(access)?;
        Ok(Field::Nested(Cow::Owned(json)))
    }
}
