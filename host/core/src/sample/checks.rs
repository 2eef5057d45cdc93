//! Checks of fields beyond their types, as their users need them: sample ids in a journal, tools for a
//! server, tags for a report, files for a sandbox.

use super::FewShotExample;
use crate::Object;
use crate::content::{Message, Role};
use crate::json_decode::FieldReader;
use crate::json_decode::values::{DEFAULT_MAX_JSON_VALUES, has_more_values};
use crate::schema::SCHEMA_VERSION;
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;
use std::collections::BTreeSet;

/// Maximum length of the id of a sample or option, in bytes.
const MAX_ID_BYTES: usize = 512;

/// Allowed strings for `tool_choice`; `any` is some servers' name for `required`.
const TOOL_CHOICES: [&str; 4] = ["auto", "none", "required", "any"];

pub(super) fn schema_version(value: &BorrowedValue<'_>, reading: &mut FieldReader<'_>) {
    match value {
        BorrowedValue::Str(version) if version == SCHEMA_VERSION => {}
        BorrowedValue::Str(other) => reading.problem(format!("expected '{SCHEMA_VERSION}', found '{other}'")),
        BorrowedValue::Null => reading.problem(format!("expected '{SCHEMA_VERSION}', found nothing")),
        other => reading.mistyped("a string", &other.into()),
    }
}

/// Ids appear in file names, logs, tables and prompts.
pub(super) fn id(id: &str, reading: &mut FieldReader<'_>) {
    if id.trim().is_empty() {
        reading.problem("expected a string that is not empty");
    }
    if let Some(control) = id.chars().find(|character| character.is_control()) {
        reading.problem(format!(
            "the id contains the control character U+{:04X}; allowed: text without line breaks, tabs and the like",
            u32::from(control)
        ));
    }
    if id.len() > MAX_ID_BYTES {
        reading.problem(format!("the id is {} bytes long; allowed: {MAX_ID_BYTES} at most", id.len()));
    }
}

/// Checks that option ids are distinct, since answers refer to them. A missing id is reported separately.
pub(super) fn distinct_option_ids<'v>(
    ids: impl Iterator<Item = Option<&'v str>>,
    reading: &mut FieldReader<'_>,
) {
    let mut earlier = BTreeSet::new();
    for (index, id) in ids.enumerate() {
        if let Some(id) = id
            && !earlier.insert(id)
        {
            let mut reading = reading.index(index);
            reading
                .key("id")
                .problem(format!("the id '{id}' occurs twice; each option needs an id of its own"));
        }
    }
}

pub(super) fn tool_choice(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Value> {
    match value {
        BorrowedValue::Null => None,
        BorrowedValue::Str(word) if !TOOL_CHOICES.contains(&&*word) => {
            reading.problem(format!(
                "'{word}' is not a tool choice; allowed: {}, or an object that names a function",
                TOOL_CHOICES.map(|word| format!("'{word}'")).join(", ")
            ));
            None
        }
        // Some servers' name for it.
        BorrowedValue::Str(word) if &*word == "any" => Some("required".into()),
        BorrowedValue::Str(_) | BorrowedValue::Object(_) => Some(value.into()),
        other => reading.reject("a string or an object", &other),
    }
}

/// Checks that the arguments of the calls of a trajectory are JSON, and that each result belongs to an earlier call.
pub(super) fn trajectory(messages: &[Message], reading: &mut FieldReader<'_>) {
    let mut called: BTreeSet<&str> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        for (number, call) in message.tool_calls.iter().enumerate() {
            called.extend(call.get("id").and_then(Value::as_str));
            let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
            if let Some(problem) = arguments.and_then(problem_of_arguments) {
                let mut reading = reading.index(index);
                let mut reading = reading.key("tool_calls");
                let mut reading = reading.index(number);
                let mut reading = reading.key("function");
                reading.key("arguments").problem(problem);
            }
        }
        let answered = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool);
        // The call may be in the messages of the Sample, before the trajectory.
        if let Some(id) = answered.filter(|id| !called.is_empty() && !called.contains(id)) {
            let mut reading = reading.index(index);
            reading
                .key("tool_call_id")
                .problem(format!("no earlier message of the trajectory calls a tool with the id '{id}'"));
        }
    }
}

/// Returns the problem of the arguments of a call; empty ones are allowed.
fn problem_of_arguments(text: &str) -> Option<String> {
    if has_more_values(text.as_bytes(), DEFAULT_MAX_JSON_VALUES) {
        return Some(format!("the arguments have more than {DEFAULT_MAX_JSON_VALUES} JSON values"));
    }
    let is_json = text.trim().is_empty() || serde_json::from_str::<Value>(text).is_ok();
    (!is_json).then(|| "the arguments are not JSON".to_owned())
}

/// Checks that tools have distinct names, and that the choice among them is possible.
pub(super) fn tools(tools: &[Value], choice: Option<&Value>, reading: &mut FieldReader<'_>) {
    let name_of = |tool: &'_ Value| tool.pointer("/function/name").and_then(Value::as_str).map(str::to_owned);
    let mut names = BTreeSet::new();
    for (index, name) in tools.iter().map(name_of).enumerate() {
        if let Some(name) = name
            && !names.insert(name.clone())
        {
            let mut reading = reading.key("tools");
            let message =
                format!("the function '{name}' is defined twice; each tool needs a name of its own");
            reading.index(index).key("function").key("name").problem(message);
        }
    }
    let mut reading = reading.key("tool_choice");
    match choice {
        Some(Value::String(word)) if tools.is_empty() && word != "none" && word != "auto" => {
            reading.problem(format!("'{word}' needs `tools`, and there are none"));
        }
        Some(Value::Object(choice)) => {
            let named =
                choice.get("function").and_then(|function| function.get("name")).and_then(Value::as_str);
            match named {
                Some(name) if names.contains(name) => {}
                Some(name) => {
                    let known: Vec<&str> = names.iter().map(String::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    reading.problem(format!("there is no tool '{name}'; expected one of: {known}"));
                }
                // Some servers write the words as objects.
                None if choice.get("type").and_then(Value::as_str).is_some_and(|word| TOOL_CHOICES.contains(&word)) => {}
                None => reading.problem(
                    "the choice names no function; write {\"type\": \"function\", \"function\": {\"name\": …}}",
                ),
            }
        }
        _ => {}
    }
}

/// Checks unknown keys. One that resembles a known key is most likely a typo of it, unless that is present too.
pub(super) fn unknown_keys<'k>(
    unknown: impl IntoIterator<Item = &'k String>,
    known: &[&str],
    is_present: impl Fn(&str) -> bool,
    reading: &mut FieldReader<'_>,
) {
    for key in unknown {
        let meant = crate::nearest(key, known.iter().copied().filter(|known| known.len() > 4));
        if let Some(meant) = meant.filter(|meant| !is_present(meant)) {
            let message =
                format!("unknown field; did you mean '{meant}'? Put fields of your own into 'metadata'");
            reading.key(key).problem(message);
        }
    }
}

/// Checks the prompt, which is sent to models.
pub(super) fn inputs(inputs: Object, reading: &mut FieldReader<'_>) -> Object {
    match inputs.get("prompt") {
        None | Some(Value::Null | Value::String(_)) => {}
        Some(other) => reading.key("prompt").mistyped("a string", other),
    }
    inputs
}

pub(super) fn unconditioned_input(value: BorrowedValue<'_>, reading: &mut FieldReader<'_>) -> Option<Value> {
    match value {
        BorrowedValue::Null => None,
        BorrowedValue::Str(_) | BorrowedValue::Array(_) => Some(value.into()),
        other => reading.reject("a string or a list", &other),
    }
}

/// Checks tags, by which results are sliced: each is a label or a list of labels.
pub(super) fn tags(tags: Object, reading: &mut FieldReader<'_>) -> Object {
    let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
    for (key, value) in &tags {
        match value {
            Value::Array(labels) => {
                for (index, label) in labels.iter().enumerate().filter(|(_, label)| !is_scalar(label)) {
                    reading.key(key).index(index).mistyped("a string, a number or a boolean", label);
                }
            }
            value if is_scalar(value) => {}
            other => reading.key(key).mistyped("a string, a number, a boolean, or a list of them", other),
        }
    }
    tags
}

/// Checks that the files of a sandbox are below its folder.
pub(super) fn sandbox_files(files: Object, reading: &mut FieldReader<'_>) -> Object {
    for (path, source) in &files {
        let mut reading = reading.key(path);
        if !is_relative_path(path) {
            reading.problem(
                "the key is not a path inside the sandbox; allowed: relative paths such as 'data/input.txt', \
                 without '..', control characters or a drive",
            );
        }
        if !source.is_string() {
            reading.mistyped("a string: a URI or a local path", source);
        }
    }
    files
}

fn is_relative_path(path: &str) -> bool {
    let mut characters = path.chars();
    let has_drive = matches!((characters.next(), characters.next()), (Some(letter), Some(':')) if letter.is_ascii_alphabetic());
    !path.is_empty()
        && !has_drive
        && !path.starts_with(['/', '\\'])
        && !path.split(['/', '\\']).any(|segment| segment == "..")
        && !path.chars().any(char::is_control)
}

/// Checks that names and values are valid environment variables of a process.
pub(super) fn environment(variables: Object, reading: &mut FieldReader<'_>) -> Object {
    for (name, value) in &variables {
        let mut reading = reading.key(name);
        if name.is_empty() || name.chars().any(|character| character == '=' || character.is_control()) {
            reading.problem(
                "the key is not the name of a variable; allowed: names that are not empty, without '=' and \
                 control characters",
            );
        }
        match value {
            Value::String(text) if text.contains('\0') => {
                reading.problem("the value contains a NUL character; allowed: text without it");
            }
            Value::String(_) => {}
            other => reading.mistyped("a string", other),
        }
    }
    variables
}

/// Checks that an example has an answer; without one, it would teach the model to say nothing.
pub(super) fn few_shot_answer(example: &FewShotExample, reading: &mut FieldReader<'_>) {
    if example.references.is_empty() && example.label.is_none() && !example.is_answered() {
        reading.key("references").problem(
            "the example has no answer; allowed: a reference, a label, or messages that end with one of the \
             assistant",
        );
    }
}
