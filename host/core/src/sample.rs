//! The standard Sample: the one shape that loaders, preprocessors, models, judges, metrics
//! and reports share.

use crate::content::{ContentPart, Message, Role};
use crate::fields::FieldError;
use crate::{Digest, LazyObject, Object, SamplingParams, json_decode};
use serde_json::Value;
use std::sync::Arc;

mod answer;
mod checks;
mod from_value;
mod label;
mod messages;
mod parts;
mod task_type;

pub use answer::AnswerProblem;
pub use messages::Messages;
pub use parts::{ChoiceOption, FewShotExample, Reference, SandboxSpec};
pub use task_type::TaskType;

/// A standard Sample. Fields that are not known are kept in `extra`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Unique within its dataset.
    pub id: String,
    /// What kind of task it is.
    pub task_type: Option<TaskType>,
    /// The question, as a conversation.
    pub messages: Vec<Message>,
    /// The candidates, in the order of display.
    pub options: Vec<ChoiceOption>,
    /// The right answers.
    pub references: Vec<Reference>,
    /// The first right answer as a string.
    pub label: Option<String>,
    /// Examples in front of the question.
    pub few_shot_examples: Vec<FewShotExample>,
    /// Reference trajectories, each a whole conversation.
    pub golden_trajectories: Vec<Vec<Message>>,
    /// The environment that code runs in.
    pub sandbox: Option<Box<SandboxSpec>>,
    /// About the task and the row.
    pub metadata: Object,
    /// Labels to slice results by.
    pub data_tag: LazyObject,
    /// Large raw objects; never rendered into a prompt.
    pub raw_assets: LazyObject,
    /// OpenAI tool definitions.
    pub tools: Vec<Value>,
    /// Which tool to use: a string or an object.
    pub tool_choice: Option<Value>,
    /// Sampling parameters of this sample; they win over every other place.
    pub sampling_params: LazyObject,
    /// Generation parameters of this sample.
    pub generation_params: LazyObject,
    /// Judge and metric settings of this sample.
    pub eval_config: LazyObject,
    /// Input for debiasing: a string or a list.
    pub unconditioned_input: Option<Value>,
    /// What a model said, in the shape of the reference implementation.
    pub predict_result: Vec<Value>,
    /// What judges and metrics said.
    pub eval_result: LazyObject,
    /// Structured candidates in the shape of the reference implementation.
    pub choices: Vec<Value>,
    /// The container of inference inputs: `prompt`, `multi_modal_data`.
    pub inputs: LazyObject,
    /// Which dataset the row is from.
    pub dataset_id: Option<String>,
    /// About that dataset: its `path`.
    pub dataset_metadata: Object,
    /// Who applies the chat template.
    pub chat_template_mode: Option<String>,
    /// Who rendered the prompt.
    pub rendered_by: Option<String>,
    /// Where the chat template is from.
    pub template_source: Option<String>,
    /// Part of the key of caches.
    pub cache_suffix: Option<String>,
    /// The tokenizer that rendered the prompt.
    pub tokenizer_path: Option<String>,
    /// Indexes of media without duplicates.
    pub media_meta: LazyObject,
    /// Fields that are not known.
    pub extra: LazyObject,
}

impl Sample {
    /// Reads and validates a Sample. A missing `id` becomes a digest of the content, a missing
    /// `label` the text of the first reference; null counts as missing in every known field.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place.
    pub fn from_value(value: Value) -> Result<Sample, Vec<FieldError>> {
        let sample = from_value::sample(json_decode::borrow(&value))?;
        Ok(if sample.id.is_empty() { Sample { id: content_id(value), ..sample } } else { sample })
    }

    /// Reads and validates a Sample from JSON text, as [`Sample::from_value`] does with its value.
    /// The caller checks how deep the text is nested. The Sample is in an `Arc`, ready to be shared.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place; of a text that is not JSON, where it stops to be.
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

    /// Why metrics may find nothing to compare answers with.
    pub fn answer_problem(&self) -> Option<AnswerProblem> {
        answer::problem_of(self)
    }

    /// The Sample as JSON. Fields that hold nothing are left out, except the required ones.
    pub fn to_value(&self) -> Value {
        serde_json::json!(self)
    }

    /// Returns its sampling parameters, and after them those among its generation parameters that are such. Others, as
    /// the width of an image, are for whoever reads the Sample.
    pub fn own_sampling(&self) -> Object {
        let is_known = |name: &str| name == "max_tokens" || SamplingParams::NAMES.contains(&name);
        let generation = self.generation_params.iter().filter(|(name, _)| is_known(name));
        generation.chain(&self.sampling_params).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What is wrong with those, each with its place in the Sample: a parameter that is not known, or out of bounds.
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

    /// The conversation to send: the few-shot examples, each with its first right answer as the
    /// assistant's turn, between the system message and the question. An example whose messages end
    /// with an assistant's turn has its answer already.
    pub fn conversation(&self) -> Vec<Message> {
        let leading = self.messages.iter().take_while(|message| message.role == Role::System).count();
        let mut messages: Vec<Message> = self.messages.iter().take(leading).cloned().collect();
        for example in &self.few_shot_examples {
            messages.extend(example.messages.iter().cloned());
            if !example.is_answered() {
                let answer = example.references.first().map_or_else(
                    || vec![ContentPart::text(example.label.clone().unwrap_or_default())],
                    |reference| reference.answer.clone(),
                );
                messages.push(Message { content: answer, ..Message::text(Role::Assistant, "") });
            }
        }
        messages.extend(self.messages.iter().skip(leading).cloned());
        messages
    }
}

/// The id of a Sample that came without one: a digest of its content.
fn content_id(mut value: Value) -> String {
    if let Value::Object(members) = &mut value {
        members.shift_remove("id");
    }
    Digest::of_json(&value).short().to_string()
}

#[cfg(test)]
mod tests;
