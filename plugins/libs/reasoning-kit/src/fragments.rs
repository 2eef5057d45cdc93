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

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn texts() {
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
