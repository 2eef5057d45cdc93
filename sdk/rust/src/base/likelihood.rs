use super::{Describe, one_of};
use crate::metric::{Inputs, Metric, MetricSpec, ValueKind};
use crate::text::flatten_numbers;
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde_json::json;
use std::marker::PhantomData;

/// The negative log-likelihood of an answer, or its perplexity; lower is better.
///
/// nll is the loss where there is one, otherwise −mean(log-probabilities of the tokens), which may
/// lie in nested lists; ppl is e to the power of nll. The parameter `metric_type`, `nll` (the default)
/// or `ppl`, says which of the two is the primary score, and the sub-score of that name. Without any data
/// there is no score, nor where the result is not finite.
///
/// Inputs: `loss`, path parameter `loss_field`, by default `model_output.loss`; `logprobs`, path
/// parameter `logprobs_field`, by default `model_output.token_logprobs`. The card's detail gets
/// `source`, `token_count` (null for a loss) and `metric_type`.
pub struct Likelihood<D> {
    is_perplexity: bool,
    describe: PhantomData<D>,
}

const LOSS: usize = 0;
const LOGPROBS: usize = 1;

#[derive(Deserialize)]
struct Params {
    #[serde(default = "nll")]
    metric_type: String,
}

fn nll() -> String {
    "nll".to_owned()
}

impl<D: Describe> Metric for Likelihood<D> {
    fn spec() -> MetricSpec {
        D::spec()
            .unbounded(false)
            .sub_score("nll", false)
            .sub_score("ppl", false)
            .param("metric_type", json!({ "type": "string", "default": "nll", "description": "nll or ppl" }))
            .input("loss", &["loss_field"], &["model_output.loss"], ValueKind::Any)
            .input("logprobs", &["logprobs_field"], &["model_output.token_logprobs"], ValueKind::Json)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let Params { metric_type } = from_params(params)?;
        let is_perplexity = one_of("metric_type", &metric_type, &[("nll", false), ("ppl", true)])?;
        Ok(Likelihood { is_perplexity, describe: PhantomData })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let logprobs = flatten_numbers(&inputs.json(LOGPROBS));
        let (nll, source, token_count) = match inputs.number(LOSS) {
            Some(loss) => (loss, "loss", None),
            None if logprobs.is_empty() => {
                return Ok(ScoreCard::none("there is neither a loss nor a log-probability"));
            }
            None => {
                let mean = logprobs.iter().sum::<f64>() / logprobs.len() as f64;
                (-mean, "token_logprobs", Some(logprobs.len()))
            }
        };
        let (name, value) = if self.is_perplexity { ("ppl", nll.exp()) } else { ("nll", nll) };
        if !value.is_finite() {
            return Ok(ScoreCard::none(format!("the {name} is not a finite number")));
        }
        Ok(ScoreCard::of(value).sub_score(name, value).add_detail([
            ("source", source.into()),
            ("token_count", token_count.into()),
            ("metric_type", name.into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;
    use crate::metric::Value;

    struct Plain;

    impl Describe for Plain {
        fn spec() -> MetricSpec {
            MetricSpec::new("plain", "1", "")
        }
    }

    #[test]
    fn likelihoods() {
        let absent = || Value::Absent;
        let list = |value: serde_json::Value| Value::from(value);
        for (params, loss, logprobs, expected, source) in [
            (json!({}), Value::Number(1.25), absent(), Some(1.25), json!("loss")),
            (json!({}), Value::Number(0.0), absent(), Some(0.0), json!("loss")),
            (json!({}), "1.25".into(), absent(), Some(1.25), json!("loss")),
            (json!({}), "x".into(), list(json!([-1.0])), Some(1.0), json!("token_logprobs")),
            (json!({}), Value::Number(1.0), list(json!([-5.0])), Some(1.0), json!("loss")),
            (
                json!({}),
                absent(),
                list(json!([[-0.1, -0.2], [-0.3, [-0.4]]])),
                Some(0.25),
                json!("token_logprobs"),
            ),
            (json!({}), absent(), list(json!([{ "logprob": -0.7 }])), Some(0.7), json!("token_logprobs")),
            (json!({}), absent(), absent(), None, json!(null)),
            (json!({}), absent(), list(json!([])), None, json!(null)),
            (
                json!({ "metric_type": "PPL" }),
                Value::Number(1.0),
                absent(),
                Some(std::f64::consts::E),
                json!("loss"),
            ),
        ] {
            let card = score::<Likelihood<Plain>>(params, &[loss, logprobs]).unwrap();
            assert_eq!(card.primary_score, expected, "{card:?}");
            assert_eq!(detail(&card, "source"), source);
        }
        let huge = [Value::Number(1000.0), Value::Absent];
        let perplexity = score::<Likelihood<Plain>>(json!({ "metric_type": "ppl" }), &huge).unwrap();
        assert_eq!(perplexity.primary_score, None);
        assert!(score::<Likelihood<Plain>>(json!({ "metric_type": "bits" }), &huge).is_err());
    }
}
