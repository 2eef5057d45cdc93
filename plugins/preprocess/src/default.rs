//! `default`: rows that are Samples already, or nearly.

use crate::fields::{self, Fields, find, text, unusable};
use crate::options::{self, Choice, Labels};
use crate::sample::{SCHEMA_VERSION, add_rest, message, reference, take_id, text_part};
use gage_sdk::preprocessor::{Converted, Preprocessor, PreprocessorSpec, Row};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, from_params, json};
use gage_text_kit::text::strip;
use serde::Deserialize;

/// Fields that may hold the question, the first that is there wins.
const QUESTION_FIELDS: [&str; 3] = ["question", "prompt", "text"];

/// Passes a Sample on, in its standard form, and makes one of the fields of older formats: `question`,
/// `prompt` or `text`; `choices`; `answer` or `label`; `question_type`. All other fields are kept under
/// `metadata`.
pub struct DefaultRows {
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    question_field: Option<String>,
    answer_field: Option<String>,
    system_prompt: Option<String>,
    instruction: Option<String>,
}

impl Preprocessor for DefaultRows {
    fn spec() -> PreprocessorSpec {
        let optional = |description: &str| json!({ "type": ["string", "null"], "description": description });
        let properties = json!({
            "question_field": optional("Where the question stands, unless in `question`, `prompt` or `text`"),
            "answer_field": optional("Where the answer stands, unless in `answer` or `label`"),
            "system_prompt": optional("A system message, for rows that do not begin with one"),
            "instruction": optional("What stands behind the text of the last user message"),
        });
        PreprocessorSpec::new("default", "1", "Rows that are Samples already, or nearly", properties)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(DefaultRows { params: from_params(params)? })
    }

    fn convert(&self, row: Row) -> Result<Converted, PluginError> {
        let mut row = row.body;
        let id = take_id(&mut row);
        let schema_version = take(&mut row, "schema_version").unwrap_or_else(|| SCHEMA_VERSION.into());
        let task_type = take(&mut row, "task_type").or_else(|| take(&mut row, "question_type"));
        let messages = self.messages(&mut row)?;
        let options = take_options(&mut row)?;
        let answers = self.answers(&mut row, options.as_deref())?;

        let mut metadata = Fields::new();
        let mut sample = Fields::from_iter([("schema_version".to_owned(), schema_version)]);
        sample.extend(id.map(|id| ("id".to_owned(), id)));
        sample.extend(task_type.map(|task_type| ("task_type".to_owned(), task_type)));
        sample.insert("messages".to_owned(), messages.into());
        if let Some(options) = options {
            sample.insert("options".to_owned(), options::sample_options(&options));
            metadata.insert("option_map".to_owned(), options::option_map(&options).into());
        }
        sample.insert("references".to_owned(), answers.references.into());
        sample.extend(answers.label.map(|label| ("label".to_owned(), Value::from(label))));
        metadata
            .extend(answers.correct_choice.map(|label| ("correct_choice".to_owned(), Value::from(label))));
        add_rest(&mut sample, row, metadata);
        Ok(Converted::Sample(Value::Object(sample)))
    }
}

/// What the answer fields of a row become.
#[derive(Default)]
struct Answers {
    references: Vec<Value>,
    label: Option<String>,
    correct_choice: Option<String>,
}

impl DefaultRows {
    /// The messages of a row, or a message with its question.
    fn messages(&self, row: &mut Fields) -> Result<Vec<Value>, PluginError> {
        let mut messages: Vec<Value> = match take(row, "messages") {
            Some(Value::Array(messages)) if !messages.is_empty() => {
                messages.into_iter().map(with_parts).collect()
            }
            Some(_) => return Err(unusable("messages", "must be a list of messages")),
            None => vec![message("user", self.take_question(row)?)],
        };
        if let Some(instruction) = self.params.instruction.as_deref().filter(|text| !text.is_empty()) {
            append_instruction(&mut messages, instruction);
        }
        let has_system = messages.first().is_some_and(|first| first["role"] == "system");
        if let Some(system_prompt) = self.params.system_prompt.as_deref().filter(|text| !text.is_empty())
            && !has_system
        {
            messages.insert(0, message("system", system_prompt));
        }
        Ok(messages)
    }

    fn take_question(&self, row: &mut Fields) -> Result<String, PluginError> {
        let name = match &self.params.question_field {
            Some(name) => name.as_str(),
            None => QUESTION_FIELDS.into_iter().find(|name| find(row, name).is_some()).unwrap_or("question"),
        };
        let question = strip(&fields::require_text(row, name)?).to_owned();
        row.shift_remove(name);
        Ok(question)
    }

    /// The references and the label of a row. An answer that names one of the options becomes its
    /// label; any other answer stays what it is.
    fn answers(&self, row: &mut Fields, options: Option<&[Choice]>) -> Result<Answers, PluginError> {
        let label = take(row, "label");
        let answer = match &self.params.answer_field {
            Some(name) => Some(take(row, name).map_or_else(|| fields::require(row, name).cloned(), Ok)?),
            None => take(row, "answer"),
        };
        let chosen = |value: &Option<Value>| {
            let option = options::resolve(value.as_ref()?, options?, 0)?;
            Some(option.label.clone())
        };
        let correct_choice = chosen(&answer).or_else(|| chosen(&label));
        let listed: Vec<Value> = match take(row, "references") {
            Some(Value::Array(references)) => references.into_iter().map(as_reference).collect(),
            Some(single) => vec![as_reference(single)],
            None => Vec::new(),
        };
        let references = match (&correct_choice, answer.as_ref().or(label.as_ref())) {
            _ if !listed.is_empty() => listed,
            (Some(choice), _) => vec![reference(choice)],
            (None, Some(Value::Array(answers))) => answers.iter().cloned().map(as_reference).collect(),
            (None, Some(answer)) => vec![as_reference(answer.clone())],
            (None, None) => Vec::new(),
        };
        let label = correct_choice
            .clone()
            .or_else(|| label.as_ref().and_then(text).map(|label| label.into_owned()))
            .or_else(|| references.first().and_then(reference_text));
        Ok(Answers { references, label, correct_choice })
    }
}

/// Takes a field that is there and not null.
fn take(row: &mut Fields, name: &str) -> Option<Value> {
    row.shift_remove(name).filter(|value| !value.is_null())
}

/// Takes the options, under either name. `choices` in another shape, as older programs write them for
/// the model's answers, are not options and stay in the row.
fn take_options(row: &mut Fields) -> Result<Option<Vec<Choice>>, PluginError> {
    if let Some(options) = take(row, "options") {
        return options::read(&options, Labels::Own).map(Some).map_err(|why| unusable("options", &why));
    }
    let choices = row.get("choices").filter(|choices| choices.is_array() || choices.is_object());
    let options = choices.and_then(|choices| options::read(choices, Labels::Letters).ok());
    if options.is_some() {
        row.shift_remove("choices");
    }
    Ok(options)
}

/// A message whose content is a list of parts.
fn with_parts(mut message: Value) -> Value {
    if let Some(Value::String(content)) = message.get_mut("content") {
        let part = text_part(std::mem::take(content));
        message["content"] = json!([part]);
    }
    message
}

/// Adds an instruction behind the text of the last user message.
fn append_instruction(messages: &mut [Value], instruction: &str) {
    let last_user = messages.iter_mut().rev().find(|message| message["role"] == "user");
    let Some(Value::Array(parts)) = last_user.and_then(|message| message.get_mut("content")) else { return };
    match parts.last_mut().and_then(|part| part.get_mut("text")) {
        Some(Value::String(text)) => {
            text.push_str("\n\n");
            text.push_str(instruction);
        }
        _ => parts.push(text_part(instruction)),
    }
}

/// A reference in its standard form. What is no text and has no `answer` is kept as it is.
fn as_reference(value: Value) -> Value {
    if let Some(text) = text(&value) {
        return reference(&text);
    }
    match value {
        Value::Object(mut members) => {
            if let Some(answer) = members.get("answer").and_then(text).map(|answer| answer.into_owned()) {
                members.insert("answer".to_owned(), json!([text_part(answer)]));
            }
            Value::Object(members)
        }
        other => other,
    }
}

/// The text of a reference in its standard form.
fn reference_text(reference: &Value) -> Option<String> {
    reference.pointer("/answer/0/text")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(params: Value, body: Value) -> Result<Value, PluginError> {
        let Value::Object(body) = body else { panic!("a row is an object") };
        match DefaultRows::prepare(params)?.convert(Row { dataset: "d".to_owned(), index: 0, body })? {
            Converted::Sample(sample) => Ok(sample),
            Converted::Skip(reason) => panic!("nothing is skipped: {reason}"),
        }
    }

    #[test]
    fn older_fields_find_their_place() {
        let row = json!({ "id": "x", "prompt": "2+2?\n", "answer": 4, "question_type": "short-answer", "level": 1 });
        let expected = json!({
            "schema_version": "v1",
            "id": "x",
            "task_type": "short-answer",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "2+2?" }] }],
            "references": [{ "answer": [{ "type": "text", "text": "4" }] }],
            "label": "4",
            "metadata": { "level": 1 },
        });
        assert_eq!(convert(json!({}), row), Ok(expected));
    }

    #[test]
    fn samples_pass() {
        let sample = json!({
            "schema_version": "v1",
            "id": "mc_0001",
            "task_type": "multiple-choice",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Which one is a mammal?" }] }],
            "options": [{ "id": "A", "content": "Shark" }, { "id": "B", "content": "Dolphin" }],
            "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
            "label": "B",
            "tools": [],
            "metadata": { "option_map": { "A": "Shark", "B": "Dolphin" }, "correct_choice": "B" },
        });
        assert_eq!(convert(json!({}), sample.clone()), Ok(sample));
    }

    #[test]
    fn answers_become_choices() {
        let row = json!({ "question": "q", "choices": ["x", "y"], "answer": "y", "predict_result": [] });
        let sample = convert(json!({}), row).unwrap_or_default();
        assert_eq!(sample["label"], "B");
        assert_eq!(
            sample["metadata"],
            json!({ "predict_result": [], "option_map": { "A": "x", "B": "y" }, "correct_choice": "B" })
        );
        let odd =
            json!({ "question": "q", "choices": [{ "index": 0, "message": {} }], "answer": ["a", "b"] });
        let sample = convert(json!({}), odd).unwrap_or_default();
        assert_eq!(sample["references"][1]["answer"][0]["text"], "b");
        assert_eq!(sample["label"], "a");
        assert!(sample["metadata"]["choices"].is_array());
    }

    #[test]
    fn prompts_can_be_added_to() {
        let params = json!({ "system_prompt": "Be brief.", "instruction": "Go.", "question_field": "a.b" });
        let sample = convert(params, json!({ "a": { "b": "q" } })).unwrap_or_default();
        assert_eq!(sample["messages"][0]["content"][0]["text"], "Be brief.");
        assert_eq!(sample["messages"][1]["content"][0]["text"], "q\n\nGo.");
        let params = json!({ "instruction": "Go." });
        let row = json!({ "messages": [{ "role": "user", "content": "q" }] });
        let sample = convert(params, row).unwrap_or_default();
        assert_eq!(sample["messages"][0]["content"][0]["text"], "q\n\nGo.");
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (params, row, expected) in [
            (json!({}), json!({ "answer": "a" }), "/question"),
            (json!({}), json!({ "messages": "q" }), "/messages"),
            (json!({}), json!({ "question": "q", "options": [] }), "/options"),
            (json!({ "answer_field": "a.b" }), json!({ "question": "q" }), "/a/b"),
        ] {
            let pointer = convert(params, row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
    }
}
