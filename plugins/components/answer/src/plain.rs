//! Answers that are not arguments: each type has its own strategy.

use crate::answer_type::AnswerType;
use crate::judged::Judgement;
use crate::settings::Settings;
use crate::{choice, list, number, text};
use gage_choice_kit::Choices;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;

/// Scores an answer that is not an argument.
///
/// # Errors
/// `invalid-input` for an argument, and for a ground truth with unusable members.
pub(crate) fn score(
    settings: &Settings,
    answer_type: AnswerType,
    prediction: &Value,
    reference: &Value,
    choices: &Choices,
) -> Result<Judgement, PluginError> {
    let form = settings.form(reference)?;
    match answer_type {
        AnswerType::Choice => Ok(choice::score(settings, prediction, reference, form, choices)),
        AnswerType::Number => number::score(settings, prediction, reference),
        AnswerType::List => list::score(settings, prediction, reference, form),
        AnswerType::Text => text::score(settings, prediction, reference, form),
        AnswerType::Reasoning => {
            let message = "a final answer cannot be an argument; give it as a choice, number, list or text";
            Err(PluginError::invalid_input(message).at("/final_answer"))
        }
    }
}
