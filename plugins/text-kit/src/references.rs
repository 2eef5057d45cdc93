//! Right answers that are texts: one, or a list of them.

use crate::text::strip;
use crate::value::as_text;
use gage_sdk::metric::Value;
use gage_sdk::serde_json;

/// The texts of a reference. A list gives each of its items, null left out; an item in the shape of
/// the Sample's references, `{"answer": …}`, gives its answer, and anything else that is no text its
/// JSON spelling. What is blank stays: it is an answer that says nothing.
pub fn texts(reference: &Value) -> Vec<String> {
    match reference {
        Value::Json(json) => match serde_json::from_str::<serde_json::Value>(json) {
            Ok(serde_json::Value::Array(items)) => items.iter().filter_map(text).collect(),
            Ok(other) => text(&other).into_iter().collect(),
            Err(_) => vec![json.clone()],
        },
        Value::Texts(texts) => texts.clone(),
        _ => as_text(reference).filter(|text| !text.is_empty()).map(String::from).into_iter().collect(),
    }
}

/// The text of one item, as [`texts`] says; `None` for null.
pub fn text(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Object(entry) => match entry.get("answer") {
            Some(serde_json::Value::Array(parts)) => Some(
                parts
                    .iter()
                    .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                    .collect(),
            ),
            Some(answer) => text(answer),
            None => Some(value.to_string()),
        },
        _ => Some(value.to_string()),
    }
}

/// Splits a reference that is one text at a separator; parts that are blank go.
pub fn split(texts: Vec<String>, separator: Option<&str>) -> Vec<String> {
    match (texts.as_slice(), separator) {
        ([text], Some(separator)) if !separator.is_empty() => {
            text.split(separator).filter(|part| !strip(part).is_empty()).map(str::to_owned).collect()
        }
        _ => texts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_many_shapes() {
        let json = |json: &str| Value::Json(json.to_owned());
        for (reference, expected) in [
            (Value::Absent, vec![]),
            (Value::Text(String::new()), vec![]),
            (Value::Text("a".to_owned()), vec!["a"]),
            (Value::Number(5.0), vec!["5"]),
            (Value::Boolean(true), vec!["true"]),
            (json(r#"["a",null,1,1.5,true,""]"#), vec!["a", "1", "1.5", "true", ""]),
            (json(r#"[{"answer":[{"type":"text","text":"a"}]},{"answer":"b"}]"#), vec!["a", "b"]),
            (json(r#"[{"text":"x"},["y"]]"#), vec![r#"{"text":"x"}"#, r#"["y"]"#]),
            (json("not json"), vec!["not json"]),
        ] {
            assert_eq!(texts(&reference), expected);
        }
    }

    #[test]
    fn one_text_is_split() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        assert_eq!(split(owned(&["||a|| "]), Some("||")), ["a"]);
        assert_eq!(split(owned(&["a|b", "c"]), Some("|")), ["a|b", "c"]);
        assert_eq!(split(owned(&["a|b"]), Some("")), ["a|b"]);
        assert_eq!(split(owned(&["a|b"]), None), ["a|b"]);
    }
}
