//! Reads types straight from the text of a document, without a [`Value`] in between.
//!
//! Only what is right and usual is read this way. Everything else is given up, and read again as a
//! [`Value`], which can say what is wrong and where; so an error here holds nothing of interest. Of a
//! key that occurs twice the last value counts, as it does in a [`Value`].

use super::FieldReader;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::{Formatter, Result as FormatResult};
use std::marker::PhantomData;

/// What can be read straight from a text. A kind of JSON that a type does not name is given up.
pub(crate) trait StreamingDecode<'t>: Sized {
    /// Reads an object.
    fn of_members<A: MapAccess<'t>>(_members: A) -> Result<Self, A::Error> {
        Err(give_up())
    }

    /// Reads a list.
    fn of_items<A: SeqAccess<'t>>(_items: A) -> Result<Self, A::Error> {
        Err(give_up())
    }

    /// Reads a string.
    fn of_string(_text: &str) -> Option<Self> {
        None
    }

    /// Reads null.
    fn of_null() -> Option<Self> {
        None
    }
}

impl<'t, T: StreamingDecode<'t>> StreamingDecode<'t> for Vec<T> {
    fn of_items<A: SeqAccess<'t>>(mut items: A) -> Result<Self, A::Error> {
        let Some(first) = items.next_element_seed(DecodeSeed::new())? else { return Ok(Vec::new()) };
        // Most lists of a Sample have one item, and a Sample is kept for long: no spare room for it.
        let mut all = vec![first];
        while let Some(item) = items.next_element_seed(DecodeSeed::new())? {
            all.push(item);
        }
        Ok(all)
    }
}

/// Null counts as missing.
impl<'t, T: StreamingDecode<'t>> StreamingDecode<'t> for Option<T> {
    fn of_members<A: MapAccess<'t>>(members: A) -> Result<Self, A::Error> {
        T::of_members(members).map(Some)
    }

    fn of_items<A: SeqAccess<'t>>(items: A) -> Result<Self, A::Error> {
        T::of_items(items).map(Some)
    }

    fn of_string(text: &str) -> Option<Self> {
        T::of_string(text).map(Some)
    }

    fn of_null() -> Option<Self> {
        Some(None)
    }
}

impl StreamingDecode<'_> for String {
    fn of_string(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

/// Reads one value by its type, whatever kind of JSON it is.
struct DecodeSeed<T>(PhantomData<T>);

impl<T> DecodeSeed<T> {
    fn new() -> DecodeSeed<T> {
        DecodeSeed(PhantomData)
    }
}

impl<'t, T: StreamingDecode<'t>> DeserializeSeed<'t> for DecodeSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t, T: StreamingDecode<'t>> Visitor<'t> for DecodeSeed<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a usual shape")
    }

    fn visit_map<A: MapAccess<'t>>(self, members: A) -> Result<T, A::Error> {
        T::of_members(members)
    }

    fn visit_seq<A: SeqAccess<'t>>(self, items: A) -> Result<T, A::Error> {
        T::of_items(items)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::of_string(text).ok_or_else(give_up)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        T::of_null().ok_or_else(give_up)
    }
}

/// A string that is only looked at: a key, or a name of something known.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct TextVisitor<'t>(#[serde(borrow)] pub(crate) Cow<'t, str>);

/// Reads the value of a member.
pub(crate) fn next<'t, T: StreamingDecode<'t>, A: MapAccess<'t>>(members: &mut A) -> Result<T, A::Error> {
    members.next_value_seed(DecodeSeed::new())
}

/// Reads the value of a member as a [`Value`], and gives up where a problem is found in it.
pub(crate) fn next_checked<'t, T, A: MapAccess<'t>>(
    members: &mut A,
    read: impl FnOnce(Value, &mut FieldReader<'_>) -> T,
) -> Result<T, A::Error> {
    let value = members.next_value()?;
    checked(|reading| read(value, reading))
}

/// Does what can find problems, and gives up where it finds one.
pub(crate) fn checked<T, E: Error>(check: impl FnOnce(&mut FieldReader<'_>) -> T) -> Result<T, E> {
    let mut problems = Vec::new();
    let found = check(&mut FieldReader::document(&mut problems));
    if problems.is_empty() { Ok(found) } else { Err(give_up()) }
}

/// Says that a document is not read this way.
pub(crate) fn give_up<E: Error>() -> E {
    E::custom("not a usual shape")
}
