//! The fields of an entry: the answer, the id of its sample, and its task.
//!
//! An entry of a log of lm-evaluation-harness has its answers in `resps`, and the number of its row in `doc_id`. A sample of
//! a log of Inspect has its answer in `output.choices`.

use super::answer::AnswerKey;
use gage_config::{AnswerMatch, AnswersConfig};
use gage_core::{FinishReason, ModelOutput, Object, kind_of};
use serde_json::Value;

/// Fields that hold the answer.
const ANSWER_FIELDS: [&str; 6] = ["answer", "output", "response", "completion", "model_output", "resps"];

/// Fields that hold the id of the sample, the first one first. The last one is that of `HumanEval`.
const ID_FIELDS: [&str; 3] = ["id", SAMPLE_FIELD, TASK_FIELD];

/// Field with the id of the sample, in `samples.jsonl` of a run.
const SAMPLE_FIELD: &str = "sample_id";

/// Field with the number of the row, in a log of lm-evaluation-harness.
const ROW_FIELD: &str = "doc_id";

/// Field with the answers to the repeats of a row, in a log of lm-evaluation-harness.
const REPEATS_FIELD: &str = "resps";

/// Field with the task, beside the id of the sample.
const TASK_FIELD: &str = "task_id";

/// Fields of an object that hold its text.
const TEXT_FIELDS: [&str; 4] = ["answer", "content", "text", "completion"];

/// Field with the reason why an entry has no answer: a text, or an object with the text `message`.
const ERROR_FIELD: &str = "error";

/// Maximum number of characters of that reason.
const MAX_ERROR_CHARS: usize = 2_000;

/// Further results of a model that are kept.
const KEPT_OUTPUTS: [&str; 2] = ["reasoning", "tool_calls"];

/// Where the field of the answer is named.
const ANSWER_FIELD_FORMS: &str = "`answers: {path: FILE, answer_field: FIELD}` in the suite, or --set \
                                  'answers={path: FILE, answer_field: FIELD}' in place of --answers";

/// Maximum number of fields that a message names.
const MAX_SHOWN_FIELDS: usize = 12;

/// The fields to read.
pub(super) struct AnswerFields {
    answer: Option<String>,
    id: Option<String>,
    match_by: Option<AnswerMatch>,
}

/// The content of an entry.
pub(super) struct FoundAnswer {
    pub(super) task_id: Option<Box<str>>,
    /// `None` if only the order tells.
    pub(super) key: Option<AnswerKey>,
    /// The answers to the repeats of the sample. Empty if there is none.
    pub(super) outputs: Vec<ModelOutput>,
    /// The reason why there is none.
    pub(super) error: Option<Box<str>>,
}

impl FoundAnswer {
    /// Returns the length of what is kept of the entry, in bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        let task = self.task_id.as_deref().map_or(0, str::len);
        let id = match &self.key {
            Some(AnswerKey::Id(id)) => id.len(),
            Some(AnswerKey::Row(_) | AnswerKey::Order(_)) | None => 0,
        };
        let error = self.error.as_deref().map_or(0, str::len);
        let of_output = |output: &ModelOutput| output.answer.len() + bytes_of_members(&output.extra);
        task + id + error + self.outputs.iter().map(of_output).sum::<usize>()
    }
}

impl AnswerFields {
    pub(super) fn new(config: &AnswersConfig) -> AnswerFields {
        AnswerFields {
            answer: config.answer_field.clone(),
            id: config.id_field.clone(),
            match_by: config.match_by,
        }
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// Describes what is wrong, and what is allowed.
    pub(super) fn read(&self, value: Value) -> Result<FoundAnswer, String> {
        let entry = match value {
            Value::Object(entry) => entry,
            Value::String(text) => {
                let outputs = vec![generated(&text, FinishReason::Stop)];
                return match self.match_by {
                    Some(AnswerMatch::Id) => Err("it is a text, and has no id to match by".to_owned()),
                    _ => Ok(FoundAnswer { task_id: None, key: None, outputs, error: None }),
                };
            }
            other => {
                return Err(format!("an entry must be an object or a text, found {}", kind_of(&other)));
            }
        };
        let outputs = match self.answer_of(&entry)? {
            Some((field, answer)) => {
                outputs_of(field, answer).map_err(|problem| format!("`{field}` {problem}"))?
            }
            None => Vec::new(),
        };
        let outputs = match finish_of(&entry) {
            Some(finish) => outputs
                .into_iter()
                .map(|output| match output.finish_reason {
                    FinishReason::Stop => ModelOutput { finish_reason: finish, ..output },
                    _ => output,
                })
                .collect(),
            None => outputs,
        };
        let is_record = self.id.is_none() && entry.contains_key(SAMPLE_FIELD);
        let task_id = entry.get(TASK_FIELD).filter(|_| is_record).and_then(Value::as_str).map(Box::from);
        let error = error_of(&entry).filter(|_| outputs.is_empty());
        Ok(FoundAnswer { task_id, key: self.key_of(&entry)?, outputs, error })
    }

    /// Returns the answer with the name of its field. `None` if it is null.
    fn answer_of<'e>(&'e self, entry: &'e Object) -> Result<Option<(&'e str, &'e Value)>, String> {
        let names: Vec<&str> = match &self.answer {
            Some(name) => vec![name.as_str()],
            None => ANSWER_FIELDS.to_vec(),
        };
        let present: Vec<(&str, &Value)> =
            names.iter().filter_map(|name| Some((*name, entry.get(*name)?))).collect();
        if present.is_empty() {
            let expected: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let keys = entry.keys().take(MAX_SHOWN_FIELDS).map(|key| gage_core::shown_name(key));
            return Err(format!(
                "it has no answer: expected one of the fields {}, found {}; name the field: {ANSWER_FIELD_FORMS}",
                expected.join(", "),
                keys.collect::<Vec<_>>().join(", ")
            ));
        }
        let mut given = present.into_iter().filter(|(_, value)| !value.is_null());
        match (given.next(), given.next()) {
            (Some((one, _)), Some((other, _))) => Err(format!(
                "both `{one}` and `{other}` may be the answer of the model; name the right one: {ANSWER_FIELD_FORMS}"
            )),
            (first, _) => Ok(first),
        }
    }

    fn key_of(&self, entry: &Object) -> Result<Option<AnswerKey>, String> {
        if self.match_by == Some(AnswerMatch::Order) {
            return Ok(None);
        }
        let given = |name: &str| entry.get(name).filter(|value| !value.is_null());
        let found = match &self.id {
            Some(name) => given(name).map(|value| (name.as_str(), value)),
            None => ID_FIELDS.iter().find_map(|name| Some((*name, given(name)?))),
        };
        match found {
            Some((_, Value::String(id))) => Ok(Some(AnswerKey::Id(id.as_str().into()))),
            Some((_, Value::Number(id))) => Ok(Some(AnswerKey::Id(id.to_string().into()))),
            Some((name, other)) => {
                Err(format!("`{name}` must be a string or a number, found {}", kind_of(other)))
            }
            None if self.match_by == Some(AnswerMatch::Id) || self.id.is_some() => {
                let name = self.id.as_deref().unwrap_or("id");
                Err(format!("it has no `{name}`, so it matches no sample"))
            }
            None => given(ROW_FIELD).map(row_key).transpose(),
        }
    }
}

/// Reads the number of a row.
fn row_key(value: &Value) -> Result<AnswerKey, String> {
    let row = value.as_u64().map(AnswerKey::Row);
    row.ok_or_else(|| format!("`{ROW_FIELD}` must be the number of a row, from 0"))
}

/// Returns the outputs of a field: one for each repeat of the sample. Empty if there is none.
fn outputs_of(field: &str, value: &Value) -> Result<Vec<ModelOutput>, String> {
    if field != REPEATS_FIELD {
        return Ok(output_of(value)?.into_iter().collect());
    }
    // A list for each request about the row, with an answer for each repeat. Deeper lists hold likelihoods.
    let not_text = || "holds no texts: only answers of `generate_until` can be scored".to_owned();
    let requests = value.as_array().ok_or_else(not_text)?;
    let answers = match requests.as_slice() {
        [Value::Array(answers)] => answers,
        _ => requests,
    };
    let text = |one: &Value| one.as_str().map(|text| generated(text, FinishReason::Stop));
    answers.iter().map(|one| text(one).ok_or_else(not_text)).collect()
}

/// Returns the size of an object's members in memory, in bytes.
fn bytes_of_members(members: &Object) -> usize {
    members.iter().map(|(key, value)| key.len() + bytes_of_value(value)).sum()
}

/// Returns the size of a value in memory, in bytes.
fn bytes_of_value(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of_value).sum(),
        Value::Object(members) => bytes_of_members(members),
    };
    size_of::<Value>() + content
}

/// Returns the output that a value stands for. `None` for null, and for an object without a text.
fn output_of(value: &Value) -> Result<Option<ModelOutput>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(generated(text, FinishReason::Stop))),
        Value::Number(number) => Ok(Some(generated(&number.to_string(), FinishReason::Stop))),
        Value::Bool(is_true) => Ok(Some(generated(&is_true.to_string(), FinishReason::Stop))),
        Value::Array(parts) => text_of_parts(parts).map(|text| Some(generated(&text, FinishReason::Stop))),
        Value::Object(object) => output_of_object(object),
    }
}

/// Reads the output of a model: of this program, of Inspect, or of a chat API.
fn output_of_object(object: &Object) -> Result<Option<ModelOutput>, String> {
    let choice = object.get("choices").and_then(Value::as_array).and_then(|choices| choices.first());
    if let Some(Value::Object(choice)) = choice {
        let inner = choice.get("message").and_then(Value::as_object).unwrap_or(choice);
        let output = output_of_object(inner)?;
        let finish = finish_of(choice).unwrap_or(FinishReason::Stop);
        return Ok(output.map(|output| ModelOutput { finish_reason: finish, ..output }));
    }
    let text = TEXT_FIELDS.iter().find_map(|name| object.get(*name).filter(|value| !value.is_null()));
    let Some(text) = text else { return Ok(None) };
    let text = match text {
        Value::String(text) => text.clone(),
        Value::Array(parts) => text_of_parts(parts)?,
        other => return Err(format!("must hold a text, found {}", kind_of(other))),
    };
    let mut output = generated(&text, finish_of(object).unwrap_or(FinishReason::Stop));
    for name in KEPT_OUTPUTS {
        if let Some(value) = object.get(name).filter(|value| !value.is_null()) {
            let mut value = value.clone();
            gage_secrets::redact_value(&mut value);
            output.extra.insert(name.to_owned(), value);
        }
    }
    Ok(Some(output))
}

/// Returns the text of a message's parts.
fn text_of_parts(parts: &[Value]) -> Result<String, String> {
    let is_text = |part: &&Value| part.get("type").is_none_or(|kind| kind == "text");
    let text = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).map(str::to_owned);
    let texts = parts.iter().filter(is_text).map(text);
    let texts: Option<Vec<String>> = texts.collect();
    texts.map(|texts| texts.concat()).ok_or_else(|| "is a list with other things than texts".to_owned())
}

fn generated(text: &str, finish: FinishReason) -> ModelOutput {
    ModelOutput::generated(gage_secrets::redact(text).into_owned(), finish, None)
}

/// Returns the error of an entry, shortened.
fn error_of(entry: &Object) -> Option<Box<str>> {
    let error = entry.get(ERROR_FIELD)?;
    let message = error.as_str().or_else(|| error.get("message")?.as_str())?;
    let shortened: String = gage_secrets::redact(message).chars().take(MAX_ERROR_CHARS).collect();
    let message = shortened.trim();
    (!message.is_empty()).then(|| message.into())
}

/// Returns the reason why a model stopped, if an object tells it.
fn finish_of(object: &Object) -> Option<FinishReason> {
    let reason = ["finish_reason", "stop_reason"].iter().find_map(|name| object.get(*name)?.as_str())?;
    Some(match reason {
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "refusal" => FinishReason::ContentFilter,
        "tool_calls" | "tool_use" => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    })
}
