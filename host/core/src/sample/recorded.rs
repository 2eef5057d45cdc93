//! Samples of records, which leave out what follows from other members.

use super::derived::{CORRECT_CHOICE, OF_OPTIONS, OPTION_MAP, choice};
use crate::schema::SCHEMA_VERSION;
use crate::{LazyJson, Object};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::OnceLock;

/// Members of a Sample in their order, as far as the place of restored members depends on it.
const BEFORE_REFERENCES: [&str; 5] = ["schema_version", "id", "task_type", "messages", "options"];
/// Members before which `metadata` comes.
const AFTER_METADATA: [&str; 20] = [
    "data_tag",
    "raw_assets",
    "tools",
    "tool_choice",
    "sampling_params",
    "generation_params",
    "eval_config",
    "unconditioned_input",
    "predict_result",
    "eval_result",
    "choices",
    "inputs",
    "_dataset_id",
    "_dataset_metadata",
    "chat_template_mode",
    "rendered_by",
    "template_source",
    "cache_suffix",
    "_tokenizer_path",
    "_media_meta",
];

/// A Sample of a record, or null. The first access to its content parses the text and restores what the recorded form
/// leaves out.
#[derive(Clone, Debug, Default)]
pub struct RecordedSample {
    pub(crate) recorded: LazyJson,
    full: OnceLock<Box<Value>>,
}

impl RecordedSample {
    /// Returns whether there is no Sample. Parses nothing.
    pub fn is_null(&self) -> bool {
        self.recorded.is_null()
    }

    /// Returns the recorded form, unless it is nested too deep to have a text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.recorded.text()
    }

    /// Returns the whole Sample.
    pub fn into_value(mut self) -> Value {
        match self.full.take() {
            Some(value) => *value,
            None => restored(self.recorded.into_value()),
        }
    }
}

impl Deref for RecordedSample {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.full.get_or_init(|| Box::new(restored(self.recorded.clone().into_value())))
    }
}

impl From<Value> for RecordedSample {
    fn from(value: Value) -> RecordedSample {
        let value = compact(value);
        // As text, so that it is the same whether or not it was read back. A value that is nested too deep has none.
        let recorded = LazyJson::from_text(value.to_string()).unwrap_or_else(|_| value.into());
        RecordedSample { recorded, full: OnceLock::new() }
    }
}

impl From<LazyJson> for RecordedSample {
    /// Keeps the recorded form of a Sample.
    fn from(recorded: LazyJson) -> RecordedSample {
        RecordedSample { recorded, full: OnceLock::new() }
    }
}

impl PartialEq for RecordedSample {
    fn eq(&self, other: &RecordedSample) -> bool {
        **self == **other
    }
}

impl Serialize for RecordedSample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.recorded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedSample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordedSample, D::Error> {
        Ok(RecordedSample { recorded: LazyJson::deserialize(deserializer)?, full: OnceLock::new() })
    }
}

/// Removes from a Sample what [`restored`] adds.
pub(crate) fn compact(mut sample: Value) -> Value {
    let Some(members) = sample.as_object_mut() else { return sample };
    if members.get("schema_version").is_some_and(|version| version == SCHEMA_VERSION) {
        members.shift_remove("schema_version");
    }
    if let Some(Value::Array(messages)) = members.get_mut("messages") {
        messages.iter_mut().for_each(shorten_content);
    }
    let derived = DerivedValues::of(members);
    let is_implied = |key: &str, value: &Option<Value>| value.is_some() && members.get(key) == value.as_ref();
    let (has_choices, has_references) = (
        is_implied("choices", &derived.choices),
        is_implied("references", &Some(implied_references(members))),
    );
    if has_choices && let Some(choices) = members.get_mut("choices") {
        *choices = OF_OPTIONS.into();
    }
    if has_references {
        members.shift_remove("references");
    }
    if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
        for (key, value) in derived.metadata {
            if metadata.get(key) == Some(&value) {
                metadata.shift_remove(key);
            }
        }
        if metadata.is_empty() {
            members.shift_remove("metadata");
        }
    }
    sample
}

/// Adds what the recorded form of a Sample leaves out.
fn restored(mut sample: Value) -> Value {
    let Some(members) = sample.as_object_mut() else { return sample };
    if !members.contains_key("schema_version") {
        members.shift_insert(0, "schema_version".to_owned(), SCHEMA_VERSION.into());
    }
    if !members.contains_key("references") {
        let references = implied_references(members);
        let place = members.keys().take_while(|key| BEFORE_REFERENCES.contains(&key.as_str())).count();
        members.shift_insert(place, "references".to_owned(), references);
    }
    if let Some(Value::Array(messages)) = members.get_mut("messages") {
        messages.iter_mut().for_each(restore_content);
    }
    add_derived(members);
    sample
}

/// Replaces the content of a message by its text, if it is a single part of text.
fn shorten_content(message: &mut Value) {
    let Some(content) = message.get_mut("content") else { return };
    let Some([Value::Object(part)]) = content.as_array_mut().map(Vec::as_mut_slice) else { return };
    if part.len() == 2
        && part.get("type").is_some_and(|name| name == "text")
        && let Some(text @ Value::String(_)) = part.get_mut("text")
    {
        *content = text.take();
    }
}

/// Replaces the content of a message by a part of text, if it is a text.
fn restore_content(message: &mut Value) {
    if let Some(content @ Value::String(_)) = message.get_mut("content") {
        let text = content.take();
        *content = json!([{ "type": "text", "text": text }]);
    }
}

/// Adds to a Sample what follows from its options and its label, unless it says something else itself.
pub fn add_derived(members: &mut Object) {
    let derived = DerivedValues::of(members);
    let absent: Vec<_> =
        derived.metadata.into_iter().filter(|(key, _)| !has(members, "metadata", key)).collect();
    if !absent.is_empty() {
        if !members.contains_key("metadata") {
            insert_metadata(members);
        }
        if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
            metadata.extend(absent.into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
    }
    if members.get("choices").is_some_and(|choices| choices == OF_OPTIONS) {
        match derived.choices {
            Some(derived) => members.insert("choices".to_owned(), derived),
            None => members.shift_remove("choices"),
        };
    }
}

fn has(members: &Object, key: &str, inner: &str) -> bool {
    members.get(key).is_some_and(|value| value.get(inner).is_some())
}

/// Inserts empty `metadata` in its place.
fn insert_metadata(members: &mut Object) {
    let is_before = |key: &str| {
        BEFORE_REFERENCES.contains(&key)
            || ["references", "label", "few_shot_examples", "golden_trajectories", "sandbox"].contains(&key)
    };
    // Unknown members come last.
    let after = members.keys().position(|key| AFTER_METADATA.contains(&key.as_str()) || !is_before(key));
    members.shift_insert(after.unwrap_or(members.len()), "metadata".to_owned(), Value::Object(Object::new()));
}

/// What follows from the options and the label of a Sample.
struct DerivedValues {
    choices: Option<Value>,
    metadata: Vec<(&'static str, Value)>,
}

impl DerivedValues {
    fn of(members: &Object) -> DerivedValues {
        let options = members.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let parts = |option: &Value| {
            Some((option.get("id")?.as_str()?.to_owned(), option.get("content")?.as_str()?.to_owned()))
        };
        let Some(texts) = options.iter().map(parts).collect::<Option<Vec<(String, String)>>>() else {
            return DerivedValues { choices: None, metadata: Vec::new() };
        };
        if texts.is_empty() {
            return DerivedValues { choices: None, metadata: Vec::new() };
        }
        let choices = texts.iter().enumerate().map(|(index, (_, text))| choice(index, text));
        let choices = Some(choices.collect());
        let mut metadata = Vec::new();
        let implied = implied_references(members);
        let label = members.get("label").and_then(Value::as_str);
        if let Some(label) = label
            && texts.iter().any(|(id, _)| id == label)
            && is_single_text(members.get("references").unwrap_or(&implied), label)
        {
            metadata.push((CORRECT_CHOICE, label.into()));
        }
        let map: Object = texts.into_iter().map(|(id, text)| (id, text.into())).collect();
        metadata.insert(0, (OPTION_MAP, map.into()));
        DerivedValues { choices, metadata }
    }
}

/// Returns the references of a Sample that has none of its own in its record.
fn implied_references(members: &Object) -> Value {
    match members.get("label").and_then(Value::as_str) {
        Some(label) => json!([{ "answer": [{ "type": "text", "text": label }] }]),
        None => json!([]),
    }
}

/// Returns whether references are a single text, which is this one.
fn is_single_text(references: &Value, text: &str) -> bool {
    let Some([reference]) = references.as_array().map(Vec::as_slice) else { return false };
    reference.get("answer") == Some(&json!([{ "type": "text", "text": text }]))
}
