//! What a scorer saw.

use crate::Object;
use crate::json_decode::scanner::is_surely_as_written;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// What a scorer saw: a JSON object. One that came as the text that would be written of it stays that text until somebody
/// looks into it; of nearly all samples nobody does in the run that scores them.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// Empty where there is a text.
    object: Object,
    text: Option<String>,
}

impl Detail {
    /// What a text says, where the same bytes would be written of it.
    ///
    /// # Errors
    /// The text, whatever is wrong or unusual about it.
    pub fn of_text(text: String) -> Result<Detail, String> {
        match is_surely_as_written(&text) {
            true => Ok(Detail { object: Object::new(), text: Some(text) }),
            false => Err(text),
        }
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.text.as_ref().map_or(self.object.is_empty(), |text| text == "{}")
    }

    /// The object.
    pub fn object(&self) -> Cow<'_, Object> {
        self.text.as_ref().map_or(Cow::Borrowed(&self.object), |text| Cow::Owned(read(text)))
    }

    /// The object, to be changed.
    pub fn object_mut(&mut self) -> &mut Object {
        if let Some(text) = self.text.take() {
            self.object = read(&text);
        }
        &mut self.object
    }

    /// Has a function change the object, unless the text shows that nothing in it is to change.
    pub fn change(&mut self, is_kept: impl FnOnce(&str) -> bool, change: impl FnOnce(&mut Value)) {
        if self.text.as_deref().is_some_and(is_kept) {
            return;
        }
        let mut value = Value::Object(std::mem::take(self.object_mut()));
        change(&mut value);
        if let Value::Object(object) = value {
            self.object = object;
        }
    }

    /// Its JSON.
    pub fn to_text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(serde_json::to_string(&self.object).unwrap_or_default()),
        }
    }
}

/// What was looked at when it was taken.
fn read(text: &str) -> Object {
    serde_json::from_str(text).unwrap_or_default()
}

impl From<Object> for Detail {
    fn from(object: Object) -> Detail {
        Detail { object, text: None }
    }
}

impl PartialEq for Detail {
    fn eq(&self, other: &Detail) -> bool {
        self.object() == other.object()
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.text {
            Some(text) => {
                serde_transcode::transcode(&mut serde_json::Deserializer::from_str(text), serializer)
            }
            None => self.object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Detail {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Detail, D::Error> {
        Object::deserialize(deserializer).map(Detail::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_written_as_the_object_in_it_is() {
        let text = r#"{"prediction":"x","weight":2.5,"parts":[{"a":null}]}"#;
        let mut kept = Detail::of_text(text.to_owned()).expect("a usual text");
        let object = Detail::from(kept.object().into_owned());
        assert_eq!((&kept, kept.is_empty()), (&object, false));
        for detail in [&kept, &object] {
            assert_eq!(serde_json::to_string(detail).expect("JSON"), text);
            assert_eq!(
                serde_json::to_value(detail).expect("JSON"),
                json!({"prediction": "x", "weight": 2.5, "parts": [{"a": null}]})
            );
            assert_eq!(detail.to_text(), text);
        }
        kept.object_mut().insert("more".to_owned(), true.into());
        assert_eq!(kept.object().get("more"), Some(&json!(true)));
        assert!(Detail::of_text("{}".to_owned()).is_ok_and(|detail| detail.is_empty()));
    }

    #[test]
    fn a_text_that_would_be_written_otherwise_comes_back() {
        for text in ["", "[1]", "{", "{\"a\": 1}", "{\"a\":1,\"a\":2}"] {
            assert_eq!(Detail::of_text(text.to_owned()), Err(text.to_owned()));
        }
    }
}
