//! `text_length`: length of a text.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::text::{excerpt, words};
use gage_text_kit::value::{as_text, is_falsy};
use serde::Serialize;
use std::borrow::Cow;

/// Returns the length of a text in characters (Unicode code points) or in words (separated by white space). The length
/// of an absent, empty, false or zero value is 0.
pub struct TextLength {
    unit: String,
}

/// Detail of a measurement.
#[derive(Serialize)]
struct LengthDetail<'item> {
    unit: &'item str,
    target: Cow<'item, str>,
}

/// The unit that counts words; any other counts characters.
const WORD: &str = "word";

impl Metric for TextLength {
    fn name() -> &'static str {
        "text_length"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Number of characters or words of a text")
            .value_name("length")
            .unbounded(true)
            .at_least(0.0)
            .input("target", &["target_field"], &["model_output.answer"], ValueKind::Any)
            .params(json!({
                // Open on purpose: existing suites rely on any other word meaning characters.
                "unit": {
                    "type": "string", "default": "char",
                    "description": "`word` counts words; any other value counts characters",
                },
            }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(TextLength { unit: params.text("unit")?.unwrap_or("char").to_owned() })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let value = inputs.value(0);
        let text = as_text(value).filter(|_| !is_falsy(value)).unwrap_or_default();
        let length = if self.unit == WORD { words(&text).count() } else { text.chars().count() };
        let detail = LengthDetail { unit: &self.unit, target: excerpt(&text) };
        // Exact: no text is longer than the integers that an f64 holds.
        Ok(ScoreCard::of(length as f64).detail(&detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    #[test]
    fn lengths() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (unit, value, expected) in [
            ("char", text("hello"), 5.0),
            ("char", text("🇨🇳"), 2.0),
            ("char", text("  a  "), 5.0),
            ("word", text("a\u{a0}b"), 2.0),
            ("word", text("   "), 0.0),
            ("token", text("a b"), 3.0),
            ("char", Value::Absent, 0.0),
            ("char", Value::Boolean(false), 0.0),
            ("char", Value::Number(12345.0), 5.0),
            ("char", Value::Number(1.5), 3.0),
            ("char", Value::Json("[]".to_owned()), 0.0),
        ] {
            let length = TextLength::prepare(json!({ "unit": unit }))
                .and_then(|metric| metric.score(Inputs::new(&[value])))
                .map(|card| card.primary_score);
            assert_eq!(length, Ok(Some(expected)));
        }
    }
}
