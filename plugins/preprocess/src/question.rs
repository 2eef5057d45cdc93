//! A multiple-choice question, read from a row, and the Sample that it becomes.

use crate::fields::{Fields, unusable};
use crate::layout::Layout;
use crate::options::{self, Choice, Labels};
use crate::sample::{Draft, reference};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::text::strip;

/// A question with its options and the right one.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) options: Vec<Choice>,
    pub(crate) correct: Choice,
}

/// What the fields of a question are called in the row, for errors and for the record.
pub(crate) struct Names<'names> {
    pub(crate) question: &'names str,
    pub(crate) choices: &'names str,
    pub(crate) answer: &'names str,
}

impl Question {
    /// Makes a question of its parts.
    ///
    /// # Errors
    /// `invalid-input` when the options cannot be used or none of them is the answer.
    pub(crate) fn new(
        text: &str,
        choices: &Value,
        answer: &Value,
        index_base: usize,
        names: &Names<'_>,
    ) -> Result<Question, PluginError> {
        let options = options::read(choices, Labels::Letters).map_err(|why| unusable(names.choices, &why))?;
        let correct = options::resolve(answer, &options, index_base).cloned().ok_or_else(|| {
            unusable(names.answer, &format!("is {answer}, which is none of the {} options", options.len()))
        })?;
        Ok(Question { text: strip(text).to_owned(), options, correct })
    }

    /// The Sample of this question. `used` are the fields of the row that need not be kept.
    pub(crate) fn into_sample(self, row: Fields, used: &[&str], names: &Names<'_>, layout: &Layout) -> Value {
        let messages = layout.messages(&self);
        let label = self.correct.label;
        let metadata = Fields::from_iter([
            ("option_map".to_owned(), Value::Object(options::option_map(&self.options))),
            ("correct_choice".to_owned(), Value::from(label.as_str())),
            ("question_field".to_owned(), Value::from(names.question)),
            ("choices_field".to_owned(), Value::from(names.choices)),
            ("answer_field".to_owned(), Value::from(names.answer)),
            ("question_text".to_owned(), Value::from(self.text)),
        ]);
        let draft = Draft {
            task_type: "multiple-choice",
            messages,
            options: Some(options::sample_options(&self.options)),
            references: vec![reference(&label)],
            label: Some(label),
            metadata,
        };
        draft.finish(row, used)
    }
}
