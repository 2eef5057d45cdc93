//! The readers and the writer of a Sample, compared with serde_json: the same value, or the same rejection.

use crate::fuzz_input::FuzzInput;
use crate::json_text::{Json, damaged, damages, json, style};
use crate::{Target, Verdict};
use gage_core::{Sample, is_nested_deeper, json_depth};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// The readers of a Sample.
pub const TARGET: Target = Target { name: "sample_readers", cases: 2_000, seeds, inputs, check };

fn seeds() -> Vec<Vec<u8>> {
    let sample =
        r#"{"schema_version":"v1","id":"a","messages":[{"role":"user","content":"q"}],"references":[]}"#;
    vec![sample.into()]
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    texts().prop_map(|text| FuzzInput(text.into_bytes())).boxed()
}

/// Names of members at any depth of a Sample.
const NAMES: &[&str] = &[
    "schema_version",
    "id",
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
    "tokenizer_path",
    "_media_meta",
    "role",
    "content",
    "type",
    "text",
    "answer",
    "name",
    "tool_calls",
    "image_url",
    "url",
    "other",
    "é",
];

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn member(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

/// Generates a list with one text part.
fn parts() -> impl Strategy<Value = Json> {
    ".{0,8}".prop_map(|content: String| {
        Json::List(vec![Json::Object(vec![
            member("type", text("text")),
            member("text", Json::Text(content)),
        ])])
    })
}

/// Generates members of any name and value, usually none: most make a Sample invalid.
fn extra_members(most: usize) -> impl Strategy<Value = Vec<(&'static str, Json)>> {
    prop_oneof![3 => Just(Vec::new()), 1 => vec((select(NAMES), json(NAMES)), 1..=most)]
}

/// Generates a message, usually a valid one.
fn message() -> impl Strategy<Value = Json> {
    let role =
        prop_oneof![8 => Just("user"), 4 => Just("assistant"), 1 => select(vec!["system", "tool", "nobody"])];
    (role, parts(), extra_members(1)).prop_map(|(role, content, extra)| {
        let mut members = vec![member("role", text(role)), member("content", content)];
        members.extend(extra.into_iter().map(|(name, value)| member(name, value)));
        Json::Object(members)
    })
}

/// Generates a valid Sample of texts, followed by any members, so that most generated texts pass the first checks.
fn sample() -> impl Strategy<Value = Json> {
    let options = prop_oneof![Just(Vec::new()), vec(parts(), 1..4)];
    let id = prop_oneof![4 => Just("row-1".to_owned()), 1 => ".{0,6}"];
    let extra = extra_members(4);
    (id, vec(message(), 1..3), options, parts(), extra).prop_map(|(id, messages, options, answer, extra)| {
        let option = |(place, _): (usize, Json)| {
            let label = char::from(b'A' + u8::try_from(place).unwrap_or_default()).to_string();
            Json::Object(vec![member("id", Json::Text(label.clone())), member("content", Json::Text(label))])
        };
        let mut members = vec![
            member("schema_version", text("v1")),
            member("id", Json::Text(id)),
            member("messages", Json::List(messages)),
            member("options", Json::List(options.into_iter().enumerate().map(option).collect())),
            member("references", Json::List(vec![Json::Object(vec![member("answer", answer)])])),
        ];
        members.extend(extra.into_iter().map(|(name, value)| member(name, value)));
        Json::Object(members)
    })
}

/// Generates texts that are, resemble or once were a Sample.
pub fn texts() -> impl Strategy<Value = String> {
    let document = prop_oneof![4 => sample(), 1 => json(NAMES)];
    (document, style(), damages())
        .prop_map(|(document, style, damages)| damaged(&document.write(style), &damages))
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    compare(text).map(|()| Verdict::of(&Sample::from_text(text)))
}

/// Compares all readers of a Sample, and the writer, on a text.
fn compare(text: &str) -> Result<(), String> {
    let parsed: Result<Value, _> = serde_json::from_str(text);
    let expected = match &parsed {
        Ok(value) => Sample::from_value(value.clone()).map_err(Some),
        Err(_) => Err(None),
    };
    let read = Sample::from_text(text);
    match (&read, &expected) {
        (Ok(read), Ok(expected)) if **read == *expected => {}
        (Err(_), Err(None)) => {}
        (Err(read), Err(Some(expected))) if read == expected => {}
        _ => return Err(format!("from_text gives {read:?}, from_value {expected:?}")),
    }
    if let Ok(value) = &parsed {
        check_depth(text, value)?;
    }
    match expected {
        Ok(sample) => check_writer(&sample),
        Err(_) => Ok(()),
    }
}

/// Checks that the depth in a text is the one of its value, unless a repeated member hides a deeper one.
fn check_depth(text: &str, value: &Value) -> Result<(), String> {
    let depth = json_depth(value);
    if depth > 0 && !is_nested_deeper(text.as_bytes(), depth - 1) {
        return Err(format!("is_nested_deeper finds less than a depth of {depth}"));
    }
    Ok(())
}

/// Checks that the writer's output equals that of serde_json, and is read back as the same Sample.
fn check_writer(sample: &Sample) -> Result<(), String> {
    let written = serde_json::to_string(sample).map_err(|error| format!("it cannot be written: {error}"))?;
    let value = sample.to_value();
    if serde_json::from_str::<Value>(&written).ok().as_ref() != Some(&value) {
        return Err(format!("written {written}, and its value is {value}"));
    }
    match Sample::from_text(&written) {
        Ok(again) if again.to_value() == value => Ok(()),
        again => Err(format!("written {written}, and read again as {again:?}")),
    }
}
