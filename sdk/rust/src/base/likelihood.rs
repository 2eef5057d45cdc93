use super::{Describe, one_of};
use crate::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use crate::text::flatten_numbers;
use crate::value::number_to_json;
use crate::{PluginError, ScoreCard, from_params};
use serde::Deserialize;
use serde_json::json;
use std::marker::PhantomData;

/// Negative log-likelihood of an answer, its perplexity, or its bits per byte; lower is better.
///
/// nll is the loss if given, otherwise −mean(log-probabilities of the tokens); they are natural logarithms
/// and may be in nested lists. ppl is e to the power of nll (Jelinek et al. 1977). bits_per_byte is nll ·
/// tokens / (bytes · ln 2), which unlike ppl does not depend on the tokenizer (Gao et al. 2020).
///
/// For a whole text that the host scored (`request: rolling_loglikelihood`), nll is per token, and the host
/// supplies the number of bytes. Otherwise bits_per_byte needs the number of bytes, and for a loss the number
/// of tokens, both above 0. The parameter `metric_type`, `nll` (the default), `ppl` or `bits_per_byte`,
/// selects the primary score. Each figure that is known and finite is a sub-score under its name. If the
/// primary one is unknown or not finite, there is no score. A loss that is not a finite number counts as
/// missing; true is 1 and false is 0.
///
/// Inputs:
///
/// - `loss`, path parameter `loss_field`, default `model_output.loss`
/// - `logprobs`, path parameter `logprobs_field`, default `model_output.token_logprobs`, then
///   `model_output.rolling`, which the host records for a whole text
/// - `byte_count`, path parameter `byte_count_field`, default `model_output.byte_count`
/// - `token_count`, for a loss, path parameter `token_count_field`, default `model_output.token_count`
///
/// The card's detail contains `source`, `token_count` (null if unknown) and `metric_type`.
pub struct Likelihood<D> {
    figure: Figure,
    describe: PhantomData<D>,
}

const LOSS: usize = 0;
const LOGPROBS: usize = 1;
const BYTE_COUNT: usize = 2;
const TOKEN_COUNT: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Figure {
    Nll,
    Perplexity,
    BitsPerByte,
}

impl Figure {
    const ALL: [(&'static str, Figure); 3] =
        [("nll", Figure::Nll), ("ppl", Figure::Perplexity), ("bits_per_byte", Figure::BitsPerByte)];
}

#[derive(Deserialize)]
struct LikelihoodParams {
    #[serde(default = "nll")]
    metric_type: String,
}

fn nll() -> String {
    "nll".to_owned()
}

/// Data about the answer.
struct AnswerLoss {
    nll: f64,
    source: &'static str,
    tokens: Option<f64>,
    /// Number of bytes, if it comes from the same source.
    bytes: Option<f64>,
}

/// Record of the host for a scored whole text.
#[derive(Deserialize)]
struct Rolling {
    loglikelihood: f64,
    token_count: f64,
    byte_count: Option<f64>,
}

impl Rolling {
    fn known(self) -> Option<AnswerLoss> {
        let Rolling { loglikelihood, token_count, byte_count } = self;
        let nll = -loglikelihood / token_count;
        (token_count > 0.0).then_some(AnswerLoss {
            nll,
            source: "rolling",
            tokens: Some(token_count),
            bytes: byte_count.filter(|bytes| *bytes > 0.0),
        })
    }
}

impl AnswerLoss {
    fn read(inputs: Inputs<'_>) -> Option<AnswerLoss> {
        let loss = match inputs.value(LOSS) {
            Value::Boolean(loss) => Some(f64::from(u8::from(*loss))),
            _ => inputs.number(LOSS),
        };
        if let Some(nll) = loss {
            let tokens = inputs.number(TOKEN_COUNT).filter(|tokens| *tokens > 0.0);
            return Some(AnswerLoss { nll, source: "loss", tokens, bytes: None });
        }
        let logprobs = inputs.json(LOGPROBS);
        if logprobs.get("loglikelihood").is_some() {
            return serde_json::from_value(logprobs).ok().and_then(Rolling::known);
        }
        let logprobs = flatten_numbers(&logprobs);
        let tokens = logprobs.len() as f64;
        let mean = logprobs.iter().sum::<f64>() / tokens;
        (!logprobs.is_empty()).then_some(AnswerLoss {
            nll: -mean,
            source: "token_logprobs",
            tokens: Some(tokens),
            bytes: None,
        })
    }

    fn figure(&self, figure: Figure, bytes: Option<f64>) -> Option<f64> {
        let value = match figure {
            Figure::Nll => self.nll,
            Figure::Perplexity => self.nll.exp(),
            Figure::BitsPerByte => self.nll * self.tokens? / (bytes? * std::f64::consts::LN_2),
        };
        value.is_finite().then_some(value)
    }
}

impl<D: Describe> Metric for Likelihood<D> {
    fn name() -> &'static str {
        D::name()
    }

    fn spec() -> MetricSpec {
        let metric_type = json!({ "type": "string", "default": "nll", "description": "primary score: `nll`, `ppl` or `bits_per_byte`" });
        D::spec()
            .unbounded(false)
            .sub_score("nll", false)
            .sub_score("ppl", false)
            .sub_score("bits_per_byte", false)
            .param("metric_type", metric_type)
            .input("loss", &["loss_field"], &["model_output.loss"], ValueKind::Any)
            .input(
                "logprobs",
                &["logprobs_field"],
                &["model_output.token_logprobs", "model_output.rolling"],
                ValueKind::Json,
            )
            .input("byte_count", &["byte_count_field"], &["model_output.byte_count"], ValueKind::Any)
            .input("token_count", &["token_count_field"], &["model_output.token_count"], ValueKind::Any)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let LikelihoodParams { metric_type } = from_params(params)?;
        let figure = one_of("metric_type", &metric_type, &Figure::ALL)?;
        Ok(Likelihood { figure, describe: PhantomData })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let Some(known) = AnswerLoss::read(inputs) else {
            return Ok(ScoreCard::none("there is neither a loss nor a log-probability"));
        };
        let bytes = inputs.number(BYTE_COUNT).filter(|bytes| *bytes > 0.0).or(known.bytes);
        let mut card = ScoreCard { primary_score: known.figure(self.figure, bytes), ..ScoreCard::of(0.0) };
        let mut metric_type = "";
        for (name, figure) in Figure::ALL {
            let value = known.figure(figure, bytes);
            if let Some(value) = value {
                card = card.sub_score(name, value);
            }
            if figure == self.figure {
                metric_type = name;
                if value.is_none() {
                    card = card.explain(format!("{name} is not known, or not a finite number"));
                }
            }
        }
        let tokens = known.tokens.map(number_to_json);
        Ok(card.add_detail([
            ("source", known.source.into()),
            ("token_count", tokens.into()),
            ("metric_type", metric_type.into()),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detail, score};
    use super::*;
    use crate::SubScore;

    struct Plain;

    impl Describe for Plain {
        fn name() -> &'static str {
            "plain"
        }

        fn spec() -> MetricSpec {
            MetricSpec::new("1", "")
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
            (json!({}), Value::Boolean(true), absent(), Some(1.0), json!("loss")),
            (json!({}), "nan".into(), absent(), None, json!(null)),
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
        assert_eq!(perplexity.sub_scores, [SubScore { name: "nll".to_owned(), value: 1000.0 }]);
        assert!(score::<Likelihood<Plain>>(json!({ "metric_type": "bits" }), &huge).is_err());
    }

    /// Four tokens of two bits each in eight bytes, as the host records them for a whole text.
    #[test]
    fn whole_texts() {
        let bits = std::f64::consts::LN_2;
        let rolling =
            json!({ "loglikelihood": -8.0 * bits, "token_count": 4, "byte_count": 8, "word_count": 2 });
        for (metric_type, expected) in [("nll", 2.0 * bits), ("ppl", 4.0), ("bits_per_byte", 1.0)] {
            let inputs = [Value::Absent, Value::from(rolling.clone())];
            let card = score::<Likelihood<Plain>>(json!({ "metric_type": metric_type }), &inputs).unwrap();
            let found = card.primary_score.unwrap_or(f64::NAN);
            assert!((found - expected).abs() < 1e-12, "{metric_type}: {card:?}");
            assert_eq!((detail(&card, "source"), detail(&card, "token_count")), (json!("rolling"), json!(4)));
            assert_eq!(card.sub_scores.len(), 3);
        }
        for broken in [
            json!({ "loglikelihood": -1.0, "token_count": 0 }),
            json!({ "loglikelihood": -1.0 }),
            json!({ "loglikelihood": null, "token_count": 3 }),
        ] {
            let card = score::<Likelihood<Plain>>(json!({}), &[Value::Absent, Value::from(broken)]).unwrap();
            assert_eq!(card.primary_score, None, "{card:?}");
        }
    }

    /// Two tokens of one bit each, covering four bytes, are half a bit per byte.
    #[test]
    fn bits_per_byte() {
        let params = || json!({ "metric_type": "bits_per_byte" });
        let bit = -std::f64::consts::LN_2;
        let logprobs = || Value::from(json!([bit, bit]));
        for (inputs, expected) in [
            (vec![Value::Absent, logprobs(), Value::Number(4.0)], Some(0.5)),
            (vec![Value::Number(-bit), Value::Absent, Value::Number(4.0), Value::Number(2.0)], Some(0.5)),
            (vec![Value::Number(-bit), Value::Absent, Value::Number(4.0)], None),
            (vec![Value::Absent, logprobs(), Value::Number(0.0)], None),
            (vec![Value::Absent, logprobs()], None),
        ] {
            let card = score::<Likelihood<Plain>>(params(), &inputs).unwrap();
            match (card.primary_score, expected) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12),
                (found, expected) => assert_eq!(found, expected, "{card:?}"),
            }
            assert_eq!(card.explain.is_none(), expected.is_some());
        }
    }
}
