//! `default`, and under their older names `legacy` and `simple`: rows that are already Samples, or nearly.

use crate::answers::{GivenAnswer, settle};
use crate::media::place;
use crate::messages::{add_instruction, add_system, with_parts};
use crate::options::option_map;
use crate::param_schema::{Properties, optional_schema};
use crate::question::EMPTY_QUESTION;
use crate::roles::Conversion;
use crate::sample::{Origin, SCHEMA_VERSION, add_rest, into_id, keep_assets, message, take_metadata};
use crate::slots::Slots;
use crate::task_type::from_question_type;
use gage_row_kit::fields::{Fields, take, text, unusable};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::text::strip;

mod fast;

/// Passes a Sample on in its standard form, and converts fields of older formats to one.
pub struct DefaultRows(DefaultParams);

/// An older name of [`DefaultRows`]; marks its Samples with `cache_suffix`.
pub struct LegacyRows(DefaultParams);

/// Another older name of [`DefaultRows`].
pub struct SimpleRows(DefaultParams);

/// Suffix by which older programs mark Samples converted from older formats.
const CONVERTED: &str = "-converted";

/// Field whose value stays unchanged.
const TEXT: &str = "text";

/// Maximum number of field names in a message.
const MAX_NAMES: usize = 12;

/// Maximum number of Sample fields made here.
const MAX_GENERATED: usize = 10;

/// Parameters of all three preprocessors.
#[derive(Default)]
pub struct DefaultParams {
    question_field: Option<String>,
    answer_field: Option<String>,
    system_prompt: Option<String>,
    instruction: Option<String>,
    media: bool,
    trim: Option<bool>,
}

impl DefaultParams {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params) -> Result<DefaultParams, PluginError> {
        Ok(DefaultParams {
            question_field: params.parsed("question_field")?,
            answer_field: params.parsed("answer_field")?,
            system_prompt: params.parsed("system_prompt")?,
            instruction: params.parsed("instruction")?,
            media: params.parsed("media")?.unwrap_or(true),
            trim: params.parsed("trim")?,
        })
    }

    /// Creates parameters that only add to the prompt.
    pub(crate) fn of_prompts(system_prompt: Option<String>, instruction: Option<String>) -> DefaultParams {
        DefaultParams { system_prompt, instruction, media: true, ..DefaultParams::default() }
    }

    /// Returns whether white space at the ends of this field is removed. The field `text` is a text to be scored, and
    /// its likelihood depends on all of it.
    fn trims(&self, field: &str) -> bool {
        self.trim.unwrap_or(field != TEXT)
    }
}

macro_rules! conversion {
    ($type:ident, $name:literal, $description:literal, $cache_suffix:expr) => {
        impl Conversion for $type {
            const NAME: &'static str = $name;
            const VERSION: &'static str = "6";
            const DESCRIPTION: &'static str = $description;
            fn properties() -> Properties {
                properties()
            }

            fn new(params: &Params) -> Result<Self, PluginError> {
                DefaultParams::read(params).map($type)
            }

            fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
                convert(row, &self.0, None, $cache_suffix)
            }

            fn sample_text(&self, row: &str) -> Option<String> {
                fast::sample(row, &self.0, $cache_suffix)
            }
        }
    };
}

conversion!(DefaultRows, "default", "Rows that are already Samples, or use common field names", None);
conversion!(
    LegacyRows,
    "legacy",
    "Converts as `default`, and marks its Samples as converted",
    Some(CONVERTED)
);
conversion!(SimpleRows, "simple", "The same as `legacy`", Some(CONVERTED));

/// Returns the JSON Schema of the parameters.
pub(crate) fn properties() -> Properties {
    vec![
        (
            "question_field",
            optional_schema("Field of the question; by default `question`, `prompt` or `text`"),
        ),
        (
            "answer_field",
            optional_schema("Field of the answer; by default `references`, `answer`, `answers` or `label`"),
        ),
        ("system_prompt", optional_schema("System message for rows that do not begin with one")),
        ("instruction", optional_schema("Text appended to the last user message")),
        (
            "media",
            json!({
                "type": "boolean", "default": true,
                "description": "Put media from fields such as `image` and `audio_path` before the question",
            }),
        ),
        (
            "trim",
            json!({
                "type": ["boolean", "null"],
                "description": "Trim white space around the question; by default true, except for the field \
                 `text`",
            }),
        ),
    ]
}

/// Converts a row to its Sample. `instead` is the answer of a row that has none.
pub(crate) fn convert(
    mut row: Fields,
    params: &DefaultParams,
    instead: Option<String>,
    cache_suffix: Option<&str>,
) -> Result<Value, PluginError> {
    let origin = Origin::of(&row);
    let is_sample = origin == Origin::Sample;
    if is_sample && row.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
        return Err(unusable("metadata", "must be an object"));
    }
    let asked = AskedQuestion::take(&mut row, params)?;
    let mut slots = Slots::of(row, params.media && !is_sample);
    let (messages, assets) = messages(&mut slots, params, asked.question, is_sample)?;
    if is_sample && slots.label.as_ref().is_some_and(|label| label.is_array() || label.is_object()) {
        return Err(unusable("label", "must be a string, a number or a boolean"));
    }
    let (options, choices) = slots.take_options(is_sample)?;
    let given = GivenAnswer {
        references: slots.references.take(),
        answer: asked.answer.or_else(|| slots.answer.take()).or_else(|| slots.answers.take()),
        label: slots.label.take(),
        instead,
    };
    let answers = settle(given, options.as_ref().map(|options| options.read.as_slice()), choices.as_ref())?;

    let mut sample = Fields::with_capacity(slots.rest.len() + MAX_GENERATED);
    let mut put = |name: &str, value: Option<Value>| {
        sample.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("schema_version", slots.schema_version.take().or_else(|| Some(SCHEMA_VERSION.into())));
    put("id", slots.id.take().and_then(into_id));
    let older = || slots.question_type.take().map(from_question_type);
    put("task_type", slots.task_type.take().or_else(older));
    put("messages", Some(messages.into()));
    let mut made = Fields::new();
    if let Some(options) = options {
        made.insert("option_map".to_owned(), option_map(&options.read).into());
        put("options", Some(options.standard));
    }
    made.extend(answers.correct_choice.map(|label| ("correct_choice".to_owned(), Value::from(label))));
    put("references", Some(answers.references.into()));
    put("label", answers.label.map(Value::from));
    put("choices", choices);

    slots.leave_unused(answers.unused_answer);
    let mut metadata = take_metadata(slots.metadata);
    metadata.extend(answers.unused_label.map(|label| ("label".to_owned(), label)));
    add_rest(&mut sample, &mut metadata, slots.rest, origin);
    keep_assets(&mut sample, &mut metadata, assets);
    for (name, value) in made {
        // A Sample states its own options, and the host derives the rest from them.
        let is_implied = name == "option_map" || sample.get("label") == Some(&value);
        if !(is_sample && (is_implied || metadata.contains_key(&name))) {
            metadata.insert(name, value);
        }
    }
    sample.insert("metadata".to_owned(), metadata.into());
    if let Some(cache_suffix) = cache_suffix {
        sample.insert("cache_suffix".to_owned(), cache_suffix.into());
    }
    Ok(Value::Object(sample))
}

/// The text of a field of the row.
struct NamedText {
    field: String,
    text: String,
}

/// Fields that the parameters name, taken from the row.
#[derive(Default)]
struct AskedQuestion {
    question: Option<NamedText>,
    answer: Option<Value>,
}

impl AskedQuestion {
    fn take(row: &mut Fields, params: &DefaultParams) -> Result<AskedQuestion, PluginError> {
        // Rows with messages contain their question in them.
        let has_messages = row.get("messages").is_some_and(|messages| !messages.is_null());
        let question = match params.question_field.as_deref().filter(|_| !has_messages) {
            Some(path) => {
                let text = text_at(&take(row, path)?, path, params)?;
                Some(NamedText { field: path.to_owned(), text })
            }
            None => None,
        };
        let answer = params.answer_field.as_deref().map(|path| take(row, path)).transpose()?;
        Ok(AskedQuestion { question, answer })
    }
}

fn text_at(value: &Value, path: &str, params: &DefaultParams) -> Result<String, PluginError> {
    let text = text(value).ok_or_else(|| unusable(path, "must be a text"))?;
    Ok(if params.trims(path) { strip(&text).to_owned() } else { text.into_owned() })
}

/// Returns the messages of a row, or a message with its question, with media and the additions from parameters. Also
/// returns media that do not belong there.
fn messages(
    slots: &mut Slots,
    params: &DefaultParams,
    asked: Option<NamedText>,
    is_sample: bool,
) -> Result<(Vec<Value>, Fields), PluginError> {
    let mut messages: Vec<Value> = match slots.messages.take() {
        Some(Value::Array(messages)) if is_sample || !messages.is_empty() => {
            messages.into_iter().map(with_parts).collect()
        }
        Some(Value::Array(_)) | None => {
            let NamedText { field, text } =
                asked.map_or_else(|| take_question(slots, params, is_sample), Ok)?;
            // A text to be scored may be empty, and media need no question.
            if strip(&text).is_empty() && field != TEXT && slots.media.is_empty() {
                return Err(unusable(&field, EMPTY_QUESTION));
            }
            vec![message("user", text)]
        }
        Some(_) => return Err(unusable("messages", "must be a list of messages")),
    };
    let left = place(&mut messages, std::mem::take(&mut slots.media))?;
    add_instruction(&mut messages, params.instruction.as_deref());
    add_system(&mut messages, params.system_prompt.as_deref());
    Ok((messages, left))
}

/// Returns the question from the first of its fields that exists.
fn take_question(
    slots: &mut Slots,
    params: &DefaultParams,
    is_sample: bool,
) -> Result<NamedText, PluginError> {
    let fields = [("question", &mut slots.question), ("prompt", &mut slots.prompt), (TEXT, &mut slots.text)];
    let found = fields.into_iter().find_map(|(name, slot)| Some((name, slot.take()?)));
    match found {
        Some((name, value)) => Ok(NamedText { field: name.to_owned(), text: text_at(&value, name, params)? }),
        None if is_sample => Err(unusable("messages", "is missing; a Sample needs a list of messages")),
        None => Err(unusable("question", &missing_question(slots))),
    }
}

/// Names that fields of questions and of answers often have, in lower case.
const QUESTIONS: [&str; 4] = ["input", "query", "instruction", "problem"];
const ANSWERS: [&str; 4] = ["gold", "output", "expected", "ground_truth"];

/// Says that there is no question, with the fields of the row and the parameters that may name the right ones.
fn missing_question(slots: &Slots) -> String {
    let names = || slots.rest.iter().map(|(name, _)| name.as_str());
    let likely = |known: &[&str]| names().find(|name| known.contains(&name.to_lowercase().as_str()));
    let remedy = match (likely(&QUESTIONS), likely(&ANSWERS)) {
        (Some(question), Some(answer)) => {
            format!("set preprocess_kwargs: {{question_field: {question}, answer_field: {answer}}}")
        }
        (Some(question), None) => format!("set preprocess_kwargs: {{question_field: {question}}}"),
        (None, _) => "name the field of the question by 'question_field'".to_owned(),
    };
    let shown: Vec<&str> = names().take(MAX_NAMES).collect();
    match shown.is_empty() {
        true => format!("is missing; {remedy}"),
        false => format!("is missing; {remedy} (the row has: {})", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
