//! `json_object`: the whole JSON object in the text.

use crate::kinds::{takes_last, texts, which_schema, with_evidence};
use gage_sdk::extractor::{Answer, AnswerKind, Extractor, ExtractorSpec, Inputs};
use gage_sdk::serde_json::{Map, Value};
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::json_text::{Shape, find_json};

/// Returns the last JSON object of the text as it is, or the first. Objects may be in a code fence, with any text around
/// them. Metrics read its members below `model_output.parsed`.
///
/// With `keys` only an object that has all of them counts. An unreadable object before that is an error of the sample
/// that reports the problem: its content is not guessed. With `broken: skip` it is skipped.
pub struct JsonObject {
    keys: Vec<String>,
    last: bool,
    skips_broken: bool,
}

impl Extractor for JsonObject {
    fn name() -> &'static str {
        "json_object"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "1",
            "The whole JSON object in the text, for metrics that read several of its fields",
            json!({
                "keys": {
                    "type": ["array", "string", "null"], "items": { "type": "string", "minLength": 1 },
                    "description": "Fields that the object must have; by default any object counts",
                },
                "which": which_schema(),
                "broken": {
                    "enum": ["error", "skip"], "default": "error",
                    "description": "Treatment of an object that cannot be read",
                },
            }),
        ))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(JsonObject {
            keys: texts(&params, "keys", &[])?,
            last: takes_last(&params)?,
            skips_broken: params.one_of("broken", &[("error", false), ("skip", true)], false)?,
        })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let mut objects = find_json(text, Shape::Object);
        if self.last {
            objects.reverse();
        }
        for found in &objects {
            let object = match found.value() {
                Ok(Value::Object(object)) => object,
                Ok(_) => continue,
                Err(_) if self.skips_broken => continue,
                Err(error) => {
                    let message = format!("the JSON object at byte {} cannot be read: {error}", found.start);
                    return Err(PluginError::invalid_input(message));
                }
            };
            if self.keys.iter().all(|key| object.contains_key(key)) {
                let kind = kind_of(&object);
                return Ok(Some(with_evidence(Answer::new(kind, &Value::Object(object)), found.text)));
            }
        }
        Ok(None)
    }
}

/// Returns the kind of answer that an object states: a list, a number, an argument with a final answer, or any other.
fn kind_of(object: &Map<String, Value>) -> AnswerKind {
    let has = |key: &str| object.contains_key(key);
    match object.get("value") {
        _ if has("final_answer") || has("steps") || has("claims") => AnswerKind::Reasoning,
        _ if has("items") => AnswerKind::List,
        Some(Value::Number(_)) => AnswerKind::Number,
        Some(_) if has("unit") => AnswerKind::Number,
        _ => AnswerKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, value};

    #[test]
    fn whole_objects_are_returned() {
        for (params, text, expected) in [
            (json!({}), r#"First {"a": 1}, then {"b": [2]}."#, json!({ "b": [2] })),
            (json!({ "which": "first" }), r#"{"a": 1} {"b": 2}"#, json!({ "a": 1 })),
            (json!({ "keys": ["a"] }), r#"{"a": 1} {"b": 2}"#, json!({ "a": 1 })),
            (json!({ "keys": "c" }), r#"{"a": 1} {"b": 2}"#, json!(null)),
            (
                json!({}),
                "```json\n{\"final_answer\": \"B\", \"steps\": [{\"id\": 1}], \"claims\": []}\n```",
                json!({ "final_answer": "B", "steps": [{ "id": 1 }], "claims": [] }),
            ),
            (json!({ "broken": "skip" }), r#"{"a": 1} {'a': 2}"#, json!({ "a": 1 })),
            (json!({}), "no object", json!(null)),
        ] {
            assert_eq!(value::<JsonObject>(params, text), expected, "{text}");
        }
        assert_eq!(absent::<JsonObject>(json!({})), Ok(None));
    }

    #[test]
    fn kinds_follow_the_fields() {
        for (object, expected) in [
            (json!({ "final_answer": 1 }), AnswerKind::Reasoning),
            (json!({ "claims": [] }), AnswerKind::Reasoning),
            (json!({ "value": 12.5, "unit": "%" }), AnswerKind::Number),
            (json!({ "items": [] }), AnswerKind::List),
            (json!({ "value": "B" }), AnswerKind::Text),
        ] {
            let Value::Object(object) = object else { panic!("an object") };
            assert_eq!(kind_of(&object), expected, "{object:?}");
        }
    }
}
