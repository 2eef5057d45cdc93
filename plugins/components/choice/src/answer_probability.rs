//! `answer_probability`: the probability of the right options among all.

use crate::scored_options::{ScoredOptions, with_continuations};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;

/// Probability of the right options among all: the softmax of the sums of log-probabilities.
///
/// Each of several references is right. For TruthfulQA with several right answers, this is the figure MC2 of Lin et al.,
/// "TruthfulQA: Measuring How Models Mimic Human Falsehoods", ACL 2022. Samples neither pass nor fail. There is no score
/// if `loglikelihood_accuracy` has none.
pub struct AnswerProbability;

impl Metric for AnswerProbability {
    fn name() -> &'static str {
        "answer_probability"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("2", "Probability of the correct options among all, by log-likelihood");
        with_continuations(spec.value_name("probability"))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| AnswerProbability)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        Ok(match ScoredOptions::read(inputs)? {
            Ok(options) => ScoreCard::of(options.softmax().right()).detail(&json!({})),
            Err(card) => card,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    #[test]
    fn right_options_share_the_probability() {
        let options = r#"{"A":"yes","B":"no","C":"maybe"}"#;
        let scores = r#"[{"id":"A","logprob":-1},{"id":"B","logprob":-1},{"id":"C","logprob":-1}]"#;
        for (reference, expected) in
            [(r#"["A","B"]"#, Some(2.0 / 3.0)), (r#"["C"]"#, Some(1.0 / 3.0)), (r#"["D"]"#, None)]
        {
            let json = |text: &str| Value::Json(text.to_owned());
            let inputs = [json(scores), json(reference), json(options), Value::Absent];
            let Ok(card) = AnswerProbability.score(Inputs::new(&inputs)) else { panic!("a card is made") };
            let is_close = match (card.primary_score, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
                (found, expected) => found == expected,
            };
            assert!(is_close && card.pass.is_none(), "{reference} {card:?}");
        }
    }
}
