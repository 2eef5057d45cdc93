//! JSON text that is parsed when a value of it is needed.

use crate::json_decode::has_distinct_keys;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use serde_json_borrow::Value as BorrowedValue;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// A JSON value that is kept as the text it was read from, and is written as that text. The first access to its content parses
/// it. A run reads every Sample back from its journal, and of most Samples it needs nothing but the text.
#[derive(Clone, Debug)]
pub struct LazyJson {
    /// The text, unless it was made from a value.
    text: Option<Box<RawValue>>,
    value: OnceLock<Value>,
}

impl LazyJson {
    /// Keeps a text, in the spelling of serde_json. Of members with the same key the last counts.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn from_text(text: &str) -> serde_json::Result<LazyJson> {
        let value: BorrowedValue<'_> = serde_json::from_str(text)?;
        let written = match has_distinct_keys(&value) {
            true => serde_json::to_string(&value)?,
            false => serde_json::from_str::<Value>(text)?.to_string(),
        };
        Ok(LazyJson { text: Some(RawValue::from_string(written)?), value: OnceLock::new() })
    }

    /// Whether it is null. Parses nothing.
    pub fn is_null(&self) -> bool {
        self.value.get().map_or_else(|| self.text() == Some("null"), Value::is_null)
    }

    /// Whether it is null or an object without members. Parses nothing.
    pub fn is_empty(&self) -> bool {
        match self.value.get() {
            Some(Value::Object(object)) => object.is_empty(),
            Some(value) => value.is_null(),
            None => matches!(self.text(), Some("{}" | "null")),
        }
    }

    /// A member of an object. Does not parse a text in which the key occurs nowhere. The key consists of ASCII letters, digits
    /// and underscores, which serde_json never escapes.
    pub fn member(&self, key: &str) -> Option<&Value> {
        let is_absent = |text: &str| memchr::memmem::find(text.as_bytes(), key.as_bytes()).is_none();
        if self.value.get().is_none() && self.text().is_some_and(is_absent) { None } else { self.get(key) }
    }

    /// The text, unless it was made from a value.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref().map(RawValue::get)
    }

    /// The value.
    pub fn into_value(mut self) -> Value {
        match self.value.take() {
            Some(value) => value,
            None => self.parse(),
        }
    }

    /// The value of the text, which was read as JSON before.
    fn parse(&self) -> Value {
        self.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl Deref for LazyJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| self.parse())
    }
}

impl From<Value> for LazyJson {
    fn from(value: Value) -> LazyJson {
        LazyJson { text: None, value: value.into() }
    }
}

impl Default for LazyJson {
    fn default() -> LazyJson {
        Value::Null.into()
    }
}

impl PartialEq for LazyJson {
    fn eq(&self, other: &LazyJson) -> bool {
        **self == **other
    }
}

impl Serialize for LazyJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            None => (**self).serialize(serializer),
            Some(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LazyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LazyJson, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str::<CheckedJson>(text.get()).map_err(D::Error::custom)?;
        Ok(LazyJson { text: Some(text), value: OnceLock::new() })
    }
}

/// JSON that was read to its end and discarded. Unlike `IgnoredAny` and `RawValue` it refuses numbers, texts and depths that no
/// value can hold.
struct CheckedJson;

impl<'de> Deserialize<'de> for CheckedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CheckedJson, D::Error> {
        deserializer.deserialize_any(CheckedVisitor)
    }
}

struct CheckedVisitor;

impl<'de> Visitor<'de> for CheckedVisitor {
    type Value = CheckedJson;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_bool<E>(self, _: bool) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_i64<E>(self, _: i64) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_u64<E>(self, _: u64) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_f64<E>(self, _: f64) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_str<E>(self, _: &str) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<CheckedJson, A::Error> {
        while items.next_element::<CheckedJson>()?.is_some() {}
        Ok(CheckedJson)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<CheckedJson, A::Error> {
        while members.next_entry::<CheckedJson, CheckedJson>()?.is_some() {}
        Ok(CheckedJson)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_and_value_are_written_and_compared_alike() {
        for value in [
            json!(null),
            json!({}),
            json!({"b": [1, -2, 0.1, 1e300, u64::MAX, "é\n\"\\ \u{1}"], "a": {"deep": [null, true, {}]}}),
            json!("text"),
            json!(7),
        ] {
            let written = serde_json::to_string(&value).expect("JSON");
            let spaced = serde_json::to_string_pretty(&value).expect("JSON");
            let of_value = LazyJson::from(value.clone());
            let of_text: LazyJson = serde_json::from_str(&format!(" {written}\n")).expect("JSON");
            let of_spaced_text = LazyJson::from_text(&spaced).expect("JSON");
            let of_tree: LazyJson = serde_json::from_value(value.clone()).expect("JSON");
            for lazy in [&of_value, &of_text, &of_spaced_text, &of_tree] {
                assert_eq!(lazy.is_null(), value.is_null());
                assert_eq!(lazy.is_empty(), [json!(null), json!({})].contains(&value));
                assert_eq!((lazy.member("b"), lazy.member("absent")), (value.get("b"), None));
                assert_eq!(serde_json::to_string(lazy).expect("JSON"), written);
                assert_eq!((&**lazy, lazy.is_null()), (&value, value.is_null()));
                assert_eq!(serde_json::to_value(lazy).expect("JSON"), value);
                assert_eq!((lazy, lazy.clone().into_value()), (&of_value, value.clone()));
            }
        }
    }

    #[test]
    fn a_text_is_written_as_serde_json_writes_it() {
        for text in [
            r#"{"a":1,"b":[null,true,"x"]}"#,
            "{\"a\" : 1.0e2 ,\n \"b\":[ -0.0, 18446744073709551616 ] }",
            r#"{"w\u0065ight":2,"t":"\/\n"}"#,
            " { \"a\": {} }",
            " null ",
            r#"{"a":1,"b":2,"a":{"c":1,"c":[{"weight":1,"weight":2}]}}"#,
        ] {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let lazy = LazyJson::from_text(text).expect("JSON");
            for key in ["weight", "a", "absent"] {
                assert_eq!(lazy.member(key), value.get(key), "{text} {key}");
            }
            assert_eq!(lazy.is_empty(), value.is_null() || value == json!({}), "{text}");
            let written = serde_json::to_string(&lazy).expect("JSON");
            assert_eq!(written, serde_json::to_string(&value).expect("JSON"), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_value_is_an_error() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "nul",
            "{\"a\":1e999}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\"}",
            "{\"a\":1}}",
            "{\"a\":\"\n\"}",
            "{\"a\":01}",
            &deep,
        ] {
            assert!(LazyJson::from_text(text).is_err(), "{text}");
            assert!(serde_json::from_str::<LazyJson>(text).is_err(), "{text}");
        }
    }
}
