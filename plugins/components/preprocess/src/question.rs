//! A multiple-choice question, read from a row, and the Sample that it becomes.

use crate::openai_choices;
use crate::options::{self, Choice, Labels, Places};
use crate::param_schema::field_schema;
use crate::sample::{Draft, reference};
use gage_row_kit::fields::{Fields, require, require_text, unusable};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::text::strip;

/// A question with its options and the right one.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) options: Vec<Choice>,
    pub(crate) correct: Choice,
    /// The labels of further options that are right as well.
    pub(crate) also_correct: Vec<String>,
}

/// What the fields of a question are called in the row, for errors and for the record.
pub(crate) struct Names<'names> {
    pub(crate) question: &'names str,
    pub(crate) choices: &'names str,
    pub(crate) answer: &'names str,
}

/// Where the parts of a question stand in a row.
pub(crate) struct QuestionFields {
    pub(crate) question: String,
    pub(crate) choices: String,
    pub(crate) answer: String,
    /// What answers that are numbers mean.
    pub(crate) places: Places,
}

impl QuestionFields {
    /// The same as names.
    pub(crate) fn names(&self) -> Names<'_> {
        Names { question: &self.question, choices: &self.choices, answer: &self.answer }
    }

    /// The question of a row.
    ///
    /// # Errors
    /// As for [`Question::new`], and where a part is missing.
    pub(crate) fn read(&self, row: &Fields) -> Result<Question, PluginError> {
        let names = self.names();
        let text = require_text(row, names.question)?;
        let choices = require(row, names.choices)?;
        let answer = require(row, names.answer)?;
        Question::new(&text, choices, answer, self.places, &names)
    }

    /// The Sample of a question that was read from this row.
    pub(crate) fn sample(&self, question: Question, row: Fields, messages: Vec<Value>) -> Value {
        let names = self.names();
        question.into_sample(row, &[names.question, names.choices, names.answer], &names, messages)
    }

    /// The JSON Schema of the parameters that say where the parts stand.
    pub(crate) fn schema() -> [(&'static str, Value); 5] {
        [
            ("question_field", field_schema("question", "Where the question stands")),
            ("choices_field", field_schema("choices", "Where the options stand")),
            ("options_field", field_schema("choices", "An older name of `choices_field`")),
            ("answer_field", field_schema("answer", "Where the answer stands")),
            (
                "answer_index_base",
                json!({
                    "enum": [0, 1, null], "default": 0,
                    "description": "Whether answers that are numbers count from 0 or from 1; null where none is a place, and numbers are what options say. Where it is not stated, a text of digits that may be a place and what an option says is an error",
                }),
            ),
        ]
    }
}

impl Question {
    /// Makes a question of its parts. An answer that is a list names several right options.
    ///
    /// # Errors
    /// `invalid-input` when the options cannot be used, when none of them is the answer, or one of the answers, or when
    /// it cannot be told which.
    pub(crate) fn new(
        text: &str,
        choices: &Value,
        answer: &Value,
        places: Places,
        names: &Names<'_>,
    ) -> Result<Question, PluginError> {
        let options = options::read(choices, Labels::Letters).map_err(|why| unusable(names.choices, &why))?;
        let of_one = |item: &Value, why: &dyn Fn() -> String| {
            let found = options::resolve(item, &options, places)
                .map_err(|ambiguous| unusable(names.answer, &ambiguous.to_string()))?;
            found.cloned().ok_or_else(|| unusable(names.answer, &why()))
        };
        let none = |of: &str| format!("is {answer}, {of} none of the {} options", options.len());
        let (correct, others) = match answer.as_array().map(Vec::as_slice) {
            Some([first, others @ ..]) => {
                let why = |item: &Value| none(&format!("of which {item} is"));
                let correct = of_one(first, &|| why(first))?;
                let others = others.iter().map(|item| of_one(item, &|| why(item)));
                (correct, others.collect::<Result<Vec<Choice>, PluginError>>()?)
            }
            _ => (of_one(answer, &|| none("which is"))?, Vec::new()),
        };
        let mut also_correct: Vec<String> = Vec::new();
        for Choice { label, .. } in others {
            if label != correct.label && !also_correct.contains(&label) {
                also_correct.push(label);
            }
        }
        Ok(Question { text: strip(text).to_owned(), options, correct, also_correct })
    }

    /// The Sample of this question with these messages. `used` are the fields of the row that need not
    /// be kept.
    pub(crate) fn into_sample(
        self,
        row: Fields,
        used: &[&str],
        names: &Names<'_>,
        messages: Vec<Value>,
    ) -> Value {
        self.into_draft(names, messages).finish(row, used)
    }

    /// The same before the rest of its row is added.
    pub(crate) fn into_draft(self, names: &Names<'_>, messages: Vec<Value>) -> Draft {
        let label = self.correct.label;
        let also_correct = self.also_correct.iter().map(String::as_str);
        // Of several right options none is the right one.
        let correct_choice = self.also_correct.is_empty().then_some(label.as_str());
        let mut metadata =
            Fields::from_iter([("option_map".to_owned(), Value::Object(options::option_map(&self.options)))]);
        metadata.extend(correct_choice.map(|label| ("correct_choice".to_owned(), label.into())));
        metadata.extend([
            ("question_field".to_owned(), Value::from(names.question)),
            ("choices_field".to_owned(), Value::from(names.choices)),
            ("answer_field".to_owned(), Value::from(names.answer)),
            ("question_text".to_owned(), Value::from(self.text)),
        ]);
        Draft {
            task_type: "multiple-choice",
            messages,
            options: Some(options::sample_options(&self.options)),
            references: std::iter::once(label.as_str()).chain(also_correct).map(reference).collect(),
            label: Some(label),
            choices: Some(openai_choices::of_options(&self.options)),
            metadata,
        }
    }
}
