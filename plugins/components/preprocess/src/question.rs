//! A multiple-choice question, read from a row, and the Sample that it becomes.

use crate::conversation::Conversation;
use crate::options::{self, Choice, Labels, Places};
use crate::param_schema::field_schema;
use crate::references::reference_text;
use crate::sample::{Draft, reference};
use gage_row_kit::fields::{Fields, find, require, require_text, unusable};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::text::strip;
use std::borrow::Cow;

/// Fields of a Sample that are written again from its question.
pub(crate) const FIELDS_OF_SAMPLE: [&str; 6] =
    ["messages", "options", "references", "label", "choices", "task_type"];

/// Value of `choices` in a Sample: the host derives them from the options.
pub(crate) const CHOICES_OF_OPTIONS: &str = "options";

/// Fields of `metadata` that the host derives from the options and the label.
const IMPLIED: [&str; 2] = ["option_map", "correct_choice"];

/// A question with its options and the right one.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) options: Vec<Choice>,
    pub(crate) correct: Choice,
    /// Labels of further right options.
    pub(crate) also_correct: Vec<String>,
    /// The conversation that contains the question, if its row is a Sample.
    pub(crate) conversation: Option<Conversation>,
}

/// Paths of a question's parts in a row, also for errors and for the record.
pub(crate) struct QuestionFields {
    pub(crate) question: String,
    pub(crate) choices: String,
    pub(crate) answer: String,
    /// Meaning of numeric answers.
    pub(crate) places: Places,
    /// True to remove white space around the options.
    pub(crate) trims_options: bool,
}

/// Reason why a row with a blank question, and nothing else to show, is not a Sample.
pub(crate) const EMPTY_QUESTION: &str = "is empty; write the question, or remove the row";

/// Returns the text of the question at a path, which must exist.
///
/// # Errors
/// `invalid-input` if it is missing, is white space, or is a list or an object.
pub(crate) fn require_question<'row>(row: &'row Fields, path: &str) -> Result<Cow<'row, str>, PluginError> {
    let question = require_text(row, path)?;
    if strip(&question).is_empty() { Err(unusable(path, EMPTY_QUESTION)) } else { Ok(question) }
}

/// Name of the parameter that trims options.
pub(crate) const TRIM_OPTIONS: &str = "trim_options";

/// Returns the name and the schema of the parameter that trims options.
pub(crate) fn trim_options_schema() -> (&'static str, Value) {
    let description = "Whether white space around the options is removed. With `request: loglikelihood` it is \
                       scored otherwise";
    (TRIM_OPTIONS, flag_schema(false, description))
}

impl QuestionFields {
    /// Reads the parameters that name the paths.
    pub(crate) fn from_params(params: &Params, places: Places) -> Result<QuestionFields, PluginError> {
        // The older name.
        let options_field = params.text_or("options_field", "choices")?;
        Ok(QuestionFields {
            question: params.text_or("question_field", "question")?,
            choices: params.text_or("choices_field", &options_field)?,
            answer: params.text_or("answer_field", "answer")?,
            places,
            trims_options: params.flag(TRIM_OPTIONS, false)?,
        })
    }

    /// Reads the question of a row, or of a Sample.
    ///
    /// # Errors
    /// See [`QuestionFields::question`]. Also an error if a part is missing, or the text of the question is empty.
    pub(crate) fn read(&self, row: &Fields) -> Result<Question, PluginError> {
        let question = self.read_with_media(row)?;
        let is_empty = question.text.is_empty() && question.conversation.is_none();
        if is_empty { Err(unusable(&self.question, EMPTY_QUESTION)) } else { Ok(question) }
    }

    /// Reads the question of a row, or of a Sample. Its text may be empty, because media are shown with it.
    ///
    /// # Errors
    /// See [`QuestionFields::question`]. Also an error if a part is missing.
    pub(crate) fn read_with_media(&self, row: &Fields) -> Result<Question, PluginError> {
        if let Some(question) = self.read_sample(row) {
            return question;
        }
        let text = require_text(row, &self.question)?;
        self.question(&text, require(row, &self.choices)?, require(row, &self.answer)?)
    }

    /// Reads the question of a Sample: its last user message, its options, and its references. `None` if the row is not
    /// a Sample, or has the field of the question.
    pub(crate) fn read_sample(&self, row: &Fields) -> Option<Result<Question, PluginError>> {
        let conversation = Conversation::of(row).filter(|_| find(row, &self.question).is_none())?;
        let at = |field: &str, path: &str| match row.get(field).filter(|value| !value.is_null()) {
            Some(value) => Ok(value),
            None => require(row, path),
        };
        let read = || {
            let text =
                conversation.question().ok_or_else(|| unusable("messages", "has no text of the user"))?;
            let answers = answers_of(row).or_else(|| find(row, &self.answer).cloned());
            let answers = answers.ok_or_else(|| unusable("references", "is missing"))?;
            self.question(&text, at("options", &self.choices)?, &answers)
        };
        Some(read().map(|question| Question { conversation: Some(conversation), ..question }))
    }

    /// Returns the fields of the row that its Sample need not keep.
    pub(crate) fn used(&self) -> [&str; 3] {
        [&self.question, &self.choices, &self.answer]
    }

    /// Returns the Sample of a question that was read from this row.
    pub(crate) fn sample(&self, question: Question, row: Fields, messages: Vec<Value>) -> Value {
        let used = self.used();
        let used = if question.conversation.is_some() { &FIELDS_OF_SAMPLE[..] } else { &used[..] };
        question.into_draft(self, messages).finish(row, used)
    }

    /// Returns the JSON Schema of the parameters that name the paths.
    pub(crate) fn schema() -> [(&'static str, Value); 6] {
        [
            ("question_field", field_schema("question", "Field of the question")),
            ("choices_field", field_schema("choices", "Field of the options")),
            ("options_field", field_schema("choices", "Former name of `choices_field`")),
            ("answer_field", field_schema("answer", "Field of the answer")),
            (
                "answer_index_base",
                json!({
                    "enum": [0, 1, null], "default": 0,
                    "description": "First index of numeric answers; null if numeric answers are texts of \
                     options. Without it, a numeric text that could be both an index and the text of an \
                     option is an error",
                }),
            ),
            trim_options_schema(),
        ]
    }

    /// Creates a question from its parts. An answer that is a list names several right options.
    ///
    /// # Errors
    /// `invalid-input` if the options are unusable, if the answer, or one of the answers, is not an option, or if it is
    /// ambiguous.
    pub(crate) fn question(
        &self,
        text: &str,
        choices: &Value,
        answer: &Value,
    ) -> Result<Question, PluginError> {
        let mut options =
            options::read(choices, Labels::Letters).map_err(|why| unusable(&self.choices, &why))?;
        if self.trims_options {
            options.iter_mut().for_each(|option| option.text = strip(&option.text).to_owned());
        }
        let of_one = |item: &Value, why: &dyn Fn() -> String| {
            let found = options::resolve(item, &options, self.places)
                .map_err(|ambiguous| unusable(&self.answer, &ambiguous.to_string()))?;
            found.cloned().ok_or_else(|| unusable(&self.answer, &why()))
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
        Ok(Question { text: strip(text).to_owned(), options, correct, also_correct, conversation: None })
    }
}

/// Returns the answers of a Sample: the texts of its references, or else its label.
fn answers_of(row: &Fields) -> Option<Value> {
    let references = row.get("references").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<Value> =
        references.iter().filter_map(reference_text).map(|text| Value::from(text.into_owned())).collect();
    match <[Value; 1]>::try_from(texts) {
        Ok([single]) => Some(single),
        Err(texts) if texts.is_empty() => find(row, "label").cloned(),
        Err(texts) => Some(texts.into()),
    }
}

impl Question {
    /// Returns the Sample of this question with these messages, before the rest of its row is added. The host derives
    /// `choices`, `metadata.option_map` and `metadata.correct_choice`.
    pub(crate) fn into_draft(self, fields: &QuestionFields, messages: Vec<Value>) -> Draft {
        let is_sample = self.conversation.is_some();
        let label = self.correct.label;
        let also_correct = self.also_correct.iter().map(String::as_str);
        let mut metadata = Fields::new();
        if !is_sample {
            metadata.extend([
                ("question_field".to_owned(), Value::from(fields.question.as_str())),
                ("choices_field".to_owned(), Value::from(fields.choices.as_str())),
                ("answer_field".to_owned(), Value::from(fields.answer.as_str())),
            ]);
        }
        metadata.insert("question_text".to_owned(), Value::from(self.text));
        Draft {
            task_type: "multiple-choice",
            messages,
            options: Some(options::sample_options(&self.options)),
            references: std::iter::once(label.as_str()).chain(also_correct).map(reference).collect(),
            label: Some(label),
            choices: Some(CHOICES_OF_OPTIONS.into()),
            metadata,
            // With several right options, none is the right one.
            implied: if self.also_correct.is_empty() { &IMPLIED } else { &IMPLIED[..1] },
        }
    }
}
