use super::{PREDICTION, comparable, shown, with_case};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::text::texts_of;
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Author's part of a [`MultiReference`].
pub trait ScoreText: DeserializeOwned {
    /// Returns its name in suites.
    fn name() -> &'static str;

    /// Returns the version, the description and the parameters; the shape adds its inputs and parameters.
    fn spec() -> MetricSpec;

    /// Scores the prediction against one reference, higher is better; default: 1 if they are equal, otherwise
    /// 0.
    fn score(&self, prediction: &str, reference: &str) -> f64 {
        if prediction == reference { 1.0 } else { 0.0 }
    }
}

/// Best score of a prediction over several references.
///
/// All texts are trimmed, white space is collapsed, and case is ignored unless the parameter `case_sensitive`
/// is true. References are a list, or one text, which is split at the parameter `separator` if that is set.
/// Without a prediction or without references the score is 0, with the tag `missing_prediction` or
/// `missing_reference`.
///
/// Inputs: `prediction`, path parameter `prediction_field`, default `model_output.answer`; `references`, path
/// parameters `references_field` and `answers_field`, default the first that exists of `sample.references`,
/// `sample.metadata.answers` and `sample.label`. The card's detail contains `best_score` and
/// `best_reference`, the first one with the best score.
pub struct MultiReference<S> {
    score: S,
    params: ReferencesParams,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReferencesParams {
    separator: Option<String>,
    case_sensitive: bool,
}

impl<S> MultiReference<S> {
    fn references(&self, value: &serde_json::Value) -> Vec<String> {
        let texts = match (value, &self.params.separator) {
            (serde_json::Value::String(text), Some(separator)) if !separator.is_empty() => {
                text.split(separator).map(str::to_owned).collect()
            }
            _ => texts_of(value),
        };
        texts.iter().map(|text| comparable(text, self.params.case_sensitive)).collect()
    }
}

impl<S: ScoreText> Metric for MultiReference<S> {
    fn name() -> &'static str {
        S::name()
    }

    fn spec() -> MetricSpec {
        with_case(S::spec())
            .param("separator", json!({ "type": ["string", "null"], "default": null }))
            .input("prediction", &["prediction_field"], &["model_output.answer"], ValueKind::Text)
            .input(
                "references",
                &["references_field", "answers_field"],
                &["sample.references", "sample.metadata.answers", "sample.label"],
                ValueKind::Json,
            )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(MultiReference { score: from_params(params.clone())?, params: from_params(params)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = inputs.text(PREDICTION).unwrap_or_default();
        let prediction = comparable(prediction, self.params.case_sensitive);
        if prediction.is_empty() {
            return Ok(ScoreCard::of(0.0).tag("missing_prediction"));
        }
        let mut best: Option<(f64, String)> = None;
        for reference in self.references(&inputs.json(1)) {
            let score = self.score.score(&prediction, &reference);
            if best.as_ref().is_none_or(|(best, _)| score > *best) {
                best = Some((score, reference));
            }
        }
        Ok(match best {
            Some((score, reference)) => ScoreCard::of(score)
                .add_detail([("best_score", score.into()), ("best_reference", shown(&reference))]),
            None => ScoreCard::of(0.0).tag("missing_reference"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;
    use crate::metric::Value;

    #[derive(Deserialize)]
    struct Plain {}

    impl ScoreText for Plain {
        fn name() -> &'static str {
            "plain"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "")
        }
    }

    #[test]
    fn the_best_reference_counts() {
        for (params, prediction, references, expected, best) in [
            (json!({}), "a", json!(["b", "A"]), 1.0, json!("a")),
            (json!({ "separator": "|" }), "a", json!("x|a"), 1.0, json!("a")),
            (json!({}), "a", json!("x|a"), 0.0, json!("x|a")),
            (json!({}), "", json!(["a"]), 0.0, json!(null)),
            (json!({}), "a", json!(null), 0.0, json!(null)),
            (json!({}), "a  b", json!(["a b"]), 1.0, json!("a b")),
            (json!({}), "a", json!(["", "a"]), 1.0, json!("a")),
            (json!({ "case_sensitive": true }), "a", json!(["A", "b"]), 0.0, json!("A")),
        ] {
            let inputs = [prediction.into(), Value::from(references.clone())];
            let card = score::<MultiReference<Plain>>(params, &inputs).unwrap();
            assert_eq!(card.primary_score, Some(expected), "{prediction:?} {references}");
            assert_eq!(detail(&card, "best_reference"), best);
        }
    }
}
