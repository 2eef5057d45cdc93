//! Writing Samples.

use crate::fields::{Fields, text};
use gage_sdk::json;
use gage_sdk::serde_json::Value;

/// The version of the Sample that is written here.
pub(crate) const SCHEMA_VERSION: &str = "v1";

/// Fields of the Sample that a row may bring along and that nothing here makes.
///
/// `predict_result` and `eval_result` are not among them: in a row they are what an earlier run left
/// behind, and a metric must not take them for the answer of this one.
const PASSED_ON: [&str; 11] = [
    "few_shot_examples",
    "golden_trajectories",
    "sandbox",
    "raw_assets",
    "tools",
    "tool_choice",
    "sampling_params",
    "generation_params",
    "eval_config",
    "unconditioned_input",
    "data_tag",
];

/// A message of text.
pub(crate) fn message(role: &str, text: impl Into<String>) -> Value {
    json!({ "role": role, "content": [text_part(text)] })
}

/// A piece of text in a message or a reference.
pub(crate) fn text_part(text: impl Into<String>) -> Value {
    let text: String = text.into();
    json!({ "type": "text", "text": text })
}

/// A reference of text.
pub(crate) fn reference(text: &str) -> Value {
    json!({ "answer": [text_part(text)] })
}

/// What is known of a Sample before the rest of its row is added.
pub(crate) struct Draft {
    pub(crate) task_type: &'static str,
    pub(crate) messages: Vec<Value>,
    pub(crate) options: Option<Value>,
    pub(crate) references: Vec<Value>,
    pub(crate) label: Option<String>,
    pub(crate) metadata: Fields,
}

impl Draft {
    /// The Sample: the draft, the `id` of the row, and its other fields, which go where the Sample has
    /// a place for them and otherwise into `metadata`. Fields that were `used` are left out.
    pub(crate) fn finish(self, mut row: Fields, used: &[&str]) -> Value {
        for name in used {
            row.shift_remove(*name);
        }
        row.shift_remove("schema_version");
        let mut sample = Fields::new();
        sample.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
        if let Some(id) = take_id(&mut row) {
            sample.insert("id".to_owned(), id);
        }
        sample.insert("task_type".to_owned(), self.task_type.into());
        sample.insert("messages".to_owned(), self.messages.into());
        if let Some(options) = self.options {
            sample.insert("options".to_owned(), options);
        }
        sample.insert("references".to_owned(), self.references.into());
        if let Some(label) = self.label {
            sample.insert("label".to_owned(), label.into());
        }
        add_rest(&mut sample, row, self.metadata);
        Value::Object(sample)
    }
}

/// Takes the `id` of a row, as text; none where the host is to give one.
pub(crate) fn take_id(row: &mut Fields) -> Option<Value> {
    let id = row.shift_remove("id")?;
    text(&id).map(|id| Value::from(id.into_owned()))
}

/// Adds what a row still holds to a Sample, and its metadata, in which ours wins.
pub(crate) fn add_rest(sample: &mut Fields, mut row: Fields, ours: Fields) {
    let mut metadata = match row.shift_remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        Some(Value::Null) | None => Fields::new(),
        Some(other) => Fields::from_iter([("metadata".to_owned(), other)]),
    };
    for (name, value) in row {
        if PASSED_ON.contains(&name.as_str()) {
            sample.insert(name, value);
        } else {
            metadata.entry(name).or_insert(value);
        }
    }
    metadata.extend(ours);
    sample.insert("metadata".to_owned(), metadata.into());
}
