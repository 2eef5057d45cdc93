//! `choice_letter`: the option that the text names.

use gage_choice_kit::{Choices, extract};
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs, ValueKind};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;

const TEXT: usize = 0;
const OPTIONS: usize = 1;

/// Returns the label of the option that the text names, in upper case, by the rules of the metric
/// `multi_choice_accuracy`. If the options are unknown, each letter from A to Z is one. A text that names several options
/// and chooses none of them has no answer.
pub struct ChoiceLetter {
    allow_text_match: bool,
}

impl Extractor for ChoiceLetter {
    fn name() -> &'static str {
        "choice_letter"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "4",
            "Label of the option that the text names, if it names one",
            json!({
                "allow_text_match": flag_schema(true, "Accept the text of an option as its letter"),
            }),
        ))
        .input(
            "options",
            &["option_map_field"],
            &["sample.metadata.option_map", "sample.options"],
            ValueKind::Any,
        )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(ChoiceLetter { allow_text_match: params.flag("allow_text_match", true)? })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(TEXT) else { return Ok(None) };
        let choices = Choices::new(inputs.value(OPTIONS));
        Ok(extract(text, &choices, self.allow_text_match).map(|label| Answer::choice(&label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::extractor::Value;

    #[test]
    fn labels() {
        let known = Value::Json(r#"{"A":"Shark","B":"Dolphin"}"#.to_owned());
        for (params, text, options, expected) in [
            (json!({}), "The answer is (b).", &known, Some("B")),
            (json!({}), "dolphin", &known, Some("B")),
            (json!({ "allow_text_match": false }), "dolphin", &known, None),
            (json!({}), "C", &known, None),
            (json!({}), "A or B", &known, None),
            (json!({}), "选C", &Value::Absent, Some("C")),
            (json!({}), "<think>A</think>", &known, None),
            (json!({}), "", &known, None),
        ] {
            let inputs = [Value::Text(text.to_owned()), options.clone()];
            let answer =
                ChoiceLetter::prepare(params).and_then(|letter| letter.extract(Inputs::new(&inputs)));
            assert_eq!(answer, Ok(expected.map(Answer::choice)), "{text}");
        }
        let absent = ChoiceLetter::prepare(json!({})).and_then(|letter| letter.extract(Inputs::new(&[])));
        assert_eq!(absent, Ok(None));
    }
}
