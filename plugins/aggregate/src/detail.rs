//! Reading score cards.

use gage_sdk::serde_json::{self, Map, Value};
use gage_sdk::{PluginError, ScoreCard};

/// A sub-score, by its name.
pub(crate) fn sub_score(card: &ScoreCard, name: &str) -> Option<f64> {
    card.sub_scores.iter().find(|sub| sub.name == name).map(|sub| sub.value)
}

/// The members of a card's detail.
pub(crate) fn members(card: &ScoreCard) -> Map<String, Value> {
    serde_json::from_str(&card.detail).unwrap_or_default()
}

/// A member of the detail as the name of a category: texts without white space at the ends, anything
/// else in its JSON spelling, numbers by value. `None` where it is missing, null or blank.
pub(crate) fn category(members: &Map<String, Value>, key: &str) -> Option<String> {
    let text = match members.get(key)? {
        Value::Null => return None,
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) if number.is_f64() => gage_text_kit::number::float_text(number.as_f64()?),
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// The weight of a row.
///
/// # Errors
/// `invalid-input` where it is below 0 or not finite.
pub(crate) fn weight(sample_id: &str, weight: f64) -> Result<f64, PluginError> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(weight);
    }
    Err(PluginError::invalid_input(format!(
        "the weight of sample '{sample_id}' must be a number from 0 up, not {weight}"
    )))
}
