//! JSON text that is parsed when a value of it is needed.

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// A JSON value that is kept as the text it was read from. The first access to its content parses the text; writing it does
/// not. A run reads every Sample back from its journal, and of most Samples it needs nothing but the text.
#[derive(Clone, Debug)]
pub struct LazyJson {
    /// The text: as serde_json writes it, or any other spelling without escapes. Empty if it was made from a value.
    text: Box<str>,
    value: OnceLock<Value>,
}

impl LazyJson {
    /// Keeps the text of a non-empty object. A text without escapes spells each key in one way and stays unchanged; it is still
    /// written as serde_json writes it.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn from_object_text(text: String) -> serde_json::Result<LazyJson> {
        if !text.starts_with("{\"") || text.contains('\\') {
            return serde_json::from_str(&text);
        }
        serde_json::from_str::<CheckedJson>(&text)?;
        Ok(LazyJson { text: text.into_boxed_str(), value: OnceLock::new() })
    }

    /// Whether it is null. Parses nothing.
    pub fn is_null(&self) -> bool {
        self.value.get().map_or(&*self.text == "null", Value::is_null)
    }

    /// Whether it is null or an object without members. Parses nothing.
    pub fn is_empty(&self) -> bool {
        match self.value.get() {
            Some(Value::Object(object)) => object.is_empty(),
            Some(value) => value.is_null(),
            None => matches!(&*self.text, "{}" | "null"),
        }
    }

    /// A member of an object. Does not parse a text in which the key occurs nowhere. The key consists of ASCII letters, digits
    /// and underscores, which serde_json never escapes.
    pub fn member(&self, key: &str) -> Option<&Value> {
        let is_absent = || memchr::memmem::find(self.text.as_bytes(), key.as_bytes()).is_none();
        if self.value.get().is_none() && is_absent() { None } else { self.get(key) }
    }

    /// The text, unless it was made from a value.
    pub fn text(&self) -> Option<&str> {
        Some(&*self.text).filter(|text| !text.is_empty())
    }

    /// The value.
    pub fn into_value(mut self) -> Value {
        match self.value.take() {
            Some(value) => value,
            None => parse(&self.text),
        }
    }
}

/// The value of a text that was read as JSON before.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl Deref for LazyJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| parse(&self.text))
    }
}

impl From<Value> for LazyJson {
    fn from(value: Value) -> LazyJson {
        LazyJson { text: Box::default(), value: value.into() }
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
        match &*self.text {
            "" => (**self).serialize(serializer),
            text => serde_transcode::transcode(&mut serde_json::Deserializer::from_str(text), serializer),
        }
    }
}

impl<'de> Deserialize<'de> for LazyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LazyJson, D::Error> {
        let mut text = Vec::new();
        serde_transcode::transcode(deserializer, &mut serde_json::Serializer::new(&mut text))
            .map_err(D::Error::custom)?;
        let text = String::from_utf8(text).map_err(D::Error::custom)?;
        Ok(LazyJson { text: text.into_boxed_str(), value: OnceLock::new() })
    }
}

/// JSON that was read to its end and discarded. Unlike `IgnoredAny` it refuses numbers and texts that no value
/// can hold.
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
            let of_text: LazyJson = serde_json::from_str(&spaced).expect("JSON");
            let of_tree: LazyJson = serde_json::from_value(value.clone()).expect("JSON");
            for lazy in [&of_value, &of_text, &of_tree] {
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
    fn the_text_of_an_object_is_written_as_serde_json_writes_it() {
        for text in [
            r#"{"a":1,"b":[null,true,"x"]}"#,
            "{\"a\" : 1.0e2 ,\n \"b\":[ -0.0, 18446744073709551616 ] }",
            r#"{"w\u0065ight":2,"t":"\/\n"}"#,
            " { \"a\": {} }",
        ] {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let lazy = LazyJson::from_object_text(text.to_owned()).expect("JSON");
            for key in ["weight", "a", "absent"] {
                assert_eq!(lazy.member(key), value.get(key), "{text} {key}");
            }
            assert_eq!(lazy.is_empty(), value == json!({}), "{text}");
            let written = serde_json::to_string(&lazy).expect("JSON");
            assert_eq!(written, serde_json::to_string(&value).expect("JSON"), "{text}");
        }
        for text in
            ["{\"a\":1e999}", "{\"a\":\"\\ud800\"}", "{\"a\"}", "{\"a\":1}}", "{\"a\":\"\n\"}", "{\"a\":01}"]
        {
            assert!(LazyJson::from_object_text(text.to_owned()).is_err(), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert!(LazyJson::from_object_text(deep).is_err());
    }

    #[test]
    fn text_that_is_not_json_is_an_error() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "nul"] {
            assert!(serde_json::from_str::<LazyJson>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<LazyJson>(&"[".repeat(200)).is_err());
    }
}
