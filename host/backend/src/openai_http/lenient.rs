//! Values of a reply of which only a part is kept. A value of an unexpected kind is no error: it counts as missing.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A part of a JSON value.
pub(super) trait LenientValue<'j>: Sized {
    /// Creates the part from a text, a number or anything else.
    fn from_scalar(value: ScalarValue<'j>) -> Self;

    /// Creates the part from the members of an object, which are all read.
    fn from_members<A: MapAccess<'j>>(mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::from_scalar(ScalarValue::Other))
    }
}

/// Reads a part of a value of any kind.
pub(super) fn read_lenient<'j, T: LenientValue<'j>, D: Deserializer<'j>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(LenientVisitor(PhantomData))
}

/// A JSON value, without the contents of lists and objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum ScalarValue<'j> {
    /// A text.
    Text(Cow<'j, str>),
    /// A whole number of at least 0.
    Integer(u64),
    /// Any other number.
    Number(f64),
    /// Anything else.
    #[default]
    Other,
}

impl ScalarValue<'_> {
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            ScalarValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match self {
            ScalarValue::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            ScalarValue::Integer(number) => Some(*number as f64),
            ScalarValue::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl<'j> LenientValue<'j> for ScalarValue<'j> {
    fn from_scalar(value: ScalarValue<'j>) -> ScalarValue<'j> {
        value
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for ScalarValue<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ScalarValue<'j>, D::Error> {
        read_lenient::<ScalarValue<'de>, D>(deserializer)
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: LenientValue<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Other))
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Other))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Integer(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Number(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Number(number)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_scalar(ScalarValue::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::from_scalar(ScalarValue::Other))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::from_members(members)
    }
}
