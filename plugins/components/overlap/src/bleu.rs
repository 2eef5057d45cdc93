//! `bleu`: n-grams that a translation shares with its references.

use crate::compared::{Common, ComparedTexts, with_common};
use crate::translation_tokens::TranslationTokenizer;
use gage_overlap_kit::bleu::MAX_ORDER;
use gage_overlap_kit::ngrams::{Ngrams, Occurrences, common, total};
use gage_overlap_kit::vocabulary::Vocabulary;
use gage_overlap_kit::{BleuCounts, BleuScoring};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::references::Accepts;
use gage_text_kit::text::{lower, words};
use serde::Serialize;
use std::borrow::Cow;

const DEFAULT_MAX_ORDER: u8 = 4;

/// BLEU of one translation, 0 to 100, computed like `sentence_bleu` of sacreBLEU 2. The sub-scores are the precisions
/// in percent and the brevity penalty. The detail holds the counts, from which the aggregator `corpus_bleu` computes
/// the figure of a corpus. The mean of this metric is not BLEU.
///
/// An n-gram counts at most as often as in the reference that has it most often. The length is that of the reference
/// nearest in length. An empty translation scores 0 with its counts. Without a prediction or a reference the score is 0
/// without counts, with the tag `missing_prediction` or `missing_reference`. Time and space grow with the length times
/// the orders: texts of more than some 500,000 bytes may exceed the budget of an item.
pub struct Bleu {
    common: Common,
    tokenizer: TranslationTokenizer,
    lowercase: bool,
    largest_order: usize,
    scoring: BleuScoring,
}

/// Detail of a card. The key of the counts is [`gage_overlap_kit::bleu::DETAIL_KEY`].
#[derive(Serialize)]
struct Detail<'item> {
    bleu: &'item BleuCounts,
    compared: ComparedTexts<'item>,
}

impl Metric for Bleu {
    fn name() -> &'static str {
        "bleu"
    }

    fn spec() -> MetricSpec {
        let mut spec = MetricSpec::new("3", "N-gram overlap of a translation with its references (BLEU)")
            .value_name("bleu")
            .unbounded(true)
            .at_least(0.0)
            .at_most(100.0)
            .sub_score("brevity_penalty", true)
            .sub_score("length_ratio", true);
        spec = with_common(spec)
            .param("tokenize", TranslationTokenizer::schema())
            .param("lowercase", flag_schema(false, "Ignore case"))
            .param(
                "max_ngram_order",
                json!({
                    "type": "integer", "minimum": 1, "maximum": MAX_ORDER,
                    "default": DEFAULT_MAX_ORDER, "description": "Longest n-grams that are counted",
                }),
            );
        BleuScoring::schema(true).into_iter().fold(spec, |spec, (name, schema)| spec.param(name, schema))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let largest_order = params.whole("max_ngram_order", 1..=MAX_ORDER, DEFAULT_MAX_ORDER)?;
        let tokenizers = TranslationTokenizer::NAMES;
        Ok(Bleu {
            common: Common::new(&params, Accepts::Texts)?,
            tokenizer: params.one_of("tokenize", &tokenizers, TranslationTokenizer::Mteval13a)?,
            lowercase: params.flag("lowercase", false)?,
            largest_order: usize::from(largest_order),
            scoring: BleuScoring::read(&params, true)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = self.common.prediction(inputs)?;
        self.common.score(prediction, inputs, |prediction, references| {
            let counts = self.counts(prediction, references);
            let ratio = counts.prediction_length as f64 / counts.reference_length.max(1) as f64;
            let first = references.first().map_or("", |reference| reference);
            let card = ScoreCard::of(self.scoring.score(&counts))
                .sub_score("brevity_penalty", counts.brevity_penalty())
                .sub_score("length_ratio", ratio)
                .detail(&Detail { bleu: &counts, compared: ComparedTexts::new(prediction, first) });
            Ok(match counts.prediction_length {
                0 => card.tag("empty_prediction"),
                _ => card,
            })
        })
    }
}

impl Bleu {
    fn counts(&self, prediction: &str, references: &[Cow<'_, str>]) -> BleuCounts {
        let prepared = self.prepared(prediction);
        let mut vocabulary = Vocabulary::default();
        let prediction: Vec<u32> =
            words(&prepared).map(|word| vocabulary.learn(Cow::Borrowed(word))).collect();
        let references: Vec<Vec<u32>> = references
            .iter()
            .map(|reference| words(&self.prepared(reference)).map(|word| vocabulary.find(word)).collect())
            .collect();
        let correct = match references.as_slice() {
            [only] => common(&prediction, only, self.largest_order),
            several => {
                let ngrams = Ngrams::new(&prediction, self.largest_order);
                let mut most = Occurrences::default();
                several.iter().for_each(|reference| most.raise_to(&ngrams.occurrences_in(reference)));
                ngrams.matches(&most).collect()
            }
        };
        let distance = |length: &usize| (length.abs_diff(prediction.len()), *length);
        let nearest = references.iter().map(Vec::len).min_by_key(distance);
        BleuCounts {
            prediction_length: prediction.len() as u64,
            reference_length: nearest.unwrap_or_default() as u64,
            correct,
            total: (1..=self.largest_order).map(|order| total(prediction.len(), order)).collect(),
        }
    }

    fn prepared<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if !self.lowercase {
            return self.tokenizer.prepare(text);
        }
        match lower(text) {
            Cow::Borrowed(text) => self.tokenizer.prepare(text),
            Cow::Owned(text) => Cow::Owned(self.tokenizer.prepare(&text).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn card(
        params: serde_json::Value,
        prediction: Value,
        references: Value,
    ) -> Result<ScoreCard, PluginError> {
        Bleu::prepare(params)?.score(Inputs::new(&[prediction, references]))
    }

    #[test]
    fn counts_are_in_the_detail() {
        let references = Value::from(json!(["the cat sat on the mat", "a cat sat"]));
        let Ok(card) = card(json!({ "threshold": 90 }), "the the cat sat".into(), references) else {
            panic!("texts are scored")
        };
        let Ok(detail) = serde_json::from_str::<serde_json::Value>(&card.detail) else {
            panic!("the detail is JSON")
        };
        assert_eq!(
            detail["bleu"],
            json!({
                "prediction_length": 4, "reference_length": 3,
                "correct": [4, 2, 1, 0], "total": [4, 3, 2, 1],
            })
        );
        assert_eq!((card.pass, card.error_tags.as_slice()), (Some(false), &["low_overlap".to_owned()][..]));
    }

    #[test]
    fn scores() {
        let score = |params, prediction: &str, reference: &str| {
            card(params, prediction.into(), reference.into()).ok().and_then(|card| card.primary_score)
        };
        for (params, prediction, reference, expected) in [
            (json!({}), "the cat sat on the mat", "the cat sat on the mat", 100.0),
            (json!({}), "the cat", "the cat", 100.0),
            (json!({ "effective_order": false, "smooth_method": "none" }), "the cat", "the cat", 0.0),
            (json!({ "lowercase": true }), "The CAT", "the cat", 100.0),
            (json!({ "tokenize": "zh" }), "我喜欢猫。", "我喜欢猫。", 100.0),
            (json!({}), "dogs", "the cat", 0.0),
            (json!({}), "", "the cat", 0.0),
            (json!({}), "the cat", "", 0.0),
            (json!({}), "", "", 0.0),
        ] {
            let found = score(params.clone(), prediction, reference);
            assert!(
                found.is_some_and(|found| (found - expected).abs() < 1e-9),
                "{params} {prediction} {found:?}"
            );
        }
    }

    #[test]
    fn what_is_no_text_has_a_stated_result() {
        for (prediction, references, tag) in [
            (Value::Absent, "a".into(), "missing_prediction"),
            ("a".into(), Value::Absent, "missing_reference"),
            (Value::Absent, Value::Absent, "missing_reference"),
            ("".into(), "a".into(), "empty_prediction"),
        ] {
            let found =
                card(json!({}), prediction, references).map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), vec![tag.to_owned()])));
        }
        assert!(card(json!({}), Value::Number(f64::NAN), "a".into()).is_err());
        assert!(card(json!({}), "a".into(), Value::Number(1.0)).is_err());
        for params in [
            json!({ "max_ngram_order": 0 }),
            json!({ "tokenize": "ja-mecab" }),
            json!({ "lowercase": "false" }),
        ] {
            assert!(Bleu::prepare(params.clone()).is_err(), "{params}");
        }
    }

    #[test]
    fn megabytes_are_scored() {
        let text = "word, 中文 3.5 ".repeat(60_000);
        let found = card(json!({}), text.as_str().into(), text.as_str().into());
        assert!(found.is_ok_and(|card| card.primary_score.is_some_and(|score| score > 99.999)));
    }
}
