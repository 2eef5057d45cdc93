//! `contains`: whether the reference occurs in the prediction.

use crate::comparison::{self, PREDICTION, REFERENCE};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::text::Normalization;
use gage_text_kit::value::as_text;

/// Scores 1 where the reference occurs in the prediction, as a stretch of characters: parts of
/// words and of numbers count. Stretches of white space count as one blank. An empty reference
/// occurs nowhere.
pub struct Contains {
    normalization: Normalization,
    any_reference: bool,
}

impl Metric for Contains {
    fn name() -> &'static str {
        "contains"
    }

    fn spec() -> MetricSpec {
        let mut schema = comparison::normalization_schema();
        // Existing suites set it for all their text metrics; it means nothing here.
        let separator = json!({ "type": ["string", "null"], "description": "Accepted and ignored" });
        schema.insert("separator".to_owned(), separator);
        MetricSpec::new("1", "Whether the reference occurs in the prediction")
            .prediction("prediction_field")
            .reference()
            .params(schema.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(Contains {
            normalization: comparison::normalization(&params, true)?,
            any_reference: params.flag("any_reference", false)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let pass = as_text(inputs.value(PREDICTION)).is_some_and(|prediction| {
            let prediction = self.normalization.apply(&prediction);
            comparison::meets(self.any_reference, inputs.value(REFERENCE), |reference| {
                as_text(reference).is_some_and(|reference| {
                    let reference = self.normalization.apply(&reference);
                    !reference.is_empty() && prediction.contains(&*reference)
                })
            })
        });
        Ok(comparison::card(inputs.value(PREDICTION), inputs.value(REFERENCE), pass))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn score(params: serde_json::Value, prediction: &str, reference: Value) -> Option<f64> {
        let metric = Contains::prepare(params).ok()?;
        metric.score(Inputs::new(&[Value::Text(prediction.to_owned()), reference])).ok()?.primary_score
    }

    #[test]
    fn occurrences() {
        for (params, prediction, reference, expected) in [
            (json!({}), "The capital is PARIS.", "Paris", 1.0),
            (json!({}), "New \n York City", "new  york", 1.0),
            (json!({}), "anything", "", 0.0),
            (json!({}), "anything", " ", 0.0),
            (json!({}), "unhappy", "happy", 1.0),
            (json!({}), "Pa\u{200b}ris", "Paris", 0.0),
            (json!({}), "İSTANBUL", "istanbul", 0.0),
            (json!({ "strip_whitespace": false }), "xParis", " Paris", 0.0),
            (json!({ "separator": "|" }), "Roma", "rome|roma", 0.0),
        ] {
            let reference = Value::Text(reference.to_owned());
            assert_eq!(score(params, prediction, reference), Some(expected), "{prediction:?}");
        }
        let several = || Value::Texts(vec!["Rome".to_owned(), "Paris".to_owned()]);
        assert_eq!(score(json!({ "any_reference": true }), "In Paris.", several()), Some(1.0));
        assert_eq!(score(json!({ "any_reference": true }), "In Oslo.", several()), Some(0.0));
        assert_eq!(score(json!({}), "In Paris.", several()), Some(0.0));
    }

    #[test]
    fn other_references() {
        for (reference, prediction, expected) in [
            (Value::Boolean(true), "It is true", 1.0),
            (Value::Number(1.0), "1 item", 1.0),
            (Value::Absent, "none", 0.0),
        ] {
            assert_eq!(score(json!({}), prediction, reference), Some(expected), "{prediction:?}");
        }
    }
}
