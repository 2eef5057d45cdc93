//! Inputs of the kind `json`, and paths into JSON values.

use gage_sdk::metric::Value;
use gage_sdk::{PluginError, serde_json};

/// Returns the value as JSON; null if it is absent.
///
/// # Errors
/// `invalid-input` if it is not JSON that can be stored: a number beyond a float, such as `1e400`, or more than 127
/// levels of lists and objects.
pub fn read(value: &Value, name: &str) -> Result<serde_json::Value, PluginError> {
    let Value::Json(text) = value else { return Ok(value.to_json()) };
    serde_json::from_str(text)
        .map_err(|error| PluginError::invalid_input(format!("the input '{name}' cannot be read: {error}")))
}

/// Returns the value at a path of object keys and list indices from 0. An empty path gives the value itself, and `None`
/// means that the path leads nowhere. Null is a value like any other.
pub fn at_path<'json, 'path>(
    value: &'json serde_json::Value,
    path: impl IntoIterator<Item = &'path str>,
) -> Option<&'json serde_json::Value> {
    path.into_iter().try_fold(value, |value, segment| match value {
        serde_json::Value::Object(members) => members.get(segment),
        serde_json::Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn what_cannot_be_held_is_an_error() {
        let read_text = |text: &str| read(&Value::Json(text.to_owned()), "parsed");
        assert_eq!(read_text(r#"{"a":[1]}"#), Ok(json!({ "a": [1] })));
        assert_eq!(read(&Value::Absent, "parsed"), Ok(json!(null)));
        for text in ["1e400".to_owned(), "{".to_owned(), "[".repeat(200) + &"]".repeat(200)] {
            assert!(read_text(&text).is_err_and(|error| error.message.starts_with("the input 'parsed'")));
        }
    }

    #[test]
    fn paths() {
        let value = json!({ "a": [0, { "b": null }], "1": "c", "": "d" });
        for (path, expected) in [
            ("a.0", Some(json!(0))),
            ("a.1.b", Some(json!(null))),
            ("1", Some(json!("c"))),
            ("", Some(json!("d"))),
            ("a.2", None),
            ("a.-1", None),
            ("a.b", None),
            ("1.0", None),
            ("a.1.b.c", None),
        ] {
            assert_eq!(at_path(&value, path.split('.')), expected.as_ref(), "{path}");
        }
        assert_eq!(at_path(&value, []), Some(&value));
    }
}
