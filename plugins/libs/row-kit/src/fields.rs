//! Reading fields of a raw row or of a Sample.

use gage_sdk::PluginError;
use gage_sdk::serde_json::{Map, Value};
use gage_text_kit::json::at_path;
use gage_text_kit::number::float_text;
use gage_text_kit::value::boolean_text;
use std::borrow::Cow;

/// A raw row, or any other object.
pub type Fields = Map<String, Value>;

/// Creates an object with these members. Unlike `json!`, it takes the values without a copy, which matters for millions
/// of rows.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the value at a path of names and list indices, separated by dots. A name that contains dots itself is found
/// as a whole. Null counts as absent. Of several paths separated by `|`, the first that leads to a value counts.
pub fn find<'row>(row: &'row Fields, path: &str) -> Option<&'row Value> {
    let found = row.get(path).or_else(|| walk(row, path)).filter(|value| !value.is_null());
    found.or_else(|| {
        path.contains('|').then(|| path.split('|').find_map(|path| find(row, path.trim()))).flatten()
    })
}

/// Returns the path of several separated by `|` that leads to a value. Without one, returns all.
pub fn present<'path>(row: &Fields, path: &'path str) -> &'path str {
    match path.contains('|') && !row.contains_key(path) {
        true => path.split('|').map(str::trim).find(|path| find(row, path).is_some()).unwrap_or(path),
        false => path,
    }
}

fn walk<'row>(row: &'row Fields, path: &str) -> Option<&'row Value> {
    let mut segments = path.split('.');
    let first = row.get(segments.next()?)?;
    at_path(first, segments)
}

/// Returns the value at a path, which must exist.
///
/// # Errors
/// `invalid-input` if it is missing or null.
pub fn require<'row>(row: &'row Fields, path: &str) -> Result<&'row Value, PluginError> {
    find(row, path).ok_or_else(|| unusable(path, "is missing"))
}

/// Returns the value at a path, which must exist. A field of the row itself is removed from it.
///
/// # Errors
/// `invalid-input` if it is missing or null.
pub fn take(row: &mut Fields, path: &str) -> Result<Value, PluginError> {
    let path = present(row, path);
    match row.shift_remove(path) {
        Some(value) if !value.is_null() => Ok(value),
        _ => require(row, path).cloned(),
    }
}

/// Returns the text at a path, which must exist.
///
/// # Errors
/// `invalid-input` if it is missing, or is a list or an object.
pub fn require_text<'row>(row: &'row Fields, path: &str) -> Result<Cow<'row, str>, PluginError> {
    text(require(row, path)?).ok_or_else(|| unusable(path, "must be a text"))
}

/// Returns the error of an unusable field.
pub fn unusable(path: &str, why: &str) -> PluginError {
    PluginError::invalid_input(format!("field '{path}' {why}")).at(pointer(path))
}

/// Returns the JSON pointer of a path.
pub fn pointer(path: &str) -> String {
    format!("/{}", path.replace('~', "~0").replace('/', "~1").replace('.', "/"))
}

/// Returns a scalar as text: strings as they are, numbers and booleans in their JSON spelling.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(boolean) => Some(Cow::Borrowed(boolean_text(*boolean))),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|number| Cow::Owned(float_text(number)))
        }
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn paths() {
        let Value::Object(row) = json!({ "a": { "b": [1, { "c": "x" }] }, "d.e": 2, "n": null }) else {
            panic!("a row is an object")
        };
        for (path, expected) in [
            ("a.b.1.c", Some(json!("x"))),
            ("d.e", Some(json!(2))),
            ("n", None),
            ("a.x", None),
            ("a.x|d.e", Some(json!(2))),
            ("n | a.b.1.c", Some(json!("x"))),
            ("n|a.x", None),
            ("a.b.9", None),
            ("a.b.-1", None),
            ("", None),
        ] {
            assert_eq!(find(&row, path), expected.as_ref(), "{path}");
        }
        let pointer = require(&row, "a.x").err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some("/a/x"));
    }

    #[test]
    fn scalars_are_texts() {
        for (value, expected) in
            [(json!("a "), Some("a ")), (json!(18), Some("18")), (json!(1.5), Some("1.5")), (json!([]), None)]
        {
            assert_eq!(text(&value).as_deref(), expected);
        }
    }
}
