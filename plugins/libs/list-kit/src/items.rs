//! The items of an answer that is a list.

use gage_sdk::metric::Value;
use gage_sdk::{PluginError, serde_json};
use gage_text_kit::json_text::read_exactly;
use gage_text_kit::text::excerpt;

/// A list, and what it says of itself.
#[derive(Debug, Default, PartialEq)]
pub struct List {
    /// In order.
    pub items: Vec<Item>,
    /// Whether the order counts.
    pub ordered: Option<bool>,
    /// Whether an item counts once, however often it occurs.
    pub unique: Option<bool>,
}

/// Most values of a list, those inside its items among them: comparing more takes more than the budget of an item.
pub const MAX_VALUES: usize = 50_000;

/// Refuses a list that is too long to be compared, before it is read. `name` says whose it is.
///
/// # Errors
/// `invalid-input` for one of more than [`MAX_VALUES`] values.
pub fn check_size(value: &Value, separator: Option<&str>, name: &str) -> Result<(), PluginError> {
    let is_too_long = match value {
        Value::Absent | Value::Number(_) | Value::Boolean(_) => false,
        Value::Texts(texts) => texts.len() > MAX_VALUES,
        Value::Json(json) => has_too_many_values(json),
        Value::Text(text) if text.trim_start().starts_with(['[', '{']) && has_too_many_values(text) => true,
        Value::Text(text) => {
            let separator = separator.filter(|separator| !separator.is_empty());
            separator.is_some_and(|separator| text.split(separator).nth(MAX_VALUES).is_some())
        }
    };
    if !is_too_long {
        return Ok(());
    }
    let message = format!("the {name} is a list of more than {MAX_VALUES} values, too long to be compared");
    Err(PluginError::invalid_input(message))
}

/// Returns whether JSON has so many values: each but the first stands behind a comma or an opening bracket.
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

/// One item.
#[derive(Debug, PartialEq)]
pub struct Item {
    /// The same for items that are the same; none for null, which is the same as nothing.
    pub key: Option<String>,
    /// For people.
    pub shown: String,
}

/// What items have in common that are the same; `None` for what is the same as nothing.
pub trait ItemKey: Fn(&serde_json::Value) -> Option<String> {}

impl<F: Fn(&serde_json::Value) -> Option<String>> ItemKey for F {}

impl List {
    /// Reads a list, whose items are the same where `key` gives the same: a JSON list, an object `{"items": […], "ordered": …, "unique": …}`, or a text that
    /// spells one of these. A text that does not is split at the separator where there is one. Anything
    /// else is a list of one. `None` where there is nothing, or an object without items.
    pub fn read(value: &Value, key: &impl ItemKey, separator: Option<&str>) -> Option<List> {
        match value {
            Value::Absent => None,
            Value::Text(text) => Some(List::of_text(text, key, separator)),
            other => List::of_json(&other.to_json(), key),
        }
    }

    fn of_text(text: &str, key: &impl ItemKey, separator: Option<&str>) -> List {
        let trimmed = text.trim();
        if trimmed.starts_with(['[', '{'])
            && let Ok(json) = read_exactly(trimmed)
            && let Some(list) = List::of_json(&json, key)
        {
            return list;
        }
        let parts: Vec<&str> = match separator.filter(|separator| !separator.is_empty()) {
            Some(separator) => text.split(separator).filter(|part| !part.trim().is_empty()).collect(),
            None if trimmed.is_empty() => Vec::new(),
            None => vec![text],
        };
        let items = parts.into_iter().map(|part| Item::new(&part.into(), key)).collect();
        List { items, ..List::default() }
    }

    /// The same of JSON; a text in it is a list of one.
    pub fn of_json(json: &serde_json::Value, key: &impl ItemKey) -> Option<List> {
        let items = |items: &[serde_json::Value]| items.iter().map(|item| Item::new(item, key)).collect();
        Some(match json {
            serde_json::Value::Null => return None,
            serde_json::Value::Array(list) => List { items: items(list), ..List::default() },
            serde_json::Value::Object(fields) => {
                let flag = |name: &str| fields.get(name).and_then(serde_json::Value::as_bool);
                let list = fields.get("items")?.as_array()?;
                List { items: items(list), ordered: flag("ordered"), unique: flag("unique") }
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
            ("[a, b]".into(), None, Some(vec!["[a, b]"])),
            ("a, b".into(), None, Some(vec!["a, b"])),
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
