//! JSON text that is parsed on demand.

use crate::json_decode::has_distinct_keys;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;
use std::fmt::{Formatter, Result as FormatResult};
use std::ops::Deref;
use std::sync::OnceLock;

/// A JSON value kept as text, in the spelling of serde_json. The first access to its content parses the text;
/// writing it builds no tree. A run reads every Sample back from its journal, and usually needs only the
/// text. The default is null.
#[derive(Clone, Debug, Default)]
pub struct LazyJson {
    /// The text; `None` for the default, and for a value that was not created from text.
    text: Option<Box<str>>,
    value: OnceLock<Box<Value>>,
}

impl LazyJson {
    /// Keeps a text, in the spelling of serde_json. If members have the same key, the last counts.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn from_text(text: String) -> serde_json::Result<LazyJson> {
        // The second parser reports the error of an invalid text.
        let bytes = serde_json::from_str::<WrittenBytes>(&text).ok().and_then(|WrittenBytes(bytes)| bytes);
        let is_canonical = bytes == Some(text.len());
        let written = if is_canonical { text } else { written(&serde_json::from_str(&text)?)? };
        Ok(LazyJson { text: Some(written.into_boxed_str()), value: OnceLock::new() })
    }

    /// Keeps a text that serde_json has written, which is not checked.
    pub fn of_written(text: &str) -> LazyJson {
        LazyJson { text: Some(text.into()), value: OnceLock::new() }
    }

    /// Returns whether the value is null. Parses nothing.
    pub fn is_null(&self) -> bool {
        self.value.get().map_or_else(|| matches!(self.text(), Some("null") | None), |value| value.is_null())
    }

    /// Returns whether the value is null or an empty object. Parses nothing.
    pub fn is_empty(&self) -> bool {
        match self.value.get() {
            Some(value) => value.is_null() || value.as_object().is_some_and(|object| object.is_empty()),
            None => matches!(self.text(), Some("{}" | "null") | None),
        }
    }

    /// Returns a member of an object. Does not parse a text in which the key does not occur. The key must
    /// consist of ASCII letters, digits and underscores, which serde_json never escapes.
    pub fn member(&self, key: &str) -> Option<&Value> {
        let is_absent = |text: &str| memchr::memmem::find(text.as_bytes(), key.as_bytes()).is_none();
        if self.value.get().is_none() && self.text().is_none_or(is_absent) { None } else { self.get(key) }
    }

    /// Parses a part of the value into a type. The rest of a text is skipped without being built.
    ///
    /// # Errors
    /// If the part does not have that type.
    pub fn read<'j, T: Deserialize<'j>>(&'j self) -> serde_json::Result<T> {
        match (self.value.get(), self.text()) {
            (Some(value), _) => T::deserialize(&**value),
            (None, Some(text)) => serde_json::from_str(text),
            (None, None) => T::deserialize(&Value::Null),
        }
    }

    /// Returns the text; `None` for the default, and for a value that was not created from text.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the value.
    pub fn into_value(mut self) -> Value {
        match self.value.take() {
            Some(value) => *value,
            None => self.parse(),
        }
    }

    /// Parses the text, which is known to be valid JSON.
    fn parse(&self) -> Value {
        self.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl Deref for LazyJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| Box::new(self.parse()))
    }
}

impl From<Value> for LazyJson {
    fn from(value: Value) -> LazyJson {
        LazyJson { text: None, value: Box::new(value).into() }
    }
}

impl PartialEq for LazyJson {
    fn eq(&self, other: &LazyJson) -> bool {
        **self == **other
    }
}

impl Serialize for LazyJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            None => (**self).serialize(serializer),
            Some(text) => {
                serde_transcode::transcode(&mut serde_json::Deserializer::from_str(text), serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for LazyJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LazyJson, D::Error> {
        let text = written(&BorrowedValue::deserialize(deserializer)?).map_err(D::Error::custom)?;
        Ok(LazyJson { text: Some(text.into_boxed_str()), value: OnceLock::new() })
    }
}

/// Writes a value as serde_json does. If members have the same key, the last counts.
fn written(value: &BorrowedValue<'_>) -> serde_json::Result<String> {
    if has_distinct_keys(value) { serde_json::to_string(value) } else { Ok(Value::from(value).to_string()) }
}

/// Number of keys of an object that are kept for comparison with later keys.
const MAX_COMPARED_KEYS: usize = 8;

/// Number of bytes that serde_json needs to write a value. If the source text has the same length, it has the
/// same spelling, since white space would make it longer. `None` if undecided: for an escape, a fraction, and
/// an object with many members or duplicate keys. A key with an escape is an error.
struct WrittenBytes(Option<usize>);

impl<'de> Deserialize<'de> for WrittenBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WrittenBytes, D::Error> {
        deserializer.deserialize_any(WrittenBytesVisitor)
    }
}

struct WrittenBytesVisitor;

impl<'de> Visitor<'de> for WrittenBytesVisitor {
    type Value = WrittenBytes;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("JSON whose keys have no escapes")
    }

    fn visit_unit<E>(self) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(Some("null".len())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(Some(if value { "true".len() } else { "false".len() })))
    }

    fn visit_u64<E>(self, number: u64) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(Some(number.checked_ilog10().unwrap_or(0) as usize + 1)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<WrittenBytes, E> {
        let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
        Ok(WrittenBytes(Some(usize::from(number < 0) + digits)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(None))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(Some(text.len() + 2)))
    }

    /// Only a text with escapes is not borrowed.
    fn visit_str<E>(self, _: &str) -> Result<WrittenBytes, E> {
        Ok(WrittenBytes(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WrittenBytes, A::Error> {
        let mut sum = Some("[]".len());
        let mut count = 0_usize;
        while let Some(WrittenBytes(item)) = items.next_element()? {
            let comma = usize::from(count > 0);
            sum = sum.zip(item).map(|(sum, item)| sum + comma + item);
            count += 1;
        }
        Ok(WrittenBytes(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<WrittenBytes, A::Error> {
        let mut sum = Some("{}".len());
        let mut keys = [""; MAX_COMPARED_KEYS];
        let mut count = 0;
        while let Some(key) = members.next_key::<&str>()? {
            let WrittenBytes(value) = members.next_value()?;
            let comma = usize::from(count > 0);
            let is_new = keys.get(..count).is_some_and(|earlier| !earlier.contains(&key));
            let member = value.filter(|_| is_new).map(|value| "\"\":".len() + key.len() + value);
            sum = sum.zip(member).map(|(sum, member)| sum + comma + member);
            if let Some(place) = keys.get_mut(count) {
                *place = key;
            }
            count += 1;
        }
        Ok(WrittenBytes(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// JSON in many spellings, with duplicate keys.
    fn json_text() -> impl Strategy<Value = String> {
        let space = || prop::sample::select(vec!["", "", "", " ", "\n"]);
        let leaves = [
            "null",
            "true",
            "false",
            "0",
            "-1",
            "120",
            "1.50",
            "-0",
            "1e2",
            "\"a\"",
            "\"ü\"",
            "\"\\n\"",
            "\"\\u0061\"",
        ];
        let keys = prop::sample::select(vec!["a", "b", "\\u0061", "c", "ü"]);
        prop::sample::select(leaves.to_vec()).prop_map(str::to_owned).prop_recursive(
            4,
            40,
            12,
            move |inner| {
                let items = prop::collection::vec((space(), inner.clone()), 0..4);
                let members = prop::collection::vec((space(), keys.clone(), space(), inner), 0..12);
                prop_oneof![
                    items.prop_map(|items| {
                        let items: Vec<String> =
                            items.iter().map(|(space, item)| format!("{space}{item}")).collect();
                        format!("[{}]", items.join(","))
                    }),
                    members.prop_map(|members| {
                        let members: Vec<String> = members
                            .iter()
                            .map(|(before, key, after, value)| format!("{before}\"{key}\":{after}{value}"))
                            .collect();
                        format!("{{{}}}", members.join(","))
                    }),
                ]
            },
        )
    }

    proptest! {
        #[test]
        fn every_spelling_becomes_that_of_serde_json(text in json_text()) {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let of_reader: LazyJson = serde_json::from_str(&text).expect("JSON");
            let lazy = LazyJson::from_text(text).expect("JSON");
            prop_assert_eq!(serde_json::to_string(&lazy).expect("JSON"), value.to_string());
            prop_assert_eq!(lazy.text().unwrap_or_default(), value.to_string());
            prop_assert_eq!(lazy.text(), of_reader.text());
            prop_assert_eq!(lazy.into_value(), value);
        }
    }

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
            let of_spaced_text = LazyJson::from_text(spaced).expect("JSON");
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
            r#"{"a":[],"b":{},"c":[{"d":-10,"e":99,"weight":0,"f":[true,false,null,"ü"]}]}"#,
            r#"{"a":1e2, "b":100}"#,
            r#"{"a":1,"b":2,"a":{"c":1,"c":[{"weight":1,"weight":2}]}}"#,
        ] {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let lazy = LazyJson::from_text(text.to_owned()).expect("JSON");
            for key in ["weight", "a", "absent"] {
                assert_eq!(lazy.member(key), value.get(key), "{text} {key}");
            }
            assert_eq!(lazy.is_empty(), value.is_null() || value == json!({}), "{text}");
            let written = serde_json::to_string(&lazy).expect("JSON");
            assert_eq!(written, serde_json::to_string(&value).expect("JSON"), "{text}");
        }
    }

    #[test]
    fn only_a_text_in_another_spelling_is_copied() {
        for (text, is_kept) in [
            (r#"{"a":[1,-20,"ü",null,true,false,{}],"b":[]}"#, true),
            (r#"{"a": 1}"#, false),
            (r#"{"a":1.5}"#, false),
            (r#"{"a":"\n"}"#, false),
            (r#"{"\u0061":1}"#, false),
            (r#"{"a":1,"a":1}"#, false),
        ] {
            let text = text.to_owned();
            let place = text.as_ptr();
            let lazy = LazyJson::from_text(text).expect("JSON");
            assert_eq!(lazy.text().map(str::as_ptr) == Some(place), is_kept, "{lazy:?}");
        }
    }

    #[test]
    fn no_key_has_a_meaning_of_its_own() {
        for text in [
            r#"{"$serde_json::private::RawValue":"[1,2]"}"#,
            r#"{"$serde_json::private::RawValue":5}"#,
            r#"{"$serde_json::private::Number":"1"}"#,
        ] {
            let lazy = LazyJson::from_text(text.to_owned()).expect("JSON");
            assert_eq!(lazy.as_object().map(serde_json::Map::len), Some(1), "{text}");
            assert_eq!(lazy.into_value().to_string(), text);
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
            assert!(LazyJson::from_text(text.to_owned()).is_err(), "{text}");
            assert!(serde_json::from_str::<LazyJson>(text).is_err(), "{text}");
        }
    }
}
