//! The parsed output of a model, in the shape of the type `reasoning`.

use gage_reasoning_kit::Normalizer;
use gage_reasoning_kit::fragments::member;
use gage_reasoning_kit::ids::{items, scalar};
use gage_sdk::PluginError;
use gage_sdk::metric::Value as Input;
use gage_sdk::serde_json::{Map, Value};

/// Most members of a final answer that is a list; each is looked for in the whole argument.
const MAX_ANSWERS: usize = 32;

/// What the model's output was parsed into.
pub(crate) enum ParsedOutput {
    /// There is none.
    Missing,
    /// It is no object.
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

/// The final answer in comparable form: of a list each member, otherwise one, or none where it is
/// missing or blank. It may stand under `value`. Zero and false are answers.
pub(crate) fn final_answers(
    members: &Map<String, Value>,
    normalizer: Normalizer,
) -> Result<Vec<String>, PluginError> {
    let answer = member(members, "final_answer");
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
