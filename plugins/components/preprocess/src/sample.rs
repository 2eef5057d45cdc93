//! Writers of Samples.

use gage_row_kit::fields::{Fields, object, text};
use gage_sdk::serde_json::Value;

/// Version of the Sample that is written here.
pub(crate) const SCHEMA_VERSION: &str = "v1";

/// Sample fields that a row may contain and that no code here makes.
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

/// Fields with a meaning only in a row that is already a Sample: in others, `inputs` may be anything.
const RUNTIME: [&str; 9] = [
    "inputs",
    "chat_template_mode",
    "rendered_by",
    "template_source",
    "cache_suffix",
    "_tokenizer_path",
    "_dataset_id",
    "_dataset_metadata",
    "_media_meta",
];

/// Results of an earlier run: a metric must not mistake them for results of this one.
const OF_EARLIER_RUNS: [&str; 2] = ["predict_result", "eval_result"];

/// Similarity of a row to a Sample, which decides the place of unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A raw row: unknown fields go to `metadata`.
    Raw,
    /// A row with `messages`, as older programs write Samples: unknown fields go to `metadata`, but runtime fields
    /// stay.
    Conversation,
    /// A Sample, recognized by its `schema_version`: all fields stay in place.
    Sample,
}

impl Origin {
    /// Returns the origin of a row.
    pub(crate) fn of(row: &Fields) -> Origin {
        Origin::told_by(|name| row.contains_key(name))
    }

    /// Returns the origin of a row that `has` these names.
    pub(crate) fn told_by(has: impl Fn(&str) -> bool) -> Origin {
        if has("schema_version") {
            Origin::Sample
        } else if has("messages") {
            Origin::Conversation
        } else {
            Origin::Raw
        }
    }
}

/// Returns a text message.
pub(crate) fn message(role: &str, text: impl Into<String>) -> Value {
    object([("role", role.into()), ("content", Value::Array(vec![text_part(text)]))])
}

/// Returns a text part of a message or a reference.
pub(crate) fn text_part(text: impl Into<String>) -> Value {
    let text: String = text.into();
    object([("type", "text".into()), ("text", text.into())])
}

/// Returns a text reference.
pub(crate) fn reference(text: impl Into<String>) -> Value {
    object([("answer", Value::Array(vec![text_part(text)]))])
}

/// Parts of a Sample before the rest of its row is added.
pub(crate) struct Draft {
    pub(crate) task_type: &'static str,
    pub(crate) messages: Vec<Value>,
    pub(crate) options: Option<Value>,
    pub(crate) references: Vec<Value>,
    pub(crate) label: Option<String>,
    pub(crate) choices: Option<Value>,
    pub(crate) metadata: Fields,
    /// Fields of `metadata` that follow from others, so that those of the row do not count.
    pub(crate) implied: &'static [&'static str],
}

impl Draft {
    /// Returns the Sample: the draft, the `id` of the row, and its other fields. Those go to their place in the Sample
    /// if it has one, otherwise into `metadata`. Fields in `used` are dropped.
    pub(crate) fn finish(self, mut row: Fields, used: &[&str]) -> Value {
        // Unknown fields go to `metadata` even if the row is a Sample: its own question and answer must not appear next
        // to those made here.
        let origin = match Origin::of(&row) {
            Origin::Raw => Origin::Raw,
            Origin::Conversation | Origin::Sample => Origin::Conversation,
        };
        for name in used {
            row.shift_remove(*name);
        }
        row.shift_remove("schema_version");
        let fields = [
            ("schema_version", Some(SCHEMA_VERSION.into())),
            ("id", row.shift_remove("id").and_then(into_id)),
            ("task_type", Some(self.task_type.into())),
            ("messages", Some(self.messages.into())),
            ("options", self.options),
            ("references", Some(self.references.into())),
            ("label", self.label.map(Value::from)),
            ("choices", self.choices),
        ];
        let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut sample: Fields = present.collect();
        let mut metadata = take_metadata(row.shift_remove("metadata"));
        add_rest(&mut sample, &mut metadata, row, origin);
        for name in self.implied {
            metadata.shift_remove(*name);
        }
        metadata.extend(self.metadata);
        sample.insert("metadata".to_owned(), metadata.into());
        Value::Object(sample)
    }
}

/// Returns the `id` of a row as text; `None` if the host should assign one. An invalid id stays, and the host reports
/// it.
pub(crate) fn into_id(id: Value) -> Option<Value> {
    match id {
        Value::String(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Some(id),
        other => text(&other).map(|id| Value::from(id.into_owned())),
    }
}

/// Returns the `metadata` of a row. A value that is not an object is kept under its own name.
pub(crate) fn take_metadata(metadata: Option<Value>) -> Fields {
    match metadata {
        Some(Value::Object(metadata)) => metadata,
        Some(Value::Null) | None => Fields::new(),
        Some(other) => Fields::from_iter([("metadata".to_owned(), other)]),
    }
}

/// Adds the remaining fields of a row, each in its place.
pub(crate) fn add_rest(
    sample: &mut Fields,
    metadata: &mut Fields,
    rest: impl IntoIterator<Item = (String, Value)>,
    origin: Origin,
) {
    for (name, value) in rest {
        if is_of_sample(&name, value.is_object(), origin) {
            sample.insert(name, value);
        } else {
            metadata.entry(name).or_insert(value);
        }
    }
}

/// Adds a label for slicing results to a row, unless it has one of that name.
pub(crate) fn tag(row: &mut Fields, name: &str, value: String) {
    let tags = row.entry("data_tag").or_insert(Value::Null);
    if tags.is_null() {
        *tags = Fields::new().into();
    }
    if let Value::Object(tags) = tags {
        tags.entry(name).or_insert(value.into());
    }
}

/// Keeps large values that are in no message at their place in the Sample.
pub(crate) fn keep_assets(sample: &mut Fields, metadata: &mut Fields, assets: Fields) {
    if assets.is_empty() {
        return;
    }
    match sample.entry("raw_assets").or_insert_with(|| Fields::new().into()) {
        Value::Object(there) => {
            for (name, value) in assets {
                there.entry(name).or_insert(value);
            }
        }
        _ => metadata.extend(assets),
    }
}

/// Returns whether a field that no code here makes belongs to the Sample itself, not to its `metadata`.
pub(crate) fn is_of_sample(name: &str, is_object: bool, origin: Origin) -> bool {
    if OF_EARLIER_RUNS.contains(&name) {
        return false;
    }
    match origin {
        Origin::Sample => true,
        Origin::Conversation if name == "inputs" => is_object,
        Origin::Conversation => PASSED_ON.contains(&name) || RUNTIME.contains(&name),
        Origin::Raw => PASSED_ON.contains(&name),
    }
}
