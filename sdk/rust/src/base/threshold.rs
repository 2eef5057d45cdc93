use super::{PREDICTION, REFERENCE, with_pair};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Author's part of a [`NumericThreshold`].
pub trait Decide: DeserializeOwned {
    /// Returns its name in suites.
    fn name() -> &'static str;

    /// Returns the version, the description and the parameters; the shape adds its inputs and parameters.
    fn spec() -> MetricSpec;

    /// Returns whether the prediction is correct; default: whether the [`Limits`] hold.
    fn passes(&self, prediction: f64, reference: f64, limits: &Limits) -> bool {
        limits.hold(prediction, reference)
    }
}

/// The parameters of a [`NumericThreshold`].
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Limits {
    /// Maximum difference from the reference, 0 by default.
    pub tolerance: f64,
    /// Minimum allowed number, if any.
    pub min_value: Option<f64>,
    /// Maximum allowed number, if any.
    pub max_value: Option<f64>,
}

impl Limits {
    /// Returns whether the prediction is within the bounds and differs from the reference by at most the
    /// tolerance.
    pub fn hold(&self, prediction: f64, reference: f64) -> bool {
        (prediction - reference).abs() <= self.tolerance
            && self.min_value.is_none_or(|minimum| prediction >= minimum)
            && self.max_value.is_none_or(|maximum| prediction <= maximum)
    }
}

/// Scores 1 if a number is close enough to its reference and within bounds, otherwise 0.
///
/// Parameters: `tolerance` (0 by default), `min_value`, `max_value`. Texts that spell a number count as
/// numbers. If either value is missing or not a number, the score is 0, with the tag `invalid_format`. Inputs
/// are the same as for [`Comparison`](super::Comparison). The card's detail contains `prediction` and
/// `reference`.
pub struct NumericThreshold<D> {
    decide: D,
    limits: Limits,
}

impl<D: Decide> Metric for NumericThreshold<D> {
    fn name() -> &'static str {
        D::name()
    }

    fn spec() -> MetricSpec {
        with_pair(D::spec(), ValueKind::Any)
            .param("tolerance", json!({ "type": "number", "minimum": 0, "default": 0 }))
            .param("min_value", json!({ "type": ["number", "null"] }))
            .param("max_value", json!({ "type": ["number", "null"] }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(NumericThreshold { decide: from_params(params.clone())?, limits: from_params(params)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let card = match (inputs.number(PREDICTION), inputs.number(REFERENCE)) {
            (Some(prediction), Some(reference)) => {
                ScoreCard::binary(self.decide.passes(prediction, reference, &self.limits))
            }
            _ => ScoreCard::binary(false).tag("invalid_format"),
        };
        Ok(card.add_detail([("prediction", inputs.json(PREDICTION)), ("reference", inputs.json(REFERENCE))]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::score;
    use super::*;
    use crate::metric::Value;

    #[derive(Deserialize)]
    struct Plain {}

    impl Decide for Plain {
        fn name() -> &'static str {
            "plain"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "")
        }
    }

    #[test]
    fn limits() {
        for (params, prediction, reference, expected, is_number) in [
            (json!({}), Value::Number(3.0), Value::Number(3.0), Some(1.0), true),
            (json!({}), " 3 ".into(), "3.0".into(), Some(1.0), true),
            (json!({}), Value::Number(3.5), Value::Number(3.0), Some(0.0), true),
            (json!({ "tolerance": 0.5 }), Value::Number(3.5), Value::Number(3.0), Some(1.0), true),
            (json!({ "min_value": 4 }), Value::Number(3.0), Value::Number(3.0), Some(0.0), true),
            (json!({ "max_value": 4 }), Value::Number(3.0), Value::Number(3.0), Some(1.0), true),
            (json!({}), "about 3".into(), Value::Number(3.0), Some(0.0), false),
            (json!({}), "nan".into(), Value::Number(3.0), Some(0.0), false),
            (json!({}), Value::Absent, Value::Number(3.0), Some(0.0), false),
            (json!({}), Value::Number(3.0), "three".into(), Some(0.0), false),
            (json!({}), Value::Number(3.0), Value::Absent, Some(0.0), false),
        ] {
            let card = score::<NumericThreshold<Plain>>(params.clone(), &[prediction, reference]).unwrap();
            assert_eq!(card.primary_score, expected, "{params} {card:?}");
            assert_eq!(card.error_tags.is_empty(), is_number, "{params} {card:?}");
        }
    }
}
