//! Nested values, written as JSON text while they are read.

use super::field::Field;
use super::text::{Text, write_text_parts};
use gage_sdk::serde_json::Number;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Maximum number of members of an object read here: each name is compared with those before it.
pub(crate) const MAX_MEMBERS: usize = 64;

/// Returns the error for input that is left to the ordinary path.
pub(crate) fn too_odd<E: Error>() -> E {
    E::custom("not read in one pass")
}

/// Visitor methods shared by both kinds of values.
macro_rules! visit_scalars {
    () => {
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a value")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(self.scalar(Field::Null))
        }

        fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
            Ok(self.scalar(Field::Bool(value)))
        }

        fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
            Ok(self.scalar(Field::Number(value.into())))
        }

        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok(self.scalar(Field::Number(value.into())))
        }

        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok(self.scalar(Number::from_f64(value).map_or(Field::Null, Field::Number)))
        }
    };
}

pub(crate) use visit_scalars;

/// Place of a value. Message content that is a text is written as a list of parts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Messages,
    Message,
    Content,
    Other,
}

impl Place {
    fn of_item(self) -> Place {
        if self == Place::Messages { Place::Message } else { Place::Other }
    }

    fn of_member(self, name: &Text<'_>) -> Place {
        if self == Place::Message && name.as_str() == "content" { Place::Content } else { Place::Other }
    }
}

/// Writes a value while it is read. `names` has the member names so far of all open objects.
pub(crate) struct Writer<'read, 'row> {
    pub(crate) json: &'read mut String,
    pub(crate) names: &'read mut Vec<Text<'row>>,
    pub(crate) place: Place,
}

impl<'row> Writer<'_, 'row> {
    fn at(&mut self, place: Place) -> Writer<'_, 'row> {
        Writer { json: self.json, names: self.names, place }
    }

    fn scalar(self, value: Field<'_>) {
        value.write(self.json);
    }

    fn text(self, text: &Text<'_>) {
        if self.place == Place::Content {
            write_text_parts(self.json, &[text.borrowed()]);
        } else {
            text.write(self.json);
        }
    }
}

impl<'row> DeserializeSeed<'row> for Writer<'_, 'row> {
    type Value = ();

    fn deserialize<D: Deserializer<'row>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'row> Visitor<'row> for Writer<'_, 'row> {
    type Value = ();

    visit_scalars!();

    fn visit_borrowed_str<E>(self, value: &'row str) -> Result<(), E> {
        self.text(&Text::Plain(value));
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.text(&Text::Any(Cow::Borrowed(value)));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'row>>(mut self, mut access: A) -> Result<(), A::Error> {
        let place = self.place.of_item();
        self.json.push('[');
        let start = self.json.len();
        loop {
            let end = self.json.len();
            if end > start {
                self.json.push(',');
            }
            if access.next_element_seed(self.at(place))?.is_none() {
                self.json.truncate(end);
                break;
            }
        }
        self.json.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'row>>(mut self, mut access: A) -> Result<(), A::Error> {
        let start = self.names.len();
        self.json.push('{');
        while let Some(name) = access.next_key::<Text<'row>>()? {
            let before = self.names.get(start..).unwrap_or_default();
            if before.len() == MAX_MEMBERS || before.contains(&name) {
                return Err(too_odd());
            }
            if !before.is_empty() {
                self.json.push(',');
            }
            name.write(self.json);
            self.json.push(':');
            let place = self.place.of_member(&name);
            self.names.push(name);
            access.next_value_seed(self.at(place))?;
        }
        self.names.truncate(start);
        self.json.push('}');
        Ok(())
    }
}
