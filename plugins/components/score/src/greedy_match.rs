//! `greedy_match`: tests whether the model would have written the right continuation.

use gage_score_kit::perplexity::DETAIL_KEY;
use gage_score_kit::{Measure, TextLikelihood};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::value::as_text;
use serde::Deserialize;

const CONTINUATIONS: usize = 0;
const REFERENCE: usize = 1;

/// Scores 1 if each token of the right continuation is the most likely one, as for the last words of LAMBADA.
///
/// The sub-score `logprob` is the log-likelihood of the continuation. The aggregator `corpus_perplexity` computes
/// exp(−mean log-likelihood) from the detail of the cards, where each continuation counts as one word. Both figures are
/// those of the tasks of type `loglikelihood` in EleutherAI's lm-evaluation-harness (`acc` and `perplexity`).
///
/// There is no score if the server does not say which tokens are the most likely ones.
pub struct GreedyMatch;

/// Score of a continuation, as recorded by the host.
#[derive(Debug, Deserialize)]
struct Continuation {
    id: String,
    logprob: Option<f64>,
    is_greedy: Option<bool>,
}

impl Metric for GreedyMatch {
    fn name() -> &'static str {
        "greedy_match"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Checks that the correct continuation is the one that the model would write")
            .value_name("acc")
            .sub_score("logprob", true)
            .input(
                "continuations",
                &["continuations_field"],
                &["model_output.continuations"],
                ValueKind::Json,
            )
            .reference()
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| GreedyMatch)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let Some(right) = as_text(inputs.value(REFERENCE)) else {
            return Ok(ScoreCard::none("there is no reference").tag("missing_reference"));
        };
        let continuations = read(inputs.value(CONTINUATIONS))?;
        if continuations.is_empty() {
            let message = "there are no scores of continuations; run the step with request: loglikelihood";
            return Ok(ScoreCard::none(message).tag("missing_prediction"));
        }
        let Some(continuation) = continuations.iter().find(|continuation| continuation.id == right) else {
            let message = "the reference is none of the continuations";
            return Ok(ScoreCard::none(message).tag("unknown_reference"));
        };
        let Some(logprob) = continuation.logprob.filter(|logprob| logprob.is_finite()) else {
            return Err(refuse("must have a finite logprob"));
        };
        let Some(is_greedy) = continuation.is_greedy else {
            let message = "the server does not say which tokens are the most likely ones";
            return Ok(ScoreCard::none(message).tag("unsupported"));
        };
        let likelihood =
            TextLikelihood { measure: Measure::WordPerplexity, loglikelihood: logprob, units: 1 };
        let card = ScoreCard::binary(is_greedy)
            .sub_score("logprob", logprob)
            .detail(&json!({ DETAIL_KEY: likelihood }));
        Ok(if is_greedy { card } else { card.tag("wrong_answer") })
    }
}

fn refuse(problem: &str) -> PluginError {
    PluginError::invalid_input(format!("continuations: {problem}; run the step with request: loglikelihood"))
}

fn read(value: &Value) -> Result<Vec<Continuation>, PluginError> {
    let Value::Json(json) = value else { return Ok(Vec::new()) };
    let read: Result<Option<Vec<Continuation>>, serde_json::Error> = serde_json::from_str(json);
    let read =
        read.map_err(|error| refuse(&format!("must be a list of {{id, logprob, is_greedy}}: {error}")));
    read.map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(continuations: &str, reference: Value) -> Result<ScoreCard, PluginError> {
        GreedyMatch.score(Inputs::new(&[Value::Json(continuations.to_owned()), reference]))
    }

    #[test]
    fn the_right_continuation_counts() {
        let scores =
            r#"[{"id":"A","logprob":-2.5,"is_greedy":true},{"id":"B","logprob":-1,"is_greedy":false}]"#;
        for (reference, acc, logprob) in [("A", 1.0, -2.5), ("B", 0.0, -1.0)] {
            let Ok(card) = card(scores, reference.into()) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(acc));
            assert_eq!(card.sub_scores.first().map(|sub| sub.value), Some(logprob));
            let likelihood = r#"{"measure":"word_perplexity","loglikelihood":"#;
            assert!(card.detail.contains(likelihood), "{}", card.detail);
        }
    }

    #[test]
    fn what_was_not_measured_has_no_score() {
        for (continuations, reference, tag) in [
            ("[]", "A".into(), "missing_prediction"),
            ("null", "A".into(), "missing_prediction"),
            (r#"[{"id":"A","logprob":-1,"is_greedy":true}]"#, Value::Absent, "missing_reference"),
            (r#"[{"id":"A","logprob":-1,"is_greedy":true}]"#, "B".into(), "unknown_reference"),
            (r#"[{"id":"A","logprob":-1}]"#, "A".into(), "unsupported"),
        ] {
            let found = card(continuations, reference).map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((None, vec![tag.to_owned()])), "{continuations}");
        }
        for continuations in [r#"[{"id":"A","logprob":null,"is_greedy":true}]"#, "[1]", "-1"] {
            assert!(card(continuations, "A".into()).is_err(), "{continuations}");
        }
    }
}
