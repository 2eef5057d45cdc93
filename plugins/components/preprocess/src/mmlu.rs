//! `mmlu`: a question about a subject, a list of options, and the number or the letter of the right one.

use crate::layout::{Layout, Spacing};
use crate::options::Places;
use crate::param_schema::{Properties, field_schema, optional_schema, prompt_schema};
use crate::question::{Question, QuestionFields};
use crate::roles::Conversion;
use crate::sample::tag;
use gage_row_kit::fields::{Fields, find, text, unusable};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;

const SYSTEM_PROMPT: &str = "The following are multiple choice questions (with answers) about {subject}.";
const SYSTEM_PROMPT_WITHOUT: &str = "The following are multiple choice questions (with answers).";

const INSTRUCTION: &str = "Answer:";

/// Placeholder for the subject in a system prompt.
const PLACE: &str = "{subject}";

/// Converts a row with a question, its options, an answer and a subject to a Sample.
pub struct Mmlu {
    fields: QuestionFields,
    subject_field: String,
    subject: Option<String>,
    /// System prompt of the suite; if `None`, one is written for each row.
    system_prompt: Option<String>,
    layout: Layout,
}

impl Conversion for Mmlu {
    const NAME: &'static str = "mmlu";
    const VERSION: &'static str = "3";
    const DESCRIPTION: &'static str = "Multiple-choice questions of a subject, with the index of the correct \
        option";
    fn properties() -> Properties {
        let subjects = [
            ("subject_field", field_schema("subject", "Field of the subject")),
            ("subject", optional_schema("Subject of rows without one")),
        ];
        // It has no older names.
        let fields = QuestionFields::schema().into_iter().filter(|(name, _)| *name != "options_field");
        let own = |(name, schema): (&'static str, Value)| match name {
            "answer_index_base" => (
                name,
                json!({
                    "enum": [0, 1], "default": 0,
                    "description": "First index of numeric answers, including numbers given as text",
                }),
            ),
            "system_prompt" => (
                name,
                json!({
                    "type": ["string", "null"], "default": SYSTEM_PROMPT,
                    "description": "System message before all other messages; `{subject}` is replaced by the \
                     subject; empty for none",
                }),
            ),
            _ => (name, schema),
        };
        fields.chain(subjects).chain(prompt_schema()).map(own).collect()
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        // The dataset only has numbers and letters.
        let places = Places::Always(params.parsed("answer_index_base")?.unwrap_or(0));
        let fields = QuestionFields::from_params(params, places)?;
        let layout = Layout::read(params, INSTRUCTION, Spacing::NARROW)?;
        Ok(Mmlu {
            layout: layout.with_few_shot(params, |row| fields.read(row))?,
            fields,
            subject_field: params.text_or("subject_field", "subject")?,
            subject: params.parsed("subject")?,
            system_prompt: params.parsed("system_prompt")?,
        })
    }

    fn sample(&self, mut row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let question = self.fields.read(&row)?;
        let subject = find(&row, &self.subject_field).and_then(text).map(|subject| subject.into_owned());
        let subject = subject.or_else(|| self.subject.clone());
        let messages = self.messages(&question, subject.as_deref())?;
        if let Some(subject) = subject {
            tag(&mut row, "subject", subject);
        }
        Ok(self.fields.sample(question, row, messages))
    }
}

impl Mmlu {
    fn messages(&self, question: &Question, subject: Option<&str>) -> Result<Vec<Value>, PluginError> {
        let template = match (&self.system_prompt, subject) {
            (Some(given), _) => given,
            (None, Some(_)) => SYSTEM_PROMPT,
            (None, None) => SYSTEM_PROMPT_WITHOUT,
        };
        let system = match subject {
            // Subjects are spelled like `college_biology`.
            Some(subject) => template.replace(PLACE, &subject.replace('_', " ")),
            None if template.contains(PLACE) => {
                let why = format!("is missing, and the system prompt has '{PLACE}'");
                return Err(unusable(&self.subject_field, &why));
            }
            None => template.to_owned(),
        };
        Ok(self.layout.messages_under(Some(system.as_str()).filter(|text| !text.is_empty()), question))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;

    fn row(answer: Value) -> Value {
        json!({ "question": "2+2?", "choices": ["1", "2", "3", "4"], "answer": answer, "subject": "high_school_math" })
    }

    #[test]
    fn rows_become_samples() {
        for answer in [json!(3), json!("3"), json!("D"), json!("d")] {
            let sample = convert::<Mmlu>(json!({}), row(answer)).unwrap_or_default();
            let text = |index: usize| &sample["messages"][index]["content"][0]["text"];
            assert_eq!(
                text(0),
                "The following are multiple choice questions (with answers) about high school math."
            );
            assert_eq!(text(1), "2+2?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:");
            assert_eq!(sample["label"], "D");
            assert_eq!(sample["data_tag"], json!({ "subject": "high_school_math" }));
            assert_eq!(sample["metadata"]["subject"], "high_school_math");
        }
    }

    #[test]
    fn examples_stand_before_the_question() {
        let example = json!({ "question": "1+1?", "choices": ["1", "2", "3", "4"], "answer": 1 });
        let params = json!({ "few_shot": vec![example; 5], "system_prompt": "" });
        let sample = convert::<Mmlu>(params, row(json!(0))).unwrap_or_default();
        assert_eq!(sample["messages"].as_array().map(Vec::len), Some(11));
        assert_eq!(sample["messages"][1]["content"][0]["text"], "B");
    }

    #[test]
    fn subjects() {
        let plain = json!({ "question": "q", "choices": ["x", "y"], "answer": 0 });
        let system = |params: Value| {
            let sample = convert::<Mmlu>(params, plain.clone())?;
            Ok::<Value, PluginError>(sample["messages"][0]["content"][0]["text"].clone())
        };
        assert_eq!(system(json!({})), Ok(json!(SYSTEM_PROMPT_WITHOUT)));
        assert_eq!(
            system(json!({ "subject": "law", "system_prompt": "On {subject}:" })),
            Ok(json!("On law:"))
        );
        let error = system(json!({ "system_prompt": "On {subject}:" })).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/subject"));
    }
}
