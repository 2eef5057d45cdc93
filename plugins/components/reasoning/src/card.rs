//! Shared parts of the score cards.

use crate::parsed::ParsedOutput;
use gage_sdk::metric::{MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::Params;

/// Indices of the parsed output and the reference in every specification.
pub(crate) const PARSED: usize = 0;
pub(crate) const REFERENCE: usize = 1;

/// Adds the parsed output of the model as the first input.
pub(crate) fn with_parsed(spec: MetricSpec) -> MetricSpec {
    spec.input("parsed", &["parsed_field", "prediction_field"], &["model_output.parsed"], ValueKind::Json)
}

/// Reads the parameter `name`, the prefix of the values' names.
///
/// # Errors
/// `invalid-config` for a name that cannot be part of a value's name.
pub(crate) fn value_prefix(params: &Params, default: &str) -> Result<String, PluginError> {
    let name = params.text("name")?.unwrap_or(default);
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
        let message = "params: 'name' must be 1 to 40 ASCII letters, digits, '_', '-' and '.'";
        return Err(PluginError::invalid_config(message).at("/name"));
    }
    Ok(name.to_owned())
}

/// Returns the card of an unparsed output: it never scores, and its tag says why.
pub(crate) fn unparsed(parsed: &ParsedOutput) -> ScoreCard {
    match parsed {
        ParsedOutput::Missing => failed("missing_prediction", "there is no parsed output"),
        _ => failed("invalid_format", "the parsed output is not an object"),
    }
}

/// Returns a card that scores 0 for a reason.
pub(crate) fn failed(tag: &str, why: &str) -> ScoreCard {
    ScoreCard::binary(false).tag(tag).explain(why)
}

/// Adds a tag if a condition holds.
pub(crate) fn tagged(card: ScoreCard, holds: bool, tag: &str) -> ScoreCard {
    if holds { card.tag(tag) } else { card }
}

/// Rounds to four decimals, as the older program recorded its scores: to the nearest value, and an exact half to the
/// even neighbour.
pub(crate) fn rounded(number: f64) -> f64 {
    format!("{number:.4}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_decimals() {
        for (number, expected) in [
            (2.0 / 3.0, 0.6667),
            (0.03125, 0.0312),
            (0.09375, 0.0938),
            (0.00015, 0.0001),
            (1.0, 1.0),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded(number), expected);
        }
    }
}
