//! Parts of an argument as JSON holds them.

use crate::ids::scalar;
use crate::normalizer::Normalizer;
use gage_sdk::serde_json::{Map, Value};

/// Returns the value of a member; null if there is none.
pub fn member<'a>(members: &'a Map<String, Value>, key: &str) -> &'a Value {
    members.get(key).unwrap_or(&Value::Null)
}

/// Returns the text of a step or claim in comparable form: the value itself, or its member `text`; `None` if it is
/// blank or missing.
pub fn text(value: &Value, normalizer: Normalizer) -> Option<String> {
    let value = if value.is_object() { value.get("text")? } else { value };
    let text = normalizer.apply(&scalar(value)?);
    (!text.is_empty()).then_some(text)
}

/// Members of an object that may hold a text of an argument, or further parts of it.
const TEXT_KEYS: [&str; 8] =
    ["text", "content", "claim", "statement", "reason", "rationale", "steps", "claims"];

/// Returns the texts in a part of an argument, in comparable form and without blank ones. Lists and objects may be
/// nested; of an object, only the members that may hold a text are read.
pub fn texts(value: &Value, normalizer: Normalizer) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, normalizer, &mut found);
    found
}

fn collect(value: &Value, normalizer: Normalizer, found: &mut Vec<String>) {
    match value {
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, normalizer, found)),
        Value::Object(members) => {
            let parts = TEXT_KEYS.iter().filter_map(|key| members.get(*key));
            parts.for_each(|part| collect(part, normalizer, found));
        }
        single => found.extend(text(single, normalizer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use proptest::prelude::*;

    #[test]
    fn nested_texts() {
        for (value, expected) in [
            (json!(" A  b"), vec!["a b"]),
            (json!(["a", ["b", { "text": "C" }], null, " ", 5]), vec!["a", "b", "c", "5"]),
            (json!({ "text": ["a", { "text": "b" }] }), vec!["a", "b"]),
            (json!({ "text": { "content": "a" }, "detail": "b", "id": "s1" }), vec!["a"]),
            (json!({ "claim": "a", "steps": [{ "text": "b" }] }), vec!["a", "b"]),
            (json!([{}, [], null]), vec![]),
        ] {
            assert_eq!(texts(&value, Normalizer::loose()), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn a_nested_text_is_found_as_often_as_it_stands(words in prop::collection::vec("[a-z]{1,5}", 0..5)) {
            let nested = words.iter().rev().fold(json!([]), |rest, word| json!([{ "text": [word] }, rest]));
            prop_assert_eq!(texts(&nested, Normalizer::loose()), words);
        }
    }

    #[test]
    fn texts_of_single_parts() {
        for (value, expected) in [
            (json!(" A  b"), Some("a b")),
            (json!({ "text": "A" }), Some("a")),
            (json!({ "id": "A" }), None),
            (json!(" "), None),
            (json!(["A"]), None),
            (json!(1.0), Some("1")),
        ] {
            assert_eq!(text(&value, Normalizer::loose()).as_deref(), expected, "{value}");
        }
    }
}
