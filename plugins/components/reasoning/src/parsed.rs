//! Parsed output of a model, in the form of the type `reasoning`.

use gage_reasoning_kit::Normalizer;
use gage_reasoning_kit::fragments::member;
use gage_reasoning_kit::ids::{items, scalar};
use gage_sdk::PluginError;
use gage_sdk::metric::Value as Input;
use gage_sdk::serde_json::{Map, Value};
use gage_text_kit::json::at_path;

/// Maximum number of members of a final answer that is a list; the whole argument is searched for each.
const MAX_ANSWERS: usize = 32;

/// Result of parsing the model's output.
pub(crate) enum ParsedOutput {
    /// There is no output.
    Missing,
    /// The output is not an object.
    Other,
    /// The members of the object.
    Object(Map<String, Value>),
}

impl ParsedOutput {
    /// Reads the input.
    pub(crate) fn read(input: &Input) -> Result<ParsedOutput, PluginError> {
        Ok(match gage_text_kit::json::read(input, "parsed")? {
            Value::Null => ParsedOutput::Missing,
            Value::Object(members) => ParsedOutput::Object(members),
            _ => ParsedOutput::Other,
        })
    }
}

/// Returns the value at a dotted path of the output. A member whose name has dots counts first; null if there is none.
pub(crate) fn field<'output>(members: &'output Map<String, Value>, path: &str) -> &'output Value {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    match members.get(path) {
        Some(value) => value,
        None if rest.is_empty() => &Value::Null,
        None => at_path(member(members, first), rest.split('.')).unwrap_or(&Value::Null),
    }
}

/// Returns the final answer in comparable form: each member of a list, otherwise one value; empty if it is missing or
/// blank. It may be under `value`. Zero and false are answers.
pub(crate) fn final_answers(answer: &Value, normalizer: Normalizer) -> Result<Vec<String>, PluginError> {
    let answer = if answer.is_object() { answer.get("value").unwrap_or(&Value::Null) } else { answer };
    let answers = items(answer);
    if answers.len() > MAX_ANSWERS {
        let message =
            format!("'final_answer' has {} members; at most {MAX_ANSWERS} are allowed", answers.len());
        return Err(PluginError::invalid_input(message).at("/final_answer"));
    }
    let texts = answers.iter().filter_map(scalar).map(|text| normalizer.apply(&text));
    Ok(texts.filter(|text| !text.is_empty()).collect())
}
