//! Converts rows with a question and an answer to Samples.

use gage_sdk::preprocessor::{RowOutcome, Preprocessor, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::text::text_of;
use gage_sdk::{MemberSpec, PluginError, from_params, json};

/// The parameters in a suite.
#[derive(serde::Deserialize)]
#[serde(default)]
struct QuestionAnswer {
    question_field: String,
    answer_field: String,
}

impl Default for QuestionAnswer {
    fn default() -> QuestionAnswer {
        QuestionAnswer { question_field: "question".to_owned(), answer_field: "answer".to_owned() }
    }
}

impl Preprocessor for QuestionAnswer {
    fn name() -> &'static str {
        "{{snake}}"
    }

    // Increase the version, "1", when a Sample could change.
    fn spec() -> MemberSpec {
        let properties = json!({
            "question_field": { "type": "string", "default": "question" },
            "answer_field": { "type": "string", "default": "answer" },
        });
        MemberSpec::new("1", "A question and its answer", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    fn convert(&self, row: Row) -> Result<RowOutcome, PluginError> {
        let field = |name: &str| match row.body.get(name) {
            Some(value) => Ok(text_of(value)),
            None => {
                Err(PluginError::missing_field(format!("the row has no '{name}'")).at(format!("/{name}")))
            }
        };
        let question = field(&self.question_field)?;
        if question.trim().is_empty() {
            return Ok(RowOutcome::Skip("the question is empty".to_owned()));
        }
        // `references` are all correct answers; the first is the Sample's label.
        let answer = field(&self.answer_field)?;
        Ok(RowOutcome::Sample(json!({
            "schema_version": "v1",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": question }] }],
            "references": [{ "answer": [{ "type": "text", "text": answer }] }],
        })))
    }
}

// The list may hold several preprocessors.
gage_sdk::preprocessors!(
    name: "{{name}}",
    description: "Questions with answers",
    preprocessors: [QuestionAnswer],
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_a_sample() {
        let Value::Object(body) = json!({ "question": "1 + 1", "answer": 2 }) else { panic!("an object") };
        let row = Row { dataset: "sums".to_owned(), index: 0, body };
        let converted = QuestionAnswer::default().convert(row).unwrap();
        let answer = |sample: Value| sample["references"][0]["answer"][0]["text"] == "2";
        assert!(matches!(converted, RowOutcome::Sample(sample) if answer(sample)));
    }
}
