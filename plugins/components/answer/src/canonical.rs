//! Answers and references in canonical form, and the parts that a score card shows.

use gage_sdk::serde_json::{Map, Value};
use gage_sdk::{PluginError, json};
use gage_text_kit::json_text::read_exactly;
use gage_text_kit::text::{excerpt, strip};

/// Version of the answer format that this code supports.
pub(crate) const SCHEMA_VERSION: &str = "v1";

/// Maximum length of JSON that a card shows unchanged, in bytes.
const MAX_SHOWN_CHARS: usize = 512;

/// Members that hold an answer in canonical form; an object with one of them is such an answer.
const ANSWER_MEMBERS: [&str; 5] = ["value", "items", "final_answer", "steps", "claims"];

/// Member that holds the answer in an object that is not in canonical form.
const ANSWER: &str = "answer";

/// Null for missing members.
static NOTHING: Value = Value::Null;

/// Member of a whole canonical answer, `{"answer_type": …, "prediction": …, "ground_truth": …}`. Anything else is taken
/// as is.
pub(crate) struct AnswerMember {
    /// Value to compare.
    pub(crate) value: Value,
    /// Members around it; empty if there are none.
    pub(crate) around: Map<String, Value>,
}

impl AnswerMember {
    /// Extracts the member from a whole answer.
    ///
    /// # Errors
    /// `invalid-input` if `meta.schema_version` names another version.
    pub(crate) fn new(json: Value, name: &str) -> Result<AnswerMember, PluginError> {
        match json {
            Value::Object(mut around)
                if around.contains_key(name)
                    && (around.contains_key("answer_type") || around.contains_key("meta")) =>
            {
                let version = around.get("meta").and_then(|meta| meta.get("schema_version"));
                if let Some(version) = version.filter(|version| **version != SCHEMA_VERSION) {
                    return Err(PluginError::invalid_input(format!(
                        "answers of schema_version {version} are not known; give those of \"{SCHEMA_VERSION}\""
                    ))
                    .at("/meta/schema_version"));
                }
                Ok(AnswerMember { value: around.remove(name).unwrap_or_default(), around })
            }
            value => Ok(AnswerMember { value, around: Map::new() }),
        }
    }
}

/// Returns a parsed answer in canonical form. An object without a member of that form holds its answer under `answer`.
/// A text that spells such an object is the object.
pub(crate) fn canonical_form(json: Value) -> Value {
    let json = from_answer_member(json);
    match spelled_object(&json) {
        Some(object) => from_answer_member(object),
        None => json,
    }
}

/// Returns the value of the member `answer`, if it is an object. Otherwise the member becomes `value`, with the members
/// around it, such as a unit. Anything in canonical form, or without that member, is returned as is.
fn from_answer_member(json: Value) -> Value {
    let mut fields = match json {
        Value::Object(fields) if !has_any(&fields, &ANSWER_MEMBERS) => fields,
        other => return other,
    };
    match fields.remove(ANSWER) {
        Some(answer @ Value::Object(_)) => return answer,
        Some(answer) => fields.extend([("value".to_owned(), answer)]),
        None => {}
    }
    Value::Object(fields)
}

/// Returns the object that a text, or the `value` of an object, spells, if it holds an answer.
fn spelled_object(json: &Value) -> Option<Value> {
    let text = strip(value(json).as_str()?);
    if !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let object = read_exactly(text).ok()?;
    let is_answer =
        |fields: &Map<String, Value>| has_any(fields, &ANSWER_MEMBERS) || fields.contains_key(ANSWER);
    object.as_object().is_some_and(is_answer).then_some(object)
}

fn has_any(fields: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| fields.contains_key(*name))
}

/// Returns a member of an object; null if there is none.
pub(crate) fn member<'a>(json: &'a Value, name: &str) -> &'a Value {
    json.get(name).unwrap_or(&NOTHING)
}

/// Returns the member `value` of an object, or the value itself if it is not an object.
pub(crate) fn value(json: &Value) -> &Value {
    if json.is_object() { member(json, "value") } else { json }
}

/// Returns the final answer of an argument, or the value itself if it is not an argument.
pub(crate) fn final_answer(json: &Value) -> &Value {
    let is_argument = |fields: &Map<String, Value>| {
        ["final_answer", "steps", "claims"].iter().any(|name| fields.contains_key(*name))
    };
    match json {
        Value::Object(fields) if is_argument(fields) => member(json, "final_answer"),
        _ => json,
    }
}

/// Returns whether there is nothing to compare: null, or a blank text. An empty list is an answer.
pub(crate) fn is_nothing(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::String(text) => strip(text).is_empty(),
        _ => false,
    }
}

/// Returns JSON as a card shows it: cut if it is long.
pub(crate) fn shown(json: &Value) -> Value {
    match json {
        Value::String(text) => excerpt(text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => json.clone(),
        Value::Array(_) | Value::Object(_) => {
            let spelled = json.to_string();
            if spelled.len() <= MAX_SHOWN_CHARS { json.clone() } else { excerpt(&spelled).into() }
        }
    }
}

/// Returns a value in canonical form, as a card shows it.
pub(crate) fn shown_value(text: &str) -> Value {
    json!({ "value": excerpt(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_are_unwrapped() {
        let whole = json!({ "answer_type": "choice", "prediction": { "value": "B" }, "ground_truth": "A" });
        let found = AnswerMember::new(whole, "prediction");
        let found = found.map(|found| (found.value, found.around.contains_key("ground_truth")));
        assert_eq!(found, Ok((json!({ "value": "B" }), true)));
        for json in [json!({ "prediction": "B" }), json!("B"), json!(null), json!({ "answer_type": "text" })]
        {
            let found = AnswerMember::new(json.clone(), "prediction");
            assert_eq!(found.map(|found| (found.value, found.around.is_empty())), Ok((json, true)));
        }
        for (version, is_known) in [(json!("v1"), true), (json!("v2"), false), (json!(1), false)] {
            let whole = json!({ "prediction": "B", "meta": { "schema_version": version } });
            assert_eq!(AnswerMember::new(whole, "prediction").is_ok(), is_known, "{version}");
        }
    }

    #[test]
    fn parts() {
        assert_eq!(*value(&json!({ "value": 1 })), json!(1));
        assert_eq!(*value(&json!({ "text": 1 })), json!(null));
        assert_eq!(*final_answer(&json!({ "final_answer": 1, "steps": [] })), json!(1));
        assert_eq!(*final_answer(&json!({ "steps": [] })), json!(null));
        assert_eq!(*final_answer(&json!({ "value": 1 })), json!({ "value": 1 }));
        for (json, expected) in
            [(json!(null), true), (json!(" \u{3000}"), true), (json!([]), false), (json!(false), false)]
        {
            assert_eq!(is_nothing(&json), expected, "{json}");
        }
    }

    #[test]
    fn answers_are_brought_into_canonical_form() {
        let number = || json!({ "value": 12.4, "unit": "%" });
        for (parsed, expected) in [
            (json!({ "answer": number() }), number()),
            (json!({ "answer": 12.4, "unit": "%" }), number()),
            (json!({ "answer": ["a"], "why": "read" }), json!({ "value": ["a"], "why": "read" })),
            (json!({ "answer": null }), json!({ "value": null })),
            (json!({ "value": r#"{"value":12.4,"unit":"%"}"# }), number()),
            (json!(r#" {"answer":{"value":12.4,"unit":"%"}} "#), number()),
            (json!({ "answer": r#"{"value":12.4,"unit":"%"}"# }), number()),
            (json!({ "final_answer": "B", "answer": "C" }), json!({ "final_answer": "B", "answer": "C" })),
            (json!({ "items": ["a"], "answer": "C" }), json!({ "items": ["a"], "answer": "C" })),
            (json!({ "value": "B", "answer": "C" }), json!({ "value": "B", "answer": "C" })),
            (json!({ "text": "a" }), json!({ "text": "a" })),
            (json!(r#"{"x":1}"#), json!(r#"{"x":1}"#)),
            (json!(r#"{"value":1"#), json!(r#"{"value":1"#)),
            (json!("B"), json!("B")),
            (json!(null), json!(null)),
            (json!(["B"]), json!(["B"])),
        ] {
            assert_eq!(canonical_form(parsed.clone()), expected, "{parsed}");
        }
    }

    #[test]
    fn long_json_is_cut() {
        assert_eq!(shown(&json!({ "items": ["a"] })), json!({ "items": ["a"] }));
        let long = shown(&json!({ "items": vec!["字"; 1000] }));
        assert!(long.as_str().is_some_and(|text| text.len() <= MAX_SHOWN_CHARS && text.ends_with('…')));
    }
}
