//! `json_field`: a field of the JSON object in the text.

use crate::kinds::{
    BrokenObject, find_object, kind_of, number_answer, takes_last, which_schema, with_evidence,
};
use gage_choice_kit::{Choices, extract};
use gage_sdk::extractor::{Answer, AnswerKind, Extractor, ExtractorSpec, Inputs};
use gage_sdk::serde_json::{Map, Value};
use gage_sdk::text::text_of;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::json::at_path;
use gage_text_kit::number_search::only_number;

/// Returns a field of the last JSON object that has it, or of the first. Objects may be in a code fence, with any text
/// around them. There is no answer if no object has the field, or it is null.
///
/// A value that is an object in the form of an answer, such as `{"value": 12.4, "unit": "%"}`, is kept as it is: one with
/// `value`, `items`, `final_answer`, `steps` or `claims`. Any other object is the text that spells it.
///
/// If an object is cut off or unreadable before the field is found, there is no answer: its content is not guessed, and
/// no other object replaces it. With `broken: skip` it is skipped, and with `broken: error` it is an error of the
/// sample that reports the problem.
pub struct JsonField {
    path: Vec<String>,
    last: bool,
    broken: BrokenObject,
    kind: Kind,
}

/// Kind of answer that the field's value becomes.
#[derive(Clone, Copy)]
enum Kind {
    /// Depends on the type of the value.
    Auto,
    Only(AnswerKind),
}

impl Extractor for JsonField {
    fn name() -> &'static str {
        "json_field"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "4",
            "Field of the JSON object in the text",
            json!({
                "field": {
                    "type": "string", "minLength": 1, "default": "answer",
                    "description": "Dotted path of the value; numbers are list indices, from 0",
                },
                "which": which_schema(),
                "broken": BrokenObject::schema(),
                "kind": {
                    "enum": ["auto", "text", "number", "choice", "list"], "default": "auto",
                    "description": "type of the answer; `auto` takes the type of the value, and a value of \
                     another type gives no answer",
                },
            }),
        ))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let path: Vec<String> =
            params.text("field")?.unwrap_or("answer").split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            let message = "params: 'field' must be keys with single dots between them";
            return Err(PluginError::invalid_config(message).at("/field"));
        }
        let broken = BrokenObject::from_params(&params)?;
        let kinds = [
            ("auto", Kind::Auto),
            ("text", Kind::Only(AnswerKind::Text)),
            ("number", Kind::Only(AnswerKind::Number)),
            ("choice", Kind::Only(AnswerKind::Choice)),
            ("list", Kind::Only(AnswerKind::List)),
        ];
        let kind = params.one_of("kind", &kinds, Kind::Auto)?;
        Ok(JsonField { path, last: takes_last(&params)?, broken, kind })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        // A value of another kind gives no answer, and ends the search.
        let found = find_object(text, self.last, self.broken, |object, found| {
            let Some(value) = walk(&object, &self.path) else { return Ok(None) };
            let answer = self.kind.answer(value)?;
            Ok(Some(answer.map(|answer| with_evidence(answer, found.text))))
        });
        Ok(found?.flatten())
    }
}

/// Returns whether an object is an answer in the form of its kind.
fn is_answer(object: &Map<String, Value>) -> bool {
    ["value", "items", "final_answer", "steps", "claims"].iter().any(|name| object.contains_key(*name))
}

/// Returns the value at a path; `None` for null.
fn walk<'json>(object: &'json Value, path: &[String]) -> Option<&'json Value> {
    at_path(object, path.iter().map(String::as_str)).filter(|value| !value.is_null())
}

impl Kind {
    fn answer(self, value: &Value) -> Result<Option<Answer>, PluginError> {
        Ok(match (self, value) {
            (Kind::Auto, Value::String(text)) => Some(Answer::text(text)),
            // Spelled as in JSON, since an integer may have more digits than a float holds. One of more than 64 bits is
            // already a text here.
            (Kind::Auto | Kind::Only(AnswerKind::Number), Value::Number(_)) => {
                Some(Answer::new(AnswerKind::Number, &json!({ "value": value })))
            }
            (Kind::Auto | Kind::Only(AnswerKind::List), Value::Array(items)) => Some(Answer::list(items)),
            (Kind::Auto, Value::Object(object)) if is_answer(object) => {
                Some(Answer::new(kind_of(object), value))
            }
            (Kind::Only(AnswerKind::Number | AnswerKind::List), Value::Object(object))
                if is_answer(object) && matches!(self, Kind::Only(kind) if kind == kind_of(object)) =>
            {
                Some(Answer::new(kind_of(object), value))
            }
            (Kind::Auto | Kind::Only(AnswerKind::Text), _) => Some(Answer::text(&text_of(value))),
            (Kind::Only(AnswerKind::Number), Value::String(text)) => {
                only_number(text)?.map(|found| number_answer(&found))
            }
            (Kind::Only(AnswerKind::Choice), Value::String(text)) => {
                extract(text, &Choices::default(), false).map(|label| Answer::choice(&label))
            }
            (Kind::Only(_), _) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};
    use gage_sdk::ErrorKind;

    #[test]
    fn fields() {
        for (params, text, expected) in [
            (json!({}), r#"{"answer": "a"} no, {"answer": "b"}. {"x": 1}"#, json!({ "value": "b" })),
            (json!({ "which": "first" }), r#"{"x": 1} {"answer": 1} {"answer": 2}"#, json!({ "value": 1 })),
            (json!({}), "```json\n{\"answer\": [1, \"a\"]}\n```\nDone {now}.", json!({ "items": [1, "a"] })),
            (json!({ "field": "a.1.b" }), r#"{"a": [0, {"b": true}]}"#, json!({ "value": "true" })),
            (json!({}), r#"{"answer": 9007199254740993}"#, json!({ "value": 9_007_199_254_740_993_i64 })),
            (
                json!({}),
                r#"{"answer": {"final_answer": {"value": "up"}}}"#,
                json!({ "final_answer": { "value": "up" } }),
            ),
            (json!({}), r#"{"answer": {"x": 1}}"#, json!({ "value": r#"{"x":1}"# })),
            (json!({}), r#"{"answer": {"value": 12.4, "unit": "%"}}"#, json!({ "value": 12.4, "unit": "%" })),
            (json!({}), r#"{"answer": {"items": ["a"]}}"#, json!({ "items": ["a"] })),
            (
                json!({ "kind": "number" }),
                r#"{"answer": {"value": 12.4, "unit": "%"}}"#,
                json!({ "value": 12.4, "unit": "%" }),
            ),
            (json!({ "kind": "number" }), r#"{"answer": {"value": "B"}}"#, json!(null)),
            (json!({ "kind": "number" }), r#"{"answer": 1} {"answer": "many"}"#, json!(null)),
            (json!({}), r#"{"answer": null}"#, json!(null)),
            (json!({ "kind": "number" }), r#"{"answer": "12 km"}"#, json!({ "value": 12, "unit": "km" })),
            (json!({ "kind": "number" }), r#"{"answer": true}"#, json!(null)),
            (json!({ "kind": "choice" }), r#"{"answer": "(b)"}"#, json!({ "value": "B" })),
            (json!({ "kind": "text" }), r#"{"answer": 5}"#, json!({ "value": "5" })),
            (json!({}), "answer: 5", json!(null)),
            (json!({}), "", json!(null)),
        ] {
            assert_eq!(value::<JsonField>(params, text), expected, "{text}");
        }
        assert_eq!(absent::<JsonField>(json!({})), Ok(None));
    }

    #[test]
    fn broken_objects_give_no_answer() {
        for (params, text, expected) in [
            (json!({}), r#"{"answer": "B""#, json!(null)),
            (json!({}), r#"{"answer": 1} {"answer": 2"#, json!(null)),
            (json!({}), r#"{"answer": 1} {'answer': 2}"#, json!(null)),
            (json!({}), r#"{'answer': 2} {"answer": 1}"#, json!({ "value": 1 })),
            (
                json!({ "broken": "no_answer", "which": "first" }),
                r#"{'answer': 2} {"answer": 1}"#,
                json!(null),
            ),
            (json!({ "broken": "skip" }), r#"{"answer": 1} {'answer': 2}"#, json!({ "value": 1 })),
        ] {
            assert_eq!(value::<JsonField>(params, text), expected, "{text}");
        }
    }

    #[test]
    fn broken_objects_may_be_errors_that_say_why() {
        for (text, expected) in [
            (r#"é {"answer": NaN}"#, "at byte 3 cannot be read: expected value"),
            (r#"{"answer": 1} {'answer': 2}"#, "at byte 14 cannot be read: key must be a string"),
            (r#"{"answer": 1} {"answer": 2"#, "it ends before its closing bracket"),
            (r#"{"answer": 1e400}"#, "number out of range"),
        ] {
            let error = answer::<JsonField>(json!({ "broken": "error" }), text).err();
            let Some(error) = error else { panic!("{text} is an error") };
            assert_eq!(error.kind, ErrorKind::InvalidInput);
            assert!(error.message.contains(expected), "{text}: {}", error.message);
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [json!({ "field": "a..b" }), json!({ "kind": "x" }), json!({ "broken": true })] {
            assert!(JsonField::prepare(params.clone()).is_err(), "{params}");
        }
    }

    #[test]
    fn long_texts_take_linear_time() {
        let text = r#"{"x": [1], "y": "{"} "#.repeat(50_000) + r#"{"answer": 7}"#;
        assert_eq!(value::<JsonField>(json!({ "which": "first" }), &text), json!({ "value": 7 }));
    }
}
