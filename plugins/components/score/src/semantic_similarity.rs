//! `semantic_similarity`: similarity in meaning of the answer to the nearest reference.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::params::number_schema;
use serde::Deserialize;

const SEMANTIC: usize = 0;

/// Largest cosine between the vector of the answer and those of its references, −1 to 1, as recorded by the step
/// `embed`. The meaning of a cosine depends on the embedding model.
///
/// With `threshold` an answer passes from that similarity on; without it none passes or fails. An answer without a text
/// scores 0 with `missing_prediction`. Without a reference, or if the step was not run, there is no score.
///
/// Input: path parameter `semantic_field`, by default `model_output.semantic`.
pub struct SemanticSimilarity {
    threshold: Option<f64>,
}

/// Recorded similarities.
#[derive(Deserialize)]
struct Semantic {
    #[serde(default)]
    model: serde_json::Value,
    /// One per reference; null if the reference has no text.
    similarities: Vec<Option<f64>>,
    #[serde(default)]
    missing: Option<String>,
}

impl Metric for SemanticSimilarity {
    fn name() -> &'static str {
        "semantic_similarity"
    }

    fn spec() -> MetricSpec {
        let mut spec = MetricSpec::new(
            "3",
            "Similarity in meaning of the answer to the nearest reference, \
            by embeddings",
        )
        .value_name("similarity")
        .input("semantic", &["semantic_field"], &["model_output.semantic"], ValueKind::Json)
        .param(
            "threshold",
            number_schema(
                "Smallest similarity that passes; without it, samples neither \
                pass nor fail",
            ),
        );
        if let Some(value) = spec.values.first_mut() {
            value.minimum = Some(-1.0);
        }
        spec
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(SemanticSimilarity { threshold: Params::new(params)?.within("threshold", -1.0..=1.0)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let Some(semantic) = read(inputs.value(SEMANTIC))? else {
            let message = "there are no similarities; add {step: embed} after the inference";
            return Ok(ScoreCard::none(message).tag("missing_prediction"));
        };
        let detail = |best: Option<usize>| json!({ "model": semantic.model, "reference": best });
        match semantic.missing.as_deref() {
            // There is one similarity per reference: without any, the reference is missing too.
            Some("prediction") if !semantic.similarities.is_empty() => {
                let card = ScoreCard::of(0.0).tag("missing_prediction").detail(&detail(None));
                return Ok(self.judged(card, 0.0));
            }
            Some(_) => {
                let card = ScoreCard::none("the sample has no reference with a text");
                return Ok(card.tag("missing_reference").detail(&detail(None)));
            }
            None => {}
        }
        let known = semantic.similarities.iter().enumerate();
        let known = known.filter_map(|(place, similarity)| Some((place, (*similarity)?)));
        // Of equal ones, the first.
        let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((place, best)) = best else { return Err(refuse("holds no number")) };
        if !(-1.0..=1.0).contains(&best) {
            return Err(refuse("holds a number that is not from -1 to 1"));
        }
        let card = self.judged(ScoreCard::of(best).detail(&detail(Some(place))), best);
        Ok(if card.pass == Some(false) { card.tag("below_threshold") } else { card })
    }
}

impl SemanticSimilarity {
    fn judged(&self, card: ScoreCard, similarity: f64) -> ScoreCard {
        self.threshold.iter().fold(card, |card, threshold| card.pass(similarity >= *threshold))
    }
}

fn refuse(problem: &str) -> PluginError {
    PluginError::invalid_input(format!("semantic: {problem}; the step embed records {{model, similarities}}"))
}

fn read(value: &Value) -> Result<Option<Semantic>, PluginError> {
    let Value::Json(json) = value else { return Ok(None) };
    serde_json::from_str(json).map_err(|error| refuse(&format!("cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(params: serde_json::Value, semantic: Value) -> Result<ScoreCard, PluginError> {
        SemanticSimilarity::prepare(params)?.score(Inputs::new(&[semantic]))
    }

    fn of(semantic: serde_json::Value) -> Value {
        Value::Json(semantic.to_string())
    }

    #[test]
    fn the_nearest_reference_counts() {
        let found = |similarities| of(json!({ "model": "m", "similarities": similarities }));
        for (params, semantic, score, pass, tags) in [
            (json!({}), found(json!([0.25, 0.75, null])), Some(0.75), None, &[][..]),
            (json!({ "threshold": 0.75 }), found(json!([0.75])), Some(0.75), Some(true), &[]),
            (
                json!({ "threshold": 0.8 }),
                found(json!([0.75])),
                Some(0.75),
                Some(false),
                &["below_threshold"],
            ),
            (json!({}), found(json!([-1.0])), Some(-1.0), None, &[]),
            (
                json!({ "threshold": 0.5 }),
                of(json!({ "similarities": [null], "missing": "prediction" })),
                Some(0.0),
                Some(false),
                &["missing_prediction"],
            ),
            (
                json!({}),
                of(json!({ "similarities": [], "missing": "reference" })),
                None,
                None,
                &["missing_reference"],
            ),
            (
                json!({}),
                of(json!({ "similarities": [], "missing": "prediction" })),
                None,
                None,
                &["missing_reference"],
            ),
            (json!({}), Value::Absent, None, None, &["missing_prediction"]),
        ] {
            let Ok(card) = card(params, semantic) else { panic!("a card is made") };
            assert_eq!((card.primary_score, card.pass), (score, pass), "{card:?}");
            assert_eq!(card.error_tags, tags, "{card:?}");
        }
    }

    #[test]
    fn what_is_no_similarity_is_refused() {
        for semantic in
            [json!({ "similarities": [] }), json!({ "similarities": [1.5] }), json!({}), json!([0.5])]
        {
            assert!(card(json!({}), of(semantic.clone())).is_err(), "{semantic}");
        }
        for threshold in [json!(1.5), json!("high"), json!(-2)] {
            assert!(card(json!({ "threshold": threshold }), Value::Absent).is_err());
        }
    }
}
