//! Ids of evidence and of steps, and texts, as JSON holds them.

use crate::normalizer::Normalizer;
use gage_sdk::serde_json::Value;
use gage_text_kit::number::float_text;

/// Returns the value as text, unnormalized: strings, numbers by value (`1.0` is `1`), booleans. `None` for anything
/// else, and for blank texts.
pub fn scalar(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => float_text(number.as_f64()?),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the items of a list; any other value except null is a list of one.
pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Null => &[],
        Value::Array(items) => items,
        single => std::slice::from_ref(single),
    }
}

/// Returns the id of a value: a scalar itself, or the member `id` of an object.
pub fn id(value: &Value, normalizer: Normalizer) -> Option<String> {
    let value = if value.is_object() { value.get("id")? } else { value };
    let id = normalizer.apply(&scalar(value)?);
    (!id.is_empty()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn ids() {
        for (value, expected) in [
            (json!(" News_1 "), Some("news_1")),
            (json!(0), Some("0")),
            (json!(1.0), Some("1")),
            (json!(true), Some("true")),
            (json!({ "id": 7 }), Some("7")),
            (json!({ "name": 7 }), None),
            (json!([1]), None),
            (json!(null), None),
            (json!("  "), None),
        ] {
            assert_eq!(id(&value, Normalizer::loose()).as_deref(), expected, "{value}");
        }
        assert_eq!(items(&json!("a")).len(), 1);
        assert_eq!(items(&json!(null)).len(), 0);
    }
}
