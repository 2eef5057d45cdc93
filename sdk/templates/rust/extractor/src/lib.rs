//! Finds the last number in a model's output.

use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};

/// The parameters in a suite; there are none.
#[derive(serde::Deserialize)]
struct LastNumber {}

impl Extractor for LastNumber {
    fn name() -> &'static str {
        "{{snake}}"
    }

    // The first input is the text: the model's answer, or the path that a suite sets as `text_field`.
    // Increase the version, "1", when an answer could change.
    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new("1", "The last number in the text", json!({})))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(found) = last_number(inputs.text(0).unwrap_or_default()) else {
            return Ok(None);
        };
        // There are also `Answer::choice`, `list` and `text`.
        Ok(found.parse().ok().map(|number| Answer::number(number).evidence(found)))
    }
}

/// Returns the last digits, with a fraction and a minus sign if they have one.
fn last_number(text: &str) -> Option<&str> {
    let digits_until = |end: usize| text[..end].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let mut start = digits_until(end);
    if let Some(whole) = text[..start].strip_suffix('.')
        && digits_until(whole.len()) < whole.len()
    {
        start = digits_until(whole.len());
    }
    // The dash in `10-12` is not a sign.
    if let Some(before) = text[..start].strip_suffix('-')
        && !before.ends_with(char::is_alphanumeric)
    {
        start = before.len();
    }
    Some(&text[start..end])
}

// The list may hold several extractors.
gage_sdk::extractors!(name: "{{name}}", description: "Numbers in answers", extractors: [LastNumber]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, expected) in [
            ("3 apples and 4.5 pears", Some("4.5")),
            ("it fell to -12.", Some("-12")),
            ("10-12", Some("12")),
            ("no idea", None),
        ] {
            assert_eq!(last_number(text), expected, "{text:?}");
        }
    }
}
