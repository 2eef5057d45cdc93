//! `pass_at_k`: how likely some of k attempts at a sample pass.

use crate::correctness::passed;
use gage_score_kit::{Repeats, estimator};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};

/// Unbiased estimate that at least one of k attempts passes, from the results of all attempts at a sample (Chen et al.
/// 2021; see [`estimator::at_least_one`]).
///
/// A result is a boolean, a number, or an object with `pass` or `score` of that kind; a number passes if it is at least
/// `threshold`, default 1. A single result needs no list. Anything else in the list is `invalid-input`: an unknown
/// result is not a failure.
///
/// `k` is an integer or a list, default 1. The primary score is that of the first; each is a sub-score under its name,
/// `pass@10`, if there are enough attempts. With fewer attempts than the first `k` there is no score. The time grows
/// with the attempts and with the sum of all k, 100 000 each at most.
///
/// Input: path parameter `results_field`, by default the first that exists of `model_output.results` and
/// `judge_output.results`.
pub struct PassAtK {
    repeats: Repeats,
    first: u64,
}

impl Metric for PassAtK {
    fn name() -> &'static str {
        "pass_at_k"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Probability that at least one of k attempts passes")
            .input(
                "results",
                &["results_field"],
                &["model_output.results", "judge_output.results"],
                ValueKind::Json,
            )
            .params(Repeats::schema())
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let repeats = Repeats::new(&params)?;
        let first = repeats.ks.first().copied().unwrap_or(1);
        Ok(PassAtK { repeats, first })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let results = match gage_text_kit::json::read(inputs.value(0), "results")? {
            Value::Null => Vec::new(),
            Value::Array(results) => results,
            single => vec![single],
        };
        let mut passes = 0;
        for (index, result) in results.iter().enumerate() {
            let Some(pass) = passed(result, self.repeats.threshold) else {
                let message = format!(
                    "result {index} must be a boolean, a number, or an object with 'pass' or 'score'"
                );
                return Err(PluginError::invalid_input(message).at(format!("/{index}")));
            };
            passes += u64::from(pass);
        }
        let attempts = results.len() as u64;
        let card = match estimator::at_least_one(attempts, passes, self.first) {
            Some(score) => ScoreCard::of(score).pass(passes > 0),
            None => ScoreCard::none(format!("{attempts} attempts are too few for pass@{}", self.first)),
        };
        let known =
            self.repeats.ks.iter().filter_map(|&k| Some((k, estimator::at_least_one(attempts, passes, k)?)));
        let card = known.fold(card, |card, (k, value)| card.sub_score(&format!("pass@{k}"), value));
        Ok(card.detail(&json!({ "attempts": attempts, "passes": passes })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ErrorKind;
    use gage_sdk::metric::Value as Input;

    fn card(params: Value, results: &str) -> Result<ScoreCard, PluginError> {
        PassAtK::prepare(params)?.score(Inputs::new(&[Input::Json(results.to_owned())]))
    }

    fn scores(card: &ScoreCard) -> (Option<f64>, Vec<(&str, f64)>) {
        let named = card.sub_scores.iter().map(|sub| (sub.name.as_str(), (sub.value * 1e9).round() / 1e9));
        (card.primary_score, named.collect())
    }

    #[test]
    fn results_of_every_kind() {
        for (params, results, expected) in [
            // 2 of 5 pass: 1 − C(3, 2) / C(5, 2) = 0.7.
            (
                json!({ "k": [1, 2, 9] }),
                "[true,false,1,0,0.9]",
                (Some(0.4), vec![("pass@1", 0.4), ("pass@2", 0.7)]),
            ),
            (json!({ "threshold": 0.5 }), r#"[0.5,{"score":0.4}]"#, (Some(0.5), vec![("pass@1", 0.5)])),
            (json!({}), r#"[{"pass":true,"score":0},{"pass":0}]"#, (Some(0.5), vec![("pass@1", 0.5)])),
            (json!({}), "true", (Some(1.0), vec![("pass@1", 1.0)])),
            (json!({ "k": 3 }), "[true,true]", (None, vec![])),
            (json!({ "k": [3, 1] }), "[true,false]", (None, vec![("pass@1", 0.5)])),
            (json!({}), "[]", (None, vec![])),
            (json!({}), "null", (None, vec![])),
        ] {
            let Ok(card) = card(params, results) else { panic!("{results} is scored") };
            assert_eq!(scores(&card), expected, "{results}");
        }
        let Ok(metric) = PassAtK::prepare(json!({})) else { panic!("the defaults are accepted") };
        let missing = metric.score(Inputs::new(&[Input::Absent]));
        assert_eq!(missing.map(|card| card.primary_score), Ok(None));
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for results in [r#"["yes"]"#, "[null]", "[[true]]", r#"[{"verdict":1}]"#, r#""true""#, "[1e400]"] {
            let kind = card(json!({}), results).map_err(|error| error.kind);
            assert!(matches!(kind, Err(ErrorKind::InvalidInput)), "{results}");
        }
        assert!(card(json!({ "k": 0 }), "[]").is_err());
    }

    #[test]
    fn many_attempts() {
        let results = format!("[{}1]", "0,".repeat(99_999));
        let Ok(card) = card(json!({ "k": [100_000, 1] }), &results) else { panic!("it is scored") };
        assert_eq!(scores(&card), (Some(1.0), vec![("pass@100000", 1.0), ("pass@1", 0.00001)]));
    }
}
