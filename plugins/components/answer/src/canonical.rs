//! Answers and references in canonical form, and the parts that a score card shows.

use gage_sdk::serde_json::{Map, Value};
use gage_sdk::{PluginError, json};
use gage_text_kit::text::{excerpt, strip};

/// Version of the answer format that this code supports.
pub(crate) const SCHEMA_VERSION: &str = "v1";

/// Maximum length of JSON that a card shows unchanged, in bytes.
const MAX_SHOWN_CHARS: usize = 512;

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
    fn long_json_is_cut() {
        assert_eq!(shown(&json!({ "items": ["a"] })), json!({ "items": ["a"] }));
        let long = shown(&json!({ "items": vec!["字"; 1000] }));
        assert!(long.as_str().is_some_and(|text| text.len() <= MAX_SHOWN_CHARS && text.ends_with('…')));
    }
}
