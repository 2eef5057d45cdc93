//! `word_perplexity`, `byte_perplexity`, `token_perplexity` and `bits_per_byte`: likelihood of whole texts.

use gage_score_kit::perplexity::DETAIL_KEY;
use gage_score_kit::{Measure, TextLikelihood};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::text::is_space;
use serde::Deserialize;
use std::marker::PhantomData;

const ROLLING: usize = 0;
const COUNTED: usize = 1;

/// Kind of perplexity metric.
pub trait PerplexityKind {
    /// Measure of the metric.
    const MEASURE: Measure;
    /// Description of the metric, for lists.
    const DESCRIPTION: &'static str;

    /// Returns the number of units that divide the loss.
    fn units(rolling: &Rolling) -> Option<u64>;
}

/// Likelihood of a whole text, as recorded by the host for `request: rolling_loglikelihood`; lower is better.
///
/// The score is that of the single text. The aggregator `corpus_perplexity` computes the figure of the corpus from the
/// detail of the cards: the mean of the perplexities of texts is not the perplexity of a corpus. The host counts words
/// like lm-evaluation-harness. If `counted_field` names a text, its words and bytes count: the text before its marks
/// were removed, for example.
///
/// There is no score without a recorded likelihood, or if the perplexity of a text is too large for a float. In the
/// latter case the text still counts in the figure of the corpus.
pub struct Perplexity<M>(PhantomData<M>);

/// Recorded likelihood of a text.
#[derive(Debug, Deserialize)]
pub struct Rolling {
    loglikelihood: Option<f64>,
    token_count: Option<u64>,
    byte_count: Option<u64>,
    word_count: Option<u64>,
}

impl<M: PerplexityKind> Metric for Perplexity<M> {
    fn name() -> &'static str {
        M::MEASURE.name()
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("3", M::DESCRIPTION)
            .value_name(M::MEASURE.name())
            .unbounded(false)
            .input("rolling", &["rolling_field"], &["model_output.rolling"], ValueKind::Json)
            // The default is no text, so that `on_missing_field` does not require one.
            .input("counted", &["counted_field"], &["model_output.rolling"], ValueKind::Any);
        MetricSpec { default_aggregation: "corpus_perplexity".to_owned(), ..spec }
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| Perplexity(PhantomData))
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let Some(mut rolling) = read(inputs.value(ROLLING))? else {
            let message = "there is no log-likelihood of a whole text; run the step with request: rolling_loglikelihood";
            return Ok(ScoreCard::none(message).tag("missing_prediction"));
        };
        if let Value::Text(text) = inputs.value(COUNTED) {
            rolling.word_count = u64::try_from(word_count(text)).ok();
            rolling.byte_count = u64::try_from(text.len()).ok();
        }
        let units = M::units(&rolling).unwrap_or(0);
        let likelihood = TextLikelihood {
            measure: M::MEASURE,
            loglikelihood: rolling.loglikelihood.unwrap_or(f64::NAN),
            units,
        };
        if !likelihood.is_sound() {
            return Err(refuse("must have a finite loglikelihood, and counts above 0"));
        }
        let value = likelihood.value();
        if !value.is_finite() {
            let message = format!(
                "the {} of a text of {units} with a log-likelihood of {} is too large for a number; bits_per_byte is not",
                M::MEASURE.name(),
                likelihood.loglikelihood
            );
            // The corpus still has a figure.
            return Ok(ScoreCard::none(message)
                .tag("out_of_range")
                .detail(&json!({ DETAIL_KEY: likelihood })));
        }
        Ok(ScoreCard::of(value).detail(&json!({ DETAIL_KEY: likelihood })))
    }
}

/// Counts words like `len(re.split(r"\s+", text))` of Python: white space at either end adds an empty word.
fn word_count(text: &str) -> usize {
    let is_gap = |(place, character): &(usize, char)| {
        let before = text.get(..*place).and_then(|before| before.chars().next_back());
        is_space(*character) && !before.is_some_and(is_space)
    };
    text.char_indices().filter(is_gap).count() + 1
}

fn refuse(problem: &str) -> PluginError {
    PluginError::invalid_input(format!(
        "rolling: {problem}; run the step with request: rolling_loglikelihood"
    ))
}

fn read(value: &Value) -> Result<Option<Rolling>, PluginError> {
    let Value::Json(json) = value else { return Ok(None) };
    serde_json::from_str(json).map_err(|error| {
        refuse(&format!("must be {{loglikelihood, token_count, byte_count, word_count}}: {error}"))
    })
}

/// Per word, as [`Measure::WordPerplexity`].
pub struct Words;

/// Per byte, as [`Measure::BytePerplexity`].
pub struct Bytes;

/// Per token, as [`Measure::TokenPerplexity`].
pub struct Tokens;

/// Per byte in bits, as [`Measure::BitsPerByte`].
pub struct Bits;

impl PerplexityKind for Words {
    const MEASURE: Measure = Measure::WordPerplexity;
    const DESCRIPTION: &'static str = "Perplexity per word of whole texts";

    fn units(rolling: &Rolling) -> Option<u64> {
        rolling.word_count
    }
}

impl PerplexityKind for Bytes {
    const MEASURE: Measure = Measure::BytePerplexity;
    const DESCRIPTION: &'static str = "Perplexity per byte of whole texts";

    fn units(rolling: &Rolling) -> Option<u64> {
        rolling.byte_count
    }
}

impl PerplexityKind for Tokens {
    const MEASURE: Measure = Measure::TokenPerplexity;
    const DESCRIPTION: &'static str = "Perplexity per token of whole texts";

    fn units(rolling: &Rolling) -> Option<u64> {
        rolling.token_count
    }
}

impl PerplexityKind for Bits {
    const MEASURE: Measure = Measure::BitsPerByte;
    const DESCRIPTION: &'static str = "Bits per byte of whole texts";

    fn units(rolling: &Rolling) -> Option<u64> {
        rolling.byte_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card<M: PerplexityKind>(rolling: Value) -> Result<ScoreCard, PluginError> {
        Perplexity::<M>::prepare(json!({}))?.score(Inputs::new(&[rolling.clone(), rolling]))
    }

    fn rolling(loglikelihood: serde_json::Value) -> Value {
        Value::from(json!({
            "loglikelihood": loglikelihood, "token_count": 8, "byte_count": 16, "word_count": 4,
        }))
    }

    #[test]
    fn scores() {
        let loglikelihood = -32.0 * std::f64::consts::LN_2;
        let cards = [
            (card::<Words>(rolling(json!(loglikelihood))), 256.0, "word_perplexity", 4),
            (card::<Bytes>(rolling(json!(loglikelihood))), 4.0, "byte_perplexity", 16),
            (card::<Tokens>(rolling(json!(loglikelihood))), 16.0, "token_perplexity", 8),
            (card::<Bits>(rolling(json!(loglikelihood))), 2.0, "bits_per_byte", 16),
        ];
        for (card, expected, name, units) in cards {
            let Ok(card) = card else { panic!("a card is made") };
            assert!(card.primary_score.is_some_and(|score| (score - expected).abs() < 1e-9), "{card:?}");
            let Ok(detail) = serde_json::from_str::<serde_json::Value>(&card.detail) else { panic!("JSON") };
            assert_eq!(detail["perplexity"]["measure"], name);
            assert_eq!(detail["perplexity"]["units"], units);
        }
    }

    #[test]
    fn another_text_may_be_counted() {
        for (text, words, bytes) in [("a b", 2, 3), (" a\n b ", 4, 6), ("é", 1, 2), ("", 1, 0)] {
            let inputs = [rolling(json!(-8.0)), Value::Text(text.to_owned())];
            let units = |card: Result<ScoreCard, PluginError>| {
                let detail = card.map(|card| card.detail).unwrap_or_default();
                serde_json::from_str(&detail).map_or(0, |detail: serde_json::Value| {
                    detail["perplexity"]["units"].as_u64().unwrap_or_default()
                })
            };
            assert_eq!(
                units(Perplexity::<Words>(PhantomData).score(Inputs::new(&inputs))),
                words,
                "{text:?}"
            );
            assert_eq!(
                units(Perplexity::<Bytes>(PhantomData).score(Inputs::new(&inputs))),
                bytes,
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_was_not_measured_has_no_score() {
        for (value, tag) in [
            (Value::Absent, "missing_prediction"),
            (Value::Json("null".to_owned()), "missing_prediction"),
            (rolling(json!(-1e6)), "out_of_range"),
        ] {
            let found = card::<Words>(value).map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((None, vec![tag.to_owned()])));
        }
        let too_large = card::<Words>(rolling(json!(-1e6))).map(|card| card.detail).unwrap_or_default();
        assert!(too_large.contains(r#""loglikelihood":-1000000.0,"units":4"#), "{too_large}");
        for value in [
            rolling(json!(null)),
            Value::Json(r#"{"loglikelihood": -1e400, "word_count": 2}"#.to_owned()),
            Value::Json(r#"{"loglikelihood": -1, "word_count": 0}"#.to_owned()),
            Value::Json(r#"{"loglikelihood": -1}"#.to_owned()),
            Value::Json("-1".to_owned()),
        ] {
            assert!(card::<Words>(value.clone()).is_err(), "{value:?}");
        }
    }
}
