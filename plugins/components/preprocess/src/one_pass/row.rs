//! A row read in one pass, without a tree of values. Its own fields are names, texts and numbers; anything nested in
//! them is kept as the JSON text to be written.
//!
//! Reading goes through serde_json, so input that it rejects or respells is also rejected or respelled here.

use super::field::{Field, Row, TYPICAL_FIELDS};
use super::nested::{MAX_MEMBERS, Place, Writer, too_odd, visit_scalars};
use super::text::Text;
use gage_sdk::serde_json::{self, Number};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Initial room for a nested value.
const NESTED_BYTES: usize = 128;

/// Reads a row; `None` if it is not an object of distinct names, if a nested object is not, or if one has more than
/// [`MAX_MEMBERS`].
pub(crate) fn read(row: &str) -> Option<Row<'_>> {
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
