//! Files of test cases for plugins: one JSON object per line.

use crate::error::ToolError;
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_core::{Object, shown_name};
use gage_plugin::World;
use serde_json::Value;
use std::path::Path;

/// Name of the file of cases in a project, and beside a component.
pub const CASES: &str = "cases.jsonl";

/// Keys allowed in every case.
const COMMON: [&str; 6] = ["case", "note", "member", "params", "expected", "expected_error"];

/// Maximum size of a file of cases.
const MAX_CASES_SIZE: FileLimit = FileLimit::new("a file of cases", 256 << 20);

/// A test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name for messages: its file, its line, and its own name if it has one.
    pub name: String,
    /// Member under test; `None` for the only one.
    pub member: Option<String>,
    /// The parameters.
    pub params: Value,
    /// All other keys.
    pub body: Object,
}

impl Case {
    /// Returns a value of the case, or null.
    pub(crate) fn get(&self, key: &str) -> &Value {
        self.body.get(key).unwrap_or(&Value::Null)
    }

    /// Returns a value of the case as an object. Empty if it is missing or not an object.
    pub(crate) fn object(&self, key: &str) -> Object {
        self.get(key).as_object().cloned().unwrap_or_default()
    }
}

/// Returns the additional keys of cases for a plugin kind.
pub(crate) fn keys_of(world: World) -> &'static [&'static str] {
    match world {
        World::Metric => &[
            "metric",
            "inputs",
            "sample",
            "model_output",
            "judge_output",
            "support_output",
            "expected_values",
        ],
        World::Extractor => &["inputs", "sample", "model_output", "judge_output", "support_output"],
        World::Preprocessor => &["row", "dataset", "intermediate", "expected_skip"],
        World::DocHook => &["sample"],
        World::Aggregator => &["rows"],
        World::Judge => &["sample", "model_output", "replies", "expected_prompts", "expected_unparseable"],
        World::RoleAdapter => &["payload", "reply", "expected_output", "expected_request"],
        World::Backend => &["messages", "sampling_params", "continuations"],
    }
}

/// Types of the values of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CaseValue {
    Object,
    ListOfObjects,
    ListOfTexts,
    Replies,
    Text,
    Boolean,
}

impl CaseValue {
    /// Returns the type of the value of a key. `None` if it may have any.
    fn of_key(key: &str) -> Option<CaseValue> {
        Some(match key {
            "inputs" | "sample" | "model_output" | "row" | "payload" | "sampling_params" => CaseValue::Object,
            "rows" | "messages" | "expected_prompts" => CaseValue::ListOfObjects,
            "continuations" => CaseValue::ListOfTexts,
            "replies" => CaseValue::Replies,
            "dataset" | "expected_skip" => CaseValue::Text,
            "intermediate" | "expected_unparseable" => CaseValue::Boolean,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            CaseValue::Object => "an object",
            CaseValue::ListOfObjects => "a list of objects",
            CaseValue::ListOfTexts => "a list of texts",
            CaseValue::Replies => "a list of texts or objects",
            CaseValue::Text => "a text",
            CaseValue::Boolean => "true or false",
        }
    }

    fn accepts(self, value: &Value) -> bool {
        let each =
            |is_fine: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(is_fine));
        match self {
            CaseValue::Object => value.is_object(),
            CaseValue::ListOfObjects => each(Value::is_object),
            CaseValue::ListOfTexts => each(Value::is_string),
            CaseValue::Replies => each(|reply| reply.is_string() || reply.is_object()),
            CaseValue::Text => value.is_string(),
            CaseValue::Boolean => value.is_boolean(),
        }
    }
}

/// Checks the types of a case's values.
fn check_types(place: &str, body: &Object, params: &Value) -> Result<(), ToolError> {
    let refuse = |key: &str, wanted: &str, found: &Value| {
        let found = shown_name(&found.to_string());
        Err(ToolError::new(format!("{place}: `{key}` must be {wanted}, found {found}")))
    };
    if !params.is_object() && !params.is_null() {
        return refuse("params", CaseValue::Object.name(), params);
    }
    for (key, value) in body {
        // A missing document is written as null.
        if let Some(wanted) = CaseValue::of_key(key).filter(|_| !value.is_null())
            && !wanted.accepts(value)
        {
            return refuse(key, wanted.name(), value);
        }
    }
    match body.get("expected_error") {
        None | Some(Value::Bool(true) | Value::String(_)) => Ok(()),
        Some(found) => refuse("expected_error", "true or the kind of the error", found),
    }
}

/// Reads the cases in a file for a plugin kind. Blank lines are skipped.
///
/// # Errors
/// If the file cannot be read, a line is not an object, a key is unknown, a value has another type, or there is no case.
pub fn read_cases(path: &Path, world: World) -> Result<Vec<Case>, ToolError> {
    let cases = cases_in(path, world)?;
    match cases.is_empty() {
        true => Err(ToolError::new(format!("there is no case in {}", path.display()))),
        false => Ok(cases),
    }
}

/// Reads the cases in a file, which may have none.
pub(crate) fn cases_in(path: &Path, world: World) -> Result<Vec<Case>, ToolError> {
    let shown = path.display().to_string();
    let text = read_named_text(path, MAX_CASES_SIZE)
        .map_err(|error| ToolError::new(format!("cannot read the cases {shown}: {error}")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut cases = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{shown}:{}", number + 1);
        cases.push(read_case(&place, line, world)?);
    }
    Ok(cases)
}

fn read_case(place: &str, line: &str, world: World) -> Result<Case, ToolError> {
    let mut body: Object = serde_json::from_str(line)
        .map_err(|error| ToolError::new(format!("{place}:{}: not a JSON object: {error}", error.column())))?;
    let known = || COMMON.iter().chain(keys_of(world)).copied();
    for key in body.keys() {
        // Recorded results of older programs contain additional keys.
        if !known().any(|one| one == key) && key != "expected_metadata" {
            let near = gage_core::nearest(key, known()).map(|near| format!("did you mean `{near}`? "));
            let allowed = known().collect::<Vec<_>>().join(", ");
            return Err(ToolError::with_help(
                format!("{place}: unknown key `{}`", shown_name(key)),
                format!("{}expected one of: {allowed}", near.unwrap_or_default()),
            ));
        }
    }
    let text_of = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Null => None,
        other => Some(other.to_string()),
    };
    let named = body.shift_remove("case").and_then(text_of);
    let member = body.shift_remove("member").or_else(|| body.shift_remove("metric")).and_then(text_of);
    let params = body.shift_remove("params").unwrap_or(Value::Null);
    let expects = body.keys().any(|key| key.starts_with("expected"));
    if !expects {
        return Err(ToolError::with_help(
            format!("{place}: the case expects nothing"),
            "give `expected`, or `expected_error`",
        ));
    }
    check_types(place, &body, &params)?;
    let name = match named {
        Some(named) => format!("{place} ({})", shown_name(&named)),
        None => place.to_owned(),
    };
    Ok(Case { name, member, params, body })
}

/// Lists the differences between the found and the expected value. Objects are compared only by the expected
/// keys, lists by all items, and numbers to 9 digits.
pub(crate) fn differences(expected: &Value, found: &Value, path: &str, list: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(value, found.get(key).unwrap_or(&Value::Null), &path, list);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (place, (expected, found)) in expected.iter().zip(found).enumerate() {
                differences(expected, found, &format!("{path}[{place}]"), list);
            }
        }
        _ if are_equal(expected, found) => {}
        _ => {
            let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
            list.push(format!("{path}expected {expected}, found {found}"));
        }
    }
}

fn are_equal(expected: &Value, found: &Value) -> bool {
    match (expected.as_f64(), found.as_f64()) {
        (Some(expected), Some(found)) => (expected - found).abs() <= 1e-9 * expected.abs().max(1.0),
        _ => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_expected_is_compared() {
        let found = json!({"a": 1.0, "b": {"c": [1, 2]}, "d": "x"});
        let cases = [
            (json!({"a": 1}), vec![]),
            (json!({"a": 1.0 + 1e-12, "b": {"c": [1, 2]}}), vec![]),
            (json!({"a": 2}), vec!["a: expected 2, found 1.0"]),
            (json!({"b": {"c": [1]}}), vec!["b.c: expected [1], found [1,2]"]),
            (json!({"b": {"c": [1, 3]}}), vec!["b.c[1]: expected 3, found 2"]),
            (json!({"e": null}), vec![]),
            (json!({"e": 0}), vec!["e: expected 0, found null"]),
        ];
        for (expected, wanted) in cases {
            let mut list = Vec::new();
            differences(&expected, &found, "", &mut list);
            assert_eq!(list, wanted, "{expected}");
        }
    }

    #[test]
    fn lines_that_cannot_be_cases() {
        let message = |line: &str| match read_case("c.jsonl:3", line, World::Metric) {
            Ok(_) => "fine".to_owned(),
            Err(error) => format!("{} / {}", error.message, error.help.unwrap_or_default()),
        };
        assert!(message("{").starts_with("c.jsonl:3:1: not a JSON object: EOF"));
        assert!(message("[]").starts_with("c.jsonl:3:"));
        assert!(message(r#"{"inptus": {}, "expected": {}}"#).contains("did you mean `inputs`?"));
        assert!(message(r#"{"inputs": {}}"#).contains("expects nothing"));
        let wrong = message(r#"{"inputs": [1], "expected": {}}"#);
        assert_eq!(wrong, "c.jsonl:3: `inputs` must be an object, found [1] / ");
        assert!(message(r#"{"params": 3, "expected": {}}"#).contains("`params` must be an object, found 3"));
        let wrong = message(r#"{"inputs": {}, "expected_error": false}"#);
        assert!(wrong.contains("`expected_error` must be true or the kind of the error"), "{wrong}");
        assert_eq!(message(r#"{"sample": null, "inputs": {}, "expected": {}}"#), "fine");
        assert_eq!(message(r#"{"inputs": {}, "expected": {}}"#), "fine");
        let hostile = message(r#"{"a\nerror: b\u202e": {}, "expected": {}}"#);
        assert!(hostile.starts_with("c.jsonl:3: unknown key `a\\nerror: b\\u{202e}` / "), "{hostile}");
    }

    #[test]
    fn names_of_cases_are_short_and_on_one_line() {
        let long = "x".repeat(100_000);
        let line = json!({"case": format!("a\r\u{202e}{long}"), "expected": 1}).to_string();
        let case = read_case("c.jsonl:3", &line, World::Metric).unwrap();
        assert!(case.name.starts_with("c.jsonl:3 (a\\r\\u{202e}xx"), "{}", case.name);
        assert!(case.name.chars().count() < 300, "{}", case.name.len());
    }
}
