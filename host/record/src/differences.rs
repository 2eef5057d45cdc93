//! Differences between two JSON values, to show why a run cannot be resumed.

use serde_json::Value;

/// Maximum length of a displayed value, in characters.
const MAX_VALUE_CHARS: usize = 60;

/// Lists the places in which two values differ, each with its old and new value:
/// `config.tasks[0].max_samples: 10 before, 20 now`. Empty if they are equal. Key order does not count.
pub fn differences(before: &Value, now: &Value) -> Vec<String> {
    compare("", before, now).into_iter().map(describe).collect()
}

/// Formats a difference as one line: its place, then the values before and now.
pub(crate) fn describe(Difference { place, before, now }: Difference) -> String {
    let place = if place.is_empty() { "the whole" } else { &place };
    format!("{place}: {} before, {} now", shown(before.as_ref()), shown(now.as_ref()))
}

/// A place in which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Path of the value: `config.tasks[0].max_samples`.
    pub place: String,
    /// Value before; `None` if there was no value.
    pub before: Option<Value>,
    /// Value now; `None` if there is no value.
    pub now: Option<Value>,
}

/// Lists the places below a path in which two values differ. Empty if they are equal. Key order does not
/// count.
pub fn compare(path: &str, before: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(path, Some(before), Some(now), &mut found);
    found
}

fn walk(path: &str, before: Option<&Value>, now: Option<&Value>, found: &mut Vec<Difference>) {
    match (before, now) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            for (key, value) in before {
                walk(&join_place(path, key), Some(value), now.get(key), found);
            }
            for (key, value) in now.iter().filter(|(key, _)| !before.contains_key(key.as_str())) {
                walk(&join_place(path, key), None, Some(value), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) => {
            for index in 0..before.len().max(now.len()) {
                walk(&format!("{path}[{index}]"), before.get(index), now.get(index), found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => {
            found.push(Difference { place: path.to_owned(), before: before.cloned(), now: now.cloned() });
        }
    }
}

/// Appends a key to a path. The key is quoted if it could be mistaken for several keys.
pub fn join_place(path: &str, key: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    if key.is_empty() || !key.chars().all(is_plain) {
        return format!("{path}[{}]", Value::from(key));
    }
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "absent".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_difference_names_its_place_and_both_values() {
        let cases = [
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), vec![]),
            (json!({"a": {"b": [1, 2]}}), json!({"a": {"b": [1, 3]}}), vec!["a.b[1]: 2 before, 3 now"]),
            (json!({"a": [1]}), json!({"a": []}), vec!["a[0]: 1 before, absent now"]),
            (
                json!({"x": null}),
                json!({"y.z": "t"}),
                vec!["x: null before, absent now", "[\"y.z\"]: absent before, \"t\" now"],
            ),
            (json!(1), json!("1"), vec!["the whole: 1 before, \"1\" now"]),
        ];
        for (before, now, expected) in cases {
            assert_eq!(differences(&before, &now), expected);
        }
    }

    #[test]
    fn long_values_are_cut() {
        let found = differences(&json!({"a": "é".repeat(500)}), &json!({"a": 1}));
        assert_eq!(found.len(), 1);
        assert!(found[0].chars().count() < 100, "{}", found[0]);
    }
}
