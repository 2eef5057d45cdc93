//! The items of an answer that is a list.

use gage_sdk::metric::Value;
use gage_sdk::{PluginError, serde_json};
use gage_text_kit::json_text::read_exactly;
use gage_text_kit::text::excerpt;

/// A list with the properties that it declares.
#[derive(Debug, Default, PartialEq)]
pub struct List {
    /// The items, in order.
    pub items: Vec<Item>,
    /// True if the order counts; `None` if the list does not say.
    pub ordered: Option<bool>,
    /// True if repeated items count once; `None` if the list does not say.
    pub unique: Option<bool>,
}

/// Marks at which a text is split where a list is expected and the suite names no separator.
const MARKS: [char; 6] = [',', '，', '、', ';', '；', '\n'];

/// Maximum number of values in a list, including those nested in its items. Comparing more would exceed the budget of
/// an item.
pub const MAX_VALUES: usize = 50_000;

/// Rejects a list that is too long to compare, before it is read. `name` names its owner in the error.
///
/// # Errors
/// `invalid-input` if it has more than [`MAX_VALUES`] values.
pub fn check_size(value: &Value, separator: Option<&str>, name: &str) -> Result<(), PluginError> {
    let is_too_long = match value {
        Value::Absent | Value::Number(_) | Value::Boolean(_) => false,
        Value::Texts(texts) => texts.len() > MAX_VALUES,
        Value::Json(json) => has_too_many_values(json),
        Value::Text(text) if text.trim_start().starts_with(['[', '{']) && has_too_many_values(text) => true,
        Value::Text(text) => parts(text, separator).nth(MAX_VALUES).is_some(),
    };
    if !is_too_long {
        return Ok(());
    }
    let message = format!("the {name} is a list of more than {MAX_VALUES} values, too long to be compared");
    Err(PluginError::invalid_input(message))
}

/// Returns the parts of a text where a list is expected, without blank ones and without white space around them. An
/// empty separator keeps the text whole.
fn parts<'text>(text: &'text str, separator: Option<&'text str>) -> impl Iterator<Item = &'text str> {
    let (at_separator, at_marks) = match separator {
        None => (None, Some(text.split(MARKS))),
        Some("") => (None, None),
        Some(separator) => (Some(text.split(separator)), None),
    };
    let whole = (at_separator.is_none() && at_marks.is_none()).then_some(text);
    let parts = at_separator.into_iter().flatten().chain(at_marks.into_iter().flatten());
    whole.into_iter().chain(parts.map(str::trim)).filter(|part| !part.trim().is_empty())
}

/// Returns whether JSON has more than [`MAX_VALUES`] values. Each value except the first follows a comma or an opening
/// bracket.
fn has_too_many_values(json: &str) -> bool {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > MAX_VALUES
}

/// One item of a list.
#[derive(Debug, PartialEq)]
pub struct Item {
    /// Key that equal items share. `None` for null, which equals nothing.
    pub key: Option<String>,
    /// Text for reports.
    pub shown: String,
}

/// Returns the key that equal items share; `None` for an item that equals nothing.
pub trait ItemKey: Fn(&serde_json::Value) -> Option<String> {}

impl<F: Fn(&serde_json::Value) -> Option<String>> ItemKey for F {}

impl List {
    /// Reads a list whose items are equal if `key` returns the same for them. A list is a JSON list, an object
    /// `{"items": […], "ordered": …, "unique": …}`, or a text that spells one of these. Any other text is split at the
    /// separator. Without one it is split at commas, semicolons and line breaks; an empty one keeps it whole. `items`
    /// may be such a text too. Anything else is a list of one item. `None` if there is no value, or for an object
    /// without items.
    pub fn read(value: &Value, key: &impl ItemKey, separator: Option<&str>) -> Option<List> {
        match value {
            Value::Absent => None,
            Value::Text(text) => Some(List::of_text(text, key, separator)),
            other => List::of_json(&other.to_json(), key, separator),
        }
    }

    fn of_text(text: &str, key: &impl ItemKey, separator: Option<&str>) -> List {
        let trimmed = text.trim();
        if trimmed.starts_with(['[', '{'])
            && let Ok(json) = read_exactly(trimmed)
            && let Some(list) = List::of_json(&json, key, separator)
        {
            return list;
        }
        let items = parts(text, separator).map(|part| Item::new(&part.into(), key)).collect();
        List { items, ..List::default() }
    }

    /// Reads a list from JSON; see [`List::read`]. A text is a list of one item.
    pub fn of_json(json: &serde_json::Value, key: &impl ItemKey, separator: Option<&str>) -> Option<List> {
        let items = |items: &[serde_json::Value]| items.iter().map(|item| Item::new(item, key)).collect();
        Some(match json {
            serde_json::Value::Null => return None,
            serde_json::Value::Array(list) => List { items: items(list), ..List::default() },
            serde_json::Value::Object(fields) => {
                let flag = |name: &str| fields.get(name).and_then(serde_json::Value::as_bool);
                let items = match fields.get("items")? {
                    serde_json::Value::Array(list) => items(list),
                    serde_json::Value::String(text) => List::of_text(text, key, separator).items,
                    _ => return None,
                };
                List { items, ordered: flag("ordered"), unique: flag("unique") }
            }
            single => List { items: vec![Item::new(single, key)], ..List::default() },
        })
    }
}

impl Item {
    fn new(value: &serde_json::Value, key: &impl ItemKey) -> Item {
        let shown = match value {
            serde_json::Value::String(text) => excerpt(text).into_owned(),
            other => excerpt(&other.to_string()).into_owned(),
        };
        Item { key: key(value), shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_text_kit::answer::key;
    use gage_text_kit::text::Normalization;

    const LOOSE: Normalization = Normalization { case_sensitive: false, strip: true, collapse: true };

    fn read(value: Value, separator: Option<&str>) -> Option<Vec<String>> {
        let list = List::read(&value, &|item: &serde_json::Value| key(item, LOOSE), separator)?;
        Some(list.items.into_iter().map(|item| item.shown).collect())
    }

    #[test]
    fn lists_have_many_shapes() {
        let json = |json: &str| Value::Json(json.to_owned());
        for (value, separator, expected) in [
            (json(r#"["a",1]"#), None, Some(vec!["a", "1"])),
            (json(r#"{"items":["a"],"ordered":true}"#), None, Some(vec!["a"])),
            (json(r#"{"a":1}"#), None, None),
            (json("null"), None, None),
            ("[\"a\",\"b\"]".into(), None, Some(vec!["a", "b"])),
            (json(r#"{"items":"a, b"}"#), None, Some(vec!["a", "b"])),
            (json(r#"{"items":1}"#), None, None),
            ("[a, b]".into(), None, Some(vec!["[a", "b]"])),
            ("a, b;c\nd、e，f；g".into(), None, Some(vec!["a", "b", "c", "d", "e", "f", "g"])),
            ("big data".into(), None, Some(vec!["big data"])),
            (" , ".into(), None, Some(vec![])),
            ("a, b".into(), Some(""), Some(vec!["a, b"])),
            ("a | b".into(), Some("|"), Some(vec!["a", "b"])),
            ("a,,b".into(), Some(","), Some(vec!["a", "b"])),
            (" ".into(), None, Some(vec![])),
            (Value::Number(5.0), None, Some(vec!["5"])),
            (Value::Texts(vec!["a".to_owned()]), None, Some(vec!["a"])),
            (Value::Absent, None, None),
        ] {
            let expected = expected.map(|items| items.into_iter().map(str::to_owned).collect());
            assert_eq!(read(value.clone(), separator), expected, "{value:?}");
        }
    }
}
