//! `json_object`: the whole JSON object in the text.

use crate::kinds::{BrokenObject, find_object, kind_of, takes_last, texts, which_schema, with_evidence};
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;

/// Returns the last JSON object of the text as it is, or the first. Objects may be in a code fence, with any text around
/// them. Metrics read its members below `model_output.parsed`.
///
/// With `keys` only an object that has all of them counts. If an object before that is cut off or unreadable, there is
/// no answer: its content is not guessed, and no other object replaces it. With `broken: skip` it is skipped, and with
/// `broken: error` it is an error of the sample that reports the problem.
pub struct JsonObject {
    keys: Vec<String>,
    last: bool,
    broken: BrokenObject,
}

impl Extractor for JsonObject {
    fn name() -> &'static str {
        "json_object"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "2",
            "The whole JSON object in the text, for metrics that read several of its fields",
            json!({
                "keys": {
                    "type": ["array", "string", "null"], "items": { "type": "string", "minLength": 1 },
                    "description": "Fields that the object must have; by default any object counts",
                },
                "which": which_schema(),
                "broken": BrokenObject::schema(),
            }),
        ))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(JsonObject {
            keys: texts(&params, "keys", &[])?,
            last: takes_last(&params)?,
            broken: BrokenObject::from_params(&params)?,
        })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        find_object(text, self.last, self.broken, |object, found| {
            let has_keys = self.keys.iter().all(|key| object.get(key).is_some());
            let fields = object.as_object().filter(|_| has_keys);
            Ok(fields.map(|fields| with_evidence(Answer::new(kind_of(fields), &object), found.text)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};

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
            (json!({}), r#"{"a": 1} {"a": 2"#, json!(null)),
            (json!({}), r#"{"final_answer": "B", "steps": [{"id": 1}, "#, json!(null)),
            (json!({ "which": "first" }), r#"{"a": 1} {"a": 2"#, json!({ "a": 1 })),
        ] {
            assert_eq!(value::<JsonObject>(params, text), expected, "{text}");
        }
        assert_eq!(absent::<JsonObject>(json!({})), Ok(None));
    }

    #[test]
    fn broken_objects_may_be_errors() {
        let error = answer::<JsonObject>(json!({ "broken": "error" }), r#"{"a": 1} {"a": 2"#).err();
        let message = error.map(|error| error.message).unwrap_or_default();
        assert!(message.contains("at byte 9 cannot be read"), "{message}");
        assert!(JsonObject::prepare(json!({ "broken": "x" })).is_err());
    }
}
