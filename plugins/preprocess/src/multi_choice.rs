//! `multi_choice`: a question with a list of options and an answer among them.

use crate::fields::{Fields, require, require_text};
use crate::layout::{Layout, Style, prompt_schema};
use crate::question::{Names, Question};
use gage_sdk::preprocessor::{Converted, Preprocessor, PreprocessorSpec, Row};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, from_params, json};
use serde::Deserialize;

const INSTRUCTION: &str = "Answer with the letter of the correct option only.";

/// Turns a row with a question, options and an answer into a Sample.
pub struct MultiChoice {
    params: Params,
    layout: Layout,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    question_field: String,
    /// `options_field` is an older name of it.
    choices_field: Option<String>,
    options_field: Option<String>,
    answer_field: String,
    answer_index_base: usize,
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    few_shot: Vec<Fields>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            question_field: "question".to_owned(),
            choices_field: None,
            options_field: None,
            answer_field: "answer".to_owned(),
            answer_index_base: 0,
            system_prompt: None,
            instruction: None,
            style: Style::default(),
            few_shot: Vec::new(),
        }
    }
}

impl Params {
    fn names(&self) -> Names<'_> {
        let choices = self.choices_field.as_deref().or(self.options_field.as_deref());
        Names {
            question: &self.question_field,
            choices: choices.unwrap_or("choices"),
            answer: &self.answer_field,
        }
    }

    fn read(&self, row: &Fields) -> Result<Question, PluginError> {
        let names = self.names();
        let text = require_text(row, names.question)?;
        let choices = require(row, names.choices)?;
        let answer = require(row, names.answer)?;
        Question::new(&text, choices, answer, self.answer_index_base, &names)
    }
}

impl Preprocessor for MultiChoice {
    fn spec() -> PreprocessorSpec {
        let field = |default: &str, description: &str| json!({ "type": "string", "minLength": 1, "default": default, "description": description });
        let mut properties = Fields::from_iter([
            ("question_field".to_owned(), field("question", "Where the question stands")),
            ("choices_field".to_owned(), field("choices", "Where the options stand")),
            ("options_field".to_owned(), field("choices", "An older name of `choices_field`")),
            ("answer_field".to_owned(), field("answer", "Where the answer stands")),
            (
                "answer_index_base".to_owned(),
                json!({
                    "enum": [0, 1], "default": 0,
                    "description": "Whether answers that are numbers count from 0 or from 1",
                }),
            ),
        ]);
        properties.extend(prompt_schema().map(|(name, schema)| (name.to_owned(), schema)));
        let description = "Questions with options and an answer among them";
        PreprocessorSpec::new("multi_choice", "1", description, properties.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let mut params: Params = from_params(params)?;
        let mut layout =
            Layout::new(params.system_prompt.take(), params.instruction.take(), INSTRUCTION, params.style);
        let few_shot = std::mem::take(&mut params.few_shot);
        for (index, row) in few_shot.iter().enumerate() {
            let question = params.read(row).map_err(|error| few_shot_error(index, &error))?;
            layout.add_few_shot(&question);
        }
        Ok(MultiChoice { params, layout })
    }

    fn convert(&self, row: Row) -> Result<Converted, PluginError> {
        let names = self.params.names();
        let question = self.params.read(&row.body)?;
        let used = [names.question, names.choices, names.answer];
        Ok(Converted::Sample(question.into_sample(row.body, &used, &names, &self.layout)))
    }
}

/// The error of a few-shot row: the row is a parameter, so the run cannot start.
pub(crate) fn few_shot_error(index: usize, error: &PluginError) -> PluginError {
    let pointer = error.pointer.as_deref().unwrap_or_default();
    PluginError::invalid_config(format!("params: few_shot {index}: {}", error.message))
        .at(format!("/few_shot/{index}{pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(params: serde_json::Value, body: serde_json::Value) -> Result<serde_json::Value, PluginError> {
        let serde_json::Value::Object(body) = body else { panic!("a row is an object") };
        match MultiChoice::prepare(params)?.convert(Row { dataset: "d".to_owned(), index: 0, body })? {
            Converted::Sample(sample) => Ok(sample),
            Converted::Skip(reason) => panic!("nothing is skipped: {reason}"),
        }
    }

    #[test]
    fn rows_become_samples() {
        let row = json!({
            "id": 7, "question": " Which one is a mammal? ", "choices": ["Shark", " Dolphin"], "answer": 1,
            "subject": "biology", "data_tag": { "language": "en" },
        });
        let expected = json!({
            "schema_version": "v1",
            "id": "7",
            "task_type": "multiple-choice",
            "messages": [{ "role": "user", "content": [{
                "type": "text",
                "text": "Which one is a mammal?\n\nA. Shark\nB. Dolphin\n\nAnswer with the letter of the correct option only.",
            }] }],
            "options": [{ "id": "A", "content": "Shark" }, { "id": "B", "content": "Dolphin" }],
            "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
            "label": "B",
            "data_tag": { "language": "en" },
            "metadata": {
                "subject": "biology",
                "option_map": { "A": "Shark", "B": "Dolphin" },
                "correct_choice": "B",
                "question_field": "question",
                "choices_field": "choices",
                "answer_field": "answer",
                "question_text": "Which one is a mammal?",
            },
        });
        assert_eq!(convert(json!({}), row), Ok(expected));
    }

    #[test]
    fn prompts_have_styles_and_examples() {
        let params = json!({
            "question_field": "q.text", "options_field": "o", "answer_index_base": 1, "style": "question_only",
            "system_prompt": "Be brief.",
            "few_shot": [{ "q": { "text": "Sky?" }, "o": ["blue", "red"], "answer": 1 }],
        });
        let row = json!({ "q": { "text": "Grass?" }, "o": ["blue", "green"], "answer": "green" });
        let sample = convert(params, row).unwrap_or_default();
        let texts: Vec<Option<&str>> = (0..4)
            .map(|index| sample.pointer(&format!("/messages/{index}/content/0/text"))?.as_str())
            .collect();
        assert_eq!(texts, [Some("Be brief."), Some("Sky?"), Some("blue"), Some("Grass?")]);
        assert_eq!(sample["label"], "B");
        assert_eq!(sample["metadata"]["q"]["text"], "Grass?");
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (row, expected) in [
            (json!({ "question": "q", "choices": ["x"] }), "/answer"),
            (json!({ "question": "q", "choices": ["x"], "answer": "B" }), "/answer"),
            (json!({ "question": "q", "choices": [], "answer": "A" }), "/choices"),
            (json!({ "choices": ["x"], "answer": "A" }), "/question"),
        ] {
            let pointer = convert(json!({}), row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
        let params = json!({ "few_shot": [{ "question": "q" }] });
        let pointer = MultiChoice::prepare(params).err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some("/few_shot/0/choices"));
    }
}
