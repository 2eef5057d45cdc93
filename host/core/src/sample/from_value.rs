//! Parsing and validation of a Sample, in one pass over the members of each object.

use super::derived::OF_OPTIONS;
use super::{
    ChoiceOption, Choices, FewShotExample, Reference, Sample, SandboxSpec, TaskType, checks, derived, label,
};
use crate::LazyObject;
use crate::content::{ContentPart, Message, read_tool};
use crate::fields::FieldError;
use crate::json_decode::{BorrowedMembers, FieldReader, last_member};
use serde_json::Number;
use serde_json_borrow::Value as BorrowedValue;

/// Fields not allowed in a few-shot example: nested examples, results of a run, settings of a whole sample,
/// and flags about the prompt.
pub(super) const NOT_IN_FEW_SHOT: [&str; 19] = [
    "few_shot_examples",
    "predict_result",
    "eval_result",
    "raw_assets",
    "sandbox",
    "golden_trajectories",
    "eval_config",
    "inputs",
    "chat_template_mode",
    "rendered_by",
    "template_source",
    "cache_suffix",
    "_tokenizer_path",
    "_media_meta",
    "_dataset_id",
    "_dataset_metadata",
    "model_output",
    "judge_output",
    "support_output",
];

/// Fields of a Sample that typos are compared with.
const FIELDS: [&str; 17] = [
    "schema_version",
    "task_type",
    "messages",
    "options",
    "references",
    "label",
    "few_shot_examples",
    "golden_trajectories",
    "sandbox",
    "metadata",
    "data_tag",
    "tools",
    "tool_choice",
    "sampling_params",
    "generation_params",
    "eval_config",
    "unconditioned_input",
];

/// Keys of `sandbox`.
const SANDBOX_KEYS: [&str; 4] = ["image", "files", "setup", "env"];

/// Keys of `eval_config`.
const EVAL_CONFIG_KEYS: [&str; 2] = ["metrics", "judge"];

/// The two lists that must be present, even if empty.
const REQUIRED: [&str; 2] = ["messages", "references"];

/// Reads a Sample. Its id is empty if there was none.
pub(super) fn sample(value: BorrowedValue<'_>) -> Result<Sample, Vec<FieldError>> {
    let mut problems = Vec::new();
    match read_sample(value, &mut FieldReader::document(&mut problems)) {
        Some(sample) if problems.is_empty() => Ok(sample),
        _ => Err(problems),
    }
}

fn read_sample(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Sample> {
    let members = reading.members(value)?;
    require(&members, reading);
    let present: Vec<_> =
        members.iter().filter(|(_, value)| !is_blank(value)).map(|(key, _)| key.clone()).collect();
    let mut sample = Sample::default();
    let mut label = BorrowedValue::Null;
    let mut schema_version = BorrowedValue::Null;
    for (key, value) in members {
        let mut reading = reading.key(&key);
        match &*key {
            "schema_version" => schema_version = value,
            "id" if value.is_null() => {}
            "id" => sample.id = read_id(value, &mut reading),
            "task_type" => sample.task_type = reading.string(value).map(|name| TaskType::from_name(&name)),
            "messages" => sample.messages = reading.items(value, Message::read),
            "options" => sample.options = read_options(value, &mut reading),
            "references" => sample.references = reading.items(value, read_reference),
            "label" => label = value,
            "few_shot_examples" => sample.few_shot_examples = reading.items(value, read_few_shot),
            "golden_trajectories" => sample.golden_trajectories = reading.items(value, read_trajectory),
            "sandbox" => sample.sandbox = read_sandbox(value, &mut reading).map(Box::new),
            "metadata" => sample.metadata = reading.object(value),
            "data_tag" => sample.data_tag = checks::tags(reading.object(value), &mut reading).into(),
            "raw_assets" => sample.raw_assets = reading.object(value).into(),
            "tools" => sample.tools = reading.items(value, |tool, reading| read_tool(tool.into(), reading)),
            "tool_choice" => sample.tool_choice = checks::tool_choice(value, &mut reading),
            "sampling_params" => sample.sampling_params = reading.object(value).into(),
            "generation_params" => sample.generation_params = reading.object(value).into(),
            "eval_config" => sample.eval_config = reading.object(value).into(),
            "unconditioned_input" => {
                sample.unconditioned_input = checks::unconditioned_input(value, &mut reading);
            }
            "predict_result" => sample.predict_result = reading.list(value),
            "eval_result" => sample.eval_result = reading.object(value).into(),
            "choices" if value.as_str() == Some(OF_OPTIONS) => sample.choices = Choices::OfOptions,
            "choices" => sample.choices = Choices::Listed(reading.list(value)),
            "inputs" => sample.inputs = checks::inputs(reading.object(value), &mut reading).into(),
            "_dataset_id" => sample.dataset_id = reading.string(value),
            "_dataset_metadata" => sample.dataset_metadata = reading.object(value),
            "chat_template_mode" => sample.chat_template_mode = reading.string(value),
            "rendered_by" => sample.rendered_by = reading.string(value),
            "template_source" => sample.template_source = reading.string(value),
            "cache_suffix" => sample.cache_suffix = reading.string(value),
            "_tokenizer_path" => sample.tokenizer_path = reading.string(value),
            "_media_meta" => sample.media_meta = reading.object(value).into(),
            // Templates of the older program for its own use.
            "model_prompt_tmpl" | "model_prompt_placeholder" => {}
            _ => {
                sample.extra.insert(key.into_owned(), value.into());
            }
        }
    }
    checks::schema_version(&schema_version, &mut reading.key("schema_version"));
    sample.label = label::read(label, &sample.references, &sample.options, &mut reading.key("label"));
    derived::drop_implied(&mut sample);
    checks::tools(&sample.tools, sample.tool_choice.as_ref(), reading);
    let is_present = |name: &str| present.iter().any(|present| present == name);
    checks::unknown_keys(sample.extra.keys(), &FIELDS, is_present, reading);
    let known_of_eval = |name: &str| sample.eval_config.contains_key(name);
    let of_eval: Vec<&String> =
        sample.eval_config.keys().filter(|key| !EVAL_CONFIG_KEYS.contains(&key.as_str())).collect();
    checks::unknown_keys(of_eval, &EVAL_CONFIG_KEYS, known_of_eval, &mut reading.key("eval_config"));
    Some(sample)
}

/// Returns whether a field says nothing: null, or an empty list or object.
fn is_blank(value: &BorrowedValue<'_>) -> bool {
    match value {
        BorrowedValue::Null => true,
        BorrowedValue::Array(items) => items.is_empty(),
        BorrowedValue::Object(members) => members.iter().next().is_none(),
        _ => false,
    }
}

fn require(members: &BorrowedMembers<'_>, reading: &mut FieldReader<'_>) {
    for key in REQUIRED {
        if !members.iter().any(|(name, value)| name == key && !value.is_null()) {
            reading.key(key).problem("this field is required; it may be an empty list");
        }
    }
}

/// Reads the id of a sample; a number stands for its digits.
pub(super) fn read_id(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> String {
    let id = match value {
        BorrowedValue::Number(number) => Number::from(number).to_string(),
        BorrowedValue::Str(id) => id.into_owned(),
        other => return reading.reject("a string or a number", &other).unwrap_or_default(),
    };
    checks::id(&id, reading);
    id
}

fn read_options(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Vec<ChoiceOption> {
    let options = value.as_array().into_iter().flatten();
    let ids = options.map(|option| last_member(option, "id")?.as_str());
    checks::distinct_option_ids(ids, reading);
    reading.items(value, read_option)
}

fn read_option(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<ChoiceOption> {
    let members = reading.members(value)?;
    let (mut id, mut content, mut extra) = (None, None, LazyObject::default());
    for (key, value) in members {
        match &*key {
            "id" => id = Some(value),
            "content" => content = Some(value),
            _ => {
                extra.insert(key.into_owned(), value.into());
            }
        }
    }
    let mut text = |key: &str, value: Option<BorrowedValue<'_>>| match value {
        Some(BorrowedValue::Str(text)) => Some(text.into_owned()),
        other => reading.key(key).reject("a string, as every option needs it", &other.unwrap_or_default()),
    };
    let (id, content) = (text("id", id), text("content", content));
    if let Some(id) = &id {
        checks::id(id, &mut reading.key("id"));
    }
    Some(ChoiceOption { id: id?, content: content?, extra })
}

fn read_reference(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Reference> {
    if let BorrowedValue::Str(text) = value {
        let answer = vec![ContentPart::text(text)];
        return Some(Reference { answer, ..Reference::default() });
    }
    let members = reading.members(value)?;
    let mut answer = BorrowedValue::Null;
    let mut reference = Reference::default();
    for (key, value) in members {
        match &*key {
            "answer" => answer = value,
            "meta" => reference.meta = reading.key("meta").object(value).into(),
            _ => {
                reference.extra.insert(key.into_owned(), value.into());
            }
        }
    }
    let mut reading = reading.key("answer");
    if answer.is_null() {
        reading.problem("this field is required: a string or a list of parts");
    } else {
        reference.answer = ContentPart::read_all(answer, &mut reading);
    }
    Some(reference)
}

fn read_few_shot(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<FewShotExample> {
    let members = reading.members(value)?;
    require(&members, reading);
    let mut label = BorrowedValue::Null;
    let mut example = FewShotExample::default();
    for (key, value) in members {
        let mut reading = reading.key(&key);
        match &*key {
            "messages" => example.messages = reading.items(value, Message::read),
            "options" => example.options = read_options(value, &mut reading),
            "references" => example.references = reading.items(value, read_reference),
            "label" => label = value,
            "tools" => example.tools = reading.items(value, |tool, reading| read_tool(tool.into(), reading)),
            "tool_choice" => example.tool_choice = checks::tool_choice(value, &mut reading),
            forbidden if NOT_IN_FEW_SHOT.contains(&forbidden) => {
                if !value.is_null() {
                    reading.problem(
                        "a few-shot example must not have this field; allowed: messages, options, references, \
                         label, tools, tool_choice, and fields of your own",
                    );
                }
            }
            _ => {
                example.extra.insert(key.into_owned(), value.into());
            }
        }
    }
    example.label = label::read(label, &example.references, &example.options, &mut reading.key("label"));
    checks::few_shot_answer(&example, reading);
    Some(example)
}

fn read_trajectory(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Vec<Message>> {
    if !value.is_array() {
        return reading.reject("a list of messages", &value);
    }
    let messages = reading.items(value, Message::read);
    checks::trajectory(&messages, reading);
    Some(messages)
}

pub(super) fn read_sandbox(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<SandboxSpec> {
    if value.is_null() {
        return None;
    }
    let members = reading.members(value)?;
    let mut sandbox = SandboxSpec::default();
    for (key, value) in members {
        let mut reading = reading.key(&key);
        match &*key {
            "image" => sandbox.image = reading.string(value),
            "files" => sandbox.files = checks::sandbox_files(reading.object(value), &mut reading),
            "setup" => sandbox.setup = reading.string(value),
            "env" => sandbox.env = checks::environment(reading.object(value), &mut reading),
            _ => {
                sandbox.extra.insert(key.into_owned(), value.into());
            }
        }
    }
    checks::unknown_keys(sandbox.extra.keys(), &SANDBOX_KEYS, |_| false, reading);
    Some(sandbox)
}
