use super::{PREDICTION, REFERENCE, comparable, one_of, with_case, with_pair};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::text::levenshtein_distance;
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Author's part of a [`SequenceDistance`].
pub trait Distance: DeserializeOwned {
    /// Returns its name in suites.
    fn name() -> &'static str;

    /// Returns the version, the description and the parameters; the shape adds its inputs and parameters.
    fn spec() -> MetricSpec;

    /// Returns the distance of the texts, 0 or more; default: the Levenshtein distance.
    fn distance(&self, prediction: &str, reference: &str) -> f64 {
        levenshtein_distance(prediction, reference) as f64
    }
}

/// Scores the similarity of a prediction to its reference.
///
/// Both are trimmed, white space is collapsed, and case is ignored unless the parameter `case_sensitive` is
/// true. Missing texts count as empty. The parameter `normalize` selects how the distance d becomes a score,
/// with lengths in characters:
///
/// - `anls` (the default): max(1 − d / the longer length, 0)
/// - `wer`: max(1 − d / the length of the reference, 0)
/// - `raw`: d itself, lower is better
///
/// Two empty texts score 1, or 0 with `raw`. Inputs are the same as for [`Comparison`](super::Comparison).
/// The card's detail contains `distance`, `normalized` (the score) and `strategy`.
pub struct SequenceDistance<D> {
    distance: D,
    strategy: Strategy,
    case_sensitive: bool,
}

#[derive(Clone, Copy)]
enum Strategy {
    Anls,
    Wer,
    Raw,
}

const STRATEGIES: [(&str, Strategy); 3] =
    [("anls", Strategy::Anls), ("wer", Strategy::Wer), ("raw", Strategy::Raw)];

#[derive(Deserialize)]
#[serde(default)]
struct DistanceParams {
    normalize: String,
    case_sensitive: bool,
}

impl Default for DistanceParams {
    fn default() -> DistanceParams {
        DistanceParams { normalize: "anls".to_owned(), case_sensitive: false }
    }
}

impl Strategy {
    fn name(self) -> &'static str {
        match self {
            Strategy::Anls => "anls",
            Strategy::Wer => "wer",
            Strategy::Raw => "raw",
        }
    }

    fn apply(self, distance: f64, prediction: &str, reference: &str) -> f64 {
        let length = |text: &str| text.chars().count();
        let whole = match self {
            Strategy::Raw => return distance,
            Strategy::Anls => length(prediction).max(length(reference)),
            Strategy::Wer => length(reference),
        };
        if prediction.is_empty() && reference.is_empty() {
            return 1.0;
        }
        (1.0 - distance / whole.max(1) as f64).max(0.0)
    }
}

impl<D: Distance> Metric for SequenceDistance<D> {
    fn name() -> &'static str {
        D::name()
    }

    fn spec() -> MetricSpec {
        let mut spec = with_case(with_pair(D::spec(), ValueKind::Text)).param(
            "normalize",
            json!({ "type": "string", "default": "anls", "description": "how the distance becomes the score: `anls`, `wer` or `raw`" }),
        );
        // A raw distance may be larger.
        spec.values[0].maximum = None;
        spec
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let DistanceParams { normalize, case_sensitive } = from_params(params.clone())?;
        let strategy = one_of("normalize", &normalize, &STRATEGIES)?;
        Ok(SequenceDistance { distance: from_params(params)?, strategy, case_sensitive })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let text = |index| comparable(inputs.text(index).unwrap_or_default(), self.case_sensitive);
        let (prediction, reference) = (text(PREDICTION), text(REFERENCE));
        let distance = self.distance.distance(&prediction, &reference);
        let score = self.strategy.apply(distance, &prediction, &reference);
        Ok(ScoreCard::of(score).add_detail([
            ("distance", distance.into()),
            ("normalized", score.into()),
            ("strategy", self.strategy.name().into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;
    use crate::metric::Value;

    #[derive(Deserialize)]
    struct Plain {}

    impl Distance for Plain {
        fn name() -> &'static str {
            "plain"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "")
        }
    }

    #[test]
    fn distances_become_scores() {
        for (prediction, reference, strategy, distance, expected) in [
            ("kitten", "sitting", "anls", 3.0, 0.571_428_571_428_571_4),
            ("kitten", "sitting", "WER", 3.0, 0.571_428_571_428_571_4),
            ("kitten", "sitting", "raw", 3.0, 3.0),
            ("", "", "anls", 0.0, 1.0),
            ("", "", "wer", 0.0, 1.0),
            ("", "", "raw", 0.0, 0.0),
            ("", "a", "anls", 1.0, 0.0),
            ("a", "", "wer", 1.0, 0.0),
            ("A  B", "a b", "anls", 0.0, 1.0),
            ("abcdefgh", "a", "anls", 7.0, 0.125),
            ("abcdefgh", "a", "wer", 7.0, 0.0),
            ("北京", "东京", "anls", 1.0, 0.5),
            ("x", "xyz", "anls", 2.0, 0.333_333_333_333_333_37),
        ] {
            let inputs = [prediction.into(), reference.into()];
            let card = score::<SequenceDistance<Plain>>(json!({ "normalize": strategy }), &inputs).unwrap();
            assert_eq!(card.primary_score, Some(expected), "{prediction:?} {reference:?} {strategy}");
            assert_eq!(detail(&card, "distance"), distance);
        }
    }

    #[test]
    fn parameters() {
        let score = |params| score::<SequenceDistance<Plain>>(params, &["A".into(), "a".into()]);
        assert_eq!(score(json!({})).unwrap().primary_score, Some(1.0));
        assert_eq!(score(json!({ "case_sensitive": true })).unwrap().primary_score, Some(0.0));
        let error = score(json!({ "normalize": "cer" })).unwrap_err();
        assert_eq!(error.message, "params: 'normalize' must be one of anls, wer, raw, not 'cer'");
        let nothing = [Value::Absent, Value::Absent];
        let card = super::super::testing::score::<SequenceDistance<Plain>>(json!({}), &nothing).unwrap();
        assert_eq!(card.primary_score, Some(1.0));
    }
}
