//! The standard Sample: the common data format of loaders, preprocessors, models, judges, metrics and
//! reports.

use crate::content::{ContentPart, Message, Role};
use crate::fields::FieldError;
use crate::{Digest, LazyObject, Object, SamplingParams, json_decode};
use option_display::missing_options;
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;
use std::sync::Arc;

mod answer;
mod checks;
pub(crate) mod derived;
mod from_value;
mod label;
mod messages;
mod option_display;
mod parts;
mod recorded;
mod task_type;

pub use answer::AnswerProblem;
pub use derived::Choices;
pub use messages::Messages;
pub use option_display::OptionDisplay;
pub use parts::{ChoiceOption, FewShotExample, Reference, SandboxSpec};
pub(crate) use recorded::compact;
pub use recorded::{RecordedSample, add_derived};
pub use task_type::TaskType;

/// A standard Sample. Unknown fields are kept in `extra`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Unique within its dataset.
    pub id: String,
    /// Type of the task.
    pub task_type: Option<TaskType>,
    /// The question, as a conversation.
    pub messages: Vec<Message>,
    /// The candidates, in display order.
    pub options: Vec<ChoiceOption>,
    /// The correct answers.
    pub references: Vec<Reference>,
    /// The first correct answer as a string.
    pub label: Option<String>,
    /// Examples before the question.
    pub few_shot_examples: Vec<FewShotExample>,
    /// Reference trajectories, each a whole conversation.
    pub golden_trajectories: Vec<Vec<Message>>,
    /// Environment in which code runs.
    pub sandbox: Option<Box<SandboxSpec>>,
    /// Metadata of the task and the row, without what follows from the options and the label.
    pub metadata: Object,
    /// Labels for slicing results.
    pub data_tag: LazyObject,
    /// Large raw objects; never rendered into a prompt.
    pub raw_assets: LazyObject,
    /// OpenAI tool definitions.
    pub tools: Vec<Value>,
    /// Tool choice: a string or an object.
    pub tool_choice: Option<Value>,
    /// Sampling parameters of this sample; they override all others.
    pub sampling_params: LazyObject,
    /// Generation parameters of this sample.
    pub generation_params: LazyObject,
    /// Judge and metric settings of this sample.
    pub eval_config: LazyObject,
    /// Input for debiasing: a string or a list.
    pub unconditioned_input: Option<Value>,
    /// Output of a model, in the shape of the reference implementation.
    pub predict_result: Vec<Value>,
    /// Outputs of judges and metrics.
    pub eval_result: LazyObject,
    /// Structured candidates in the shape of the reference implementation.
    pub choices: Choices,
    /// Container of inference inputs: `prompt`, `multi_modal_data`.
    pub inputs: LazyObject,
    /// Id of the row's dataset.
    pub dataset_id: Option<String>,
    /// Metadata of that dataset: its `path`.
    pub dataset_metadata: Object,
    /// Component that applies the chat template.
    pub chat_template_mode: Option<String>,
    /// Component that rendered the prompt.
    pub rendered_by: Option<String>,
    /// Source of the chat template.
    pub template_source: Option<String>,
    /// Part of cache keys.
    pub cache_suffix: Option<String>,
    /// Tokenizer that rendered the prompt.
    pub tokenizer_path: Option<String>,
    /// Indexes of deduplicated media.
    pub media_meta: LazyObject,
    /// Unknown fields.
    pub extra: LazyObject,
}

impl Sample {
    /// Parses and validates a Sample. A missing `id` becomes a digest of the content, and a missing `label`
    /// the text of the first reference. Null counts as missing in every known field.
    ///
    /// # Errors
    /// All problems, each with its place.
    pub fn from_value(value: Value) -> Result<Sample, Vec<FieldError>> {
        let sample = from_value::sample(json_decode::borrow(&value))?;
        Ok(if sample.id.is_empty() { Sample { id: content_id(value), ..sample } } else { sample })
    }

    /// Parses and validates a Sample from JSON text, like [`Sample::from_value`]. The caller checks the
    /// nesting depth of the text. The Sample is returned in an `Arc`, ready to be shared.
    ///
    /// # Errors
    /// All problems, each with its place; for invalid JSON, the position of the syntax error.
    pub fn from_text(text: &str) -> Result<Arc<Sample>, Vec<FieldError>> {
        let is_not_json = |error: serde_json::Error| {
            vec![FieldError { pointer: String::new(), message: format!("the Sample is not JSON: {error}") }]
        };
        let mut sample = from_value::sample(serde_json::from_str(text).map_err(is_not_json)?)?;
        if sample.id.is_empty() {
            sample.id = content_id(serde_json::from_str(text).map_err(is_not_json)?);
        }
        Ok(Arc::new(sample))
    }

    /// Validates a Sample that was already parsed. Its id is empty if there was none.
    pub(crate) fn from_parsed(value: BorrowedValue<'_>) -> Option<Sample> {
        from_value::sample(value).ok()
    }

    /// Returns the reason why metrics may have nothing to compare answers with, if any.
    pub fn answer_problem(&self) -> Option<AnswerProblem> {
        answer::problem_of(self)
    }

    /// Returns the Sample as JSON. Empty fields are omitted, except the required ones.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self)
    }

    /// Returns its sampling parameters, followed by the sampling parameters among its generation parameters.
    /// Other generation parameters, such as an image width, are left to readers of the Sample.
    pub fn own_sampling(&self) -> Object {
        let is_known = |name: &str| name == "max_tokens" || SamplingParams::NAMES.contains(&name);
        let generation = self.generation_params.iter().filter(|(name, _)| is_known(name));
        generation.chain(&self.sampling_params).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the problems of those parameters, each with its place in the Sample: unknown or out of bounds.
    pub fn sampling_problems(&self) -> Vec<FieldError> {
        let own = self.own_sampling();
        let found = if own.is_empty() { None } else { SamplingParams::from_object(own).err() };
        let place = |problem: FieldError| {
            let name = problem.pointer.trim_start_matches('/');
            let group = match self.sampling_params.contains_key(name) {
                true => "sampling_params",
                false => "generation_params",
            };
            FieldError { pointer: format!("/{group}/{name}"), message: problem.message }
        };
        found.unwrap_or_default().into_iter().map(place).collect()
    }

    /// Returns the conversation to send: the few-shot examples, each with its first correct answer as the
    /// assistant's turn, between the system message and the question. No answer is added to an example that
    /// already ends with an assistant's turn. The options are shown as `display` says.
    pub fn conversation(&self, display: OptionDisplay) -> Vec<Message> {
        let leading = self.messages.iter().take_while(|message| message.role == Role::System).count();
        let mut messages: Vec<Message> = self.messages.iter().take(leading).cloned().collect();
        for example in &self.few_shot_examples {
            messages.extend(example.messages.iter().cloned());
            if display == OptionDisplay::AfterQuestion {
                let label = example.label.as_deref();
                if let Some(text) = missing_options(&example.messages, &example.options, label) {
                    option_display::append(&mut messages, &text);
                }
            }
            if !example.is_answered() {
                let answer = example.references.first().map_or_else(
                    || vec![ContentPart::text(example.label.clone().unwrap_or_default())],
                    |reference| reference.answer.clone(),
                );
                messages.push(Message { content: answer, ..Message::text(Role::Assistant, "") });
            }
        }
        messages.extend(self.messages.iter().skip(leading).cloned());
        if let Some(text) = self.missing_options(display) {
            option_display::append(&mut messages, &text);
        }
        messages
    }

    /// Returns whether messages show all options of the Sample, in their order. Options are shown as a list: each on a
    /// line of its own, or after its id, as in `(A) Shark`.
    pub fn shows_options(&self, messages: &[Message]) -> bool {
        option_display::shows_all(messages, &self.options)
    }

    /// Returns the text to append to the question to show its options; `None` if the messages can be sent unchanged.
    fn missing_options(&self, display: OptionDisplay) -> Option<String> {
        match display {
            OptionDisplay::AfterQuestion => {
                missing_options(&self.messages, &self.options, self.label.as_deref())
            }
            OptionDisplay::AsWritten => None,
        }
    }
}

/// Returns the id of a Sample without one: a digest of its content.
fn content_id(mut value: Value) -> String {
    if let Value::Object(members) = &mut value {
        members.shift_remove("id");
    }
    Digest::of_json(&value).short().to_string()
}

#[cfg(test)]
mod tests;
