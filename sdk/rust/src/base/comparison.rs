use super::{PREDICTION, REFERENCE, shown, with_pair};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::{PluginError, ScoreCard, from_params};
use serde::de::DeserializeOwned;

/// Author's part of a [`Comparison`].
pub trait Compare: DeserializeOwned {
    /// Returns its name in suites.
    fn name() -> &'static str;

    /// Returns the version, the description and the parameters; the shape adds its inputs.
    fn spec() -> MetricSpec;

    /// Compares the answer, which is empty if missing, with its reference.
    ///
    /// # Errors
    /// An error gives this sample the outcome `plugin_error`, never a score.
    fn compare(&self, prediction: &str, reference: &str) -> Result<ScoreCard, PluginError>;
}

/// Compares a prediction with a reference, both texts. Without a reference, there is no score.
///
/// Inputs: `prediction`, path parameter `prediction_field`, default `model_output.answer`; `reference`, path
/// parameter `label_field`, default `sample.label`. The card's detail contains both.
pub struct Comparison<C>(C);

impl<C: Compare> Metric for Comparison<C> {
    fn name() -> &'static str {
        C::name()
    }

    fn spec() -> MetricSpec {
        with_pair(C::spec(), ValueKind::Text)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        from_params(params).map(Comparison)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = inputs.text(PREDICTION).unwrap_or_default();
        let Some(reference) = inputs.text(REFERENCE) else {
            return Ok(ScoreCard::none("there is no reference"));
        };
        let card = self.0.compare(prediction, reference)?;
        Ok(card.add_detail([("prediction", shown(prediction)), ("reference", shown(reference))]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;
    use crate::metric::Value;
    use serde_json::json;

    #[derive(serde::Deserialize)]
    struct SameLength {
        #[serde(default)]
        slack: usize,
    }

    impl Compare for SameLength {
        fn name() -> &'static str {
            "same_length"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "").param("slack", json!({ "type": "integer" }))
        }
        fn compare(&self, prediction: &str, reference: &str) -> Result<ScoreCard, PluginError> {
            Ok(ScoreCard::binary(prediction.len().abs_diff(reference.len()) <= self.slack))
        }
    }

    #[test]
    fn compares() {
        type Metric = Comparison<SameLength>;
        for (params, prediction, expected) in [
            (json!({}), "abc".into(), 1.0),
            (json!({}), "ab".into(), 0.0),
            (json!({ "slack": 1 }), "ab".into(), 1.0),
            (json!({}), Value::Absent, 0.0),
        ] {
            let card = score::<Metric>(params, &[prediction, "xyz".into()]).unwrap();
            assert_eq!(card.primary_score, Some(expected));
            assert_eq!(detail(&card, "reference"), "xyz");
        }
        let card = score::<Metric>(json!({}), &["abc".into(), Value::Absent]).unwrap();
        assert_eq!(card.primary_score, None);
        assert_eq!(<Metric as crate::metric::Metric>::spec().inputs.len(), 2);
    }
}
