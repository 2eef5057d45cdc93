//! `chrf`: n-grams of characters that a translation shares with its references.

use crate::compared::{Common, ComparedTexts, with_common};
use gage_overlap_kit::chrf::{ChrfDetail, MAX_ORDER};
use gage_overlap_kit::ngrams::{Ngrams, common, total};
use gage_overlap_kit::vocabulary::Vocabulary;
use gage_overlap_kit::{ChrfCounts, ChrfShape};
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::{flag_schema, number_schema};
use gage_text_kit::references::Accepts;
use gage_text_kit::text::{is_space, lower, words};
use serde::Serialize;
use std::borrow::Cow;

/// Ratio of an answer's length to its longest reference above which not all n-grams are kept.
const MUCH_LONGER: usize = 8;
const CHAR_ORDER: u8 = 6;
const WORD_ORDER: u8 = 0;
const BETA: f64 = 2.0;

/// chrF of one translation, 0 to 100, computed like sacreBLEU 2; chrF++ with `word_order` 2. The detail holds the
/// counts, from which the aggregator `corpus_chrf` computes the figure of a corpus.
///
/// The reference with the best score counts. An empty translation scores 0 with its counts. Without a prediction or a
/// reference the score is 0 without counts, with the tag `missing_prediction` or `missing_reference`. Time and space
/// grow with the length times the orders: texts of more than some 300,000 characters may exceed the budget of an item.
pub struct Chrf {
    common: Common,
    lowercase: bool,
    whitespace: bool,
    shape: ChrfShape,
}

/// Detail of a card. The key of the counts is [`gage_overlap_kit::chrf::DETAIL_KEY`].
#[derive(Serialize)]
struct Detail<'item> {
    chrf: ChrfDetail,
    compared: ComparedTexts<'item>,
}

impl Metric for Chrf {
    fn name() -> &'static str {
        "chrf"
    }

    fn spec() -> MetricSpec {
        let order = |default: u8, description: &str| {
            json!({
                "type": "integer", "minimum": 0, "maximum": MAX_ORDER, "default": default,
                "description": description,
            })
        };
        let spec =
            MetricSpec::new("3", "Character n-gram overlap of a translation with its references (chrF)")
                .value_name("chrf")
                .unbounded(true)
                .at_least(0.0)
                .at_most(100.0);
        with_common(spec)
            .param("char_order", order(CHAR_ORDER, "Longest character n-grams that are counted"))
            .param("word_order", order(WORD_ORDER, "Longest word n-grams that are counted; 2 for chrF++"))
            .param("beta", number_schema("Weight of recall relative to precision; default 2"))
            .param("lowercase", flag_schema(false, "Ignore case"))
            .param("whitespace", flag_schema(false, "Count white space as characters"))
            .param(
                "eps_smoothing",
                flag_schema(false, "Include orders without n-grams, as chrF++.py, NLTK and Moses do"),
            )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let shape = ChrfShape {
            char_order: params.whole("char_order", 0..=MAX_ORDER, CHAR_ORDER)?,
            word_order: params.whole("word_order", 0..=MAX_ORDER, WORD_ORDER)?,
            beta: params.within("beta", 0.0..=1000.0)?.unwrap_or(BETA),
            eps_smoothing: params.flag("eps_smoothing", false)?,
        };
        if !shape.is_sound() {
            let message = "params: 'char_order' and 'word_order' must not both be 0";
            return Err(PluginError::invalid_config(message).at("/char_order"));
        }
        Ok(Chrf {
            common: Common::new(&params, Accepts::Texts)?,
            lowercase: params.flag("lowercase", false)?,
            whitespace: params.flag("whitespace", false)?,
            shape,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = self.common.prediction(inputs)?;
        self.common.score(prediction, inputs, |prediction, references| {
            let (score, counts, best) = self.best(prediction, references);
            let reference = references.get(best).map_or("", |reference| reference);
            let detail = Detail {
                chrf: ChrfDetail { shape: self.shape, counts },
                compared: ComparedTexts::new(prediction, reference),
            };
            let card = ScoreCard::of(score).detail(&detail);
            Ok(if prediction.chars().all(is_space) { card.tag("empty_prediction") } else { card })
        })
    }
}

impl Chrf {
    /// Returns the best score, its counts, and the index of its reference.
    fn best(&self, prediction: &str, references: &[Cow<'_, str>]) -> (f64, ChrfCounts, usize) {
        let prediction = self.prepared(prediction);
        let characters = self.characters(&prediction);
        let mut vocabulary = Vocabulary::default();
        let prediction_words: Vec<u32> =
            self.words(&prediction).map(|word| vocabulary.learn(Cow::Borrowed(word))).collect();
        let (char_order, word_order) =
            (usize::from(self.shape.char_order), usize::from(self.shape.word_order));
        let longest = references.iter().map(|reference| reference.len()).max().unwrap_or_default();
        // If an answer is much longer than its references, not all of its n-grams need to be kept.
        let kept = (prediction.len() / MUCH_LONGER <= longest)
            .then(|| (Ngrams::new(&characters, char_order), Ngrams::new(&prediction_words, word_order)));
        let mut best: Option<(f64, ChrfCounts, usize)> = None;
        for (place, reference) in references.iter().enumerate() {
            let reference = self.prepared(reference);
            let reference_words: Vec<u32> =
                self.words(&reference).map(|word| vocabulary.find(word)).collect();
            let reference_characters = self.characters(&reference);
            let of = |kept: Option<&Ngrams>, predicted: &[u32], reference: &[u32], orders| {
                let matches = match kept {
                    Some(ngrams) => ngrams.matches(&ngrams.occurrences_in(reference)).collect(),
                    None => common(predicted, reference, orders),
                };
                counts(&matches, predicted.len(), reference.len())
            };
            let (of_characters, of_words) =
                (kept.as_ref().map(|kept| &kept.0), kept.as_ref().map(|kept| &kept.1));
            let mut counts = of(of_characters, &characters, &reference_characters, char_order);
            counts.extend(of(of_words, &prediction_words, &reference_words, word_order));
            let counts = ChrfCounts(counts);
            let score = self.shape.score(&counts);
            if best.as_ref().is_none_or(|(best, ..)| score > *best) {
                best = Some((score, counts, place));
            }
        }
        best.unwrap_or_default()
    }

    fn prepared<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if self.lowercase { lower(text) } else { Cow::Borrowed(text) }
    }

    fn characters(&self, text: &str) -> Vec<u32> {
        let counts = |character: &char| self.whitespace || !is_space(*character);
        if self.shape.char_order == 0 {
            return Vec::new();
        }
        text.chars().filter(counts).map(u32::from).collect()
    }

    /// Returns the words, if they count at all.
    fn words<'text>(&self, text: &'text str) -> impl Iterator<Item = &'text str> {
        let text = if self.shape.word_order == 0 { "" } else { text };
        words(text).flat_map(|word| {
            let (word, punctuation) = split_punctuation(word);
            std::iter::once(word).chain(punctuation)
        })
    }
}

/// Splits one ASCII punctuation mark from a word: from its end, or else from its beginning.
fn split_punctuation(word: &str) -> (&str, Option<&str>) {
    let is_mark = |character: char| character.is_ascii_punctuation();
    if word.len() > 1 && word.ends_with(is_mark) {
        word.split_at_checked(word.len() - 1).map_or((word, None), |(word, mark)| (word, Some(mark)))
    } else if word.len() > 1 && word.starts_with(is_mark) {
        word.split_at_checked(1).map_or((word, None), |(mark, word)| (mark, Some(word)))
    } else {
        (word, None)
    }
}

/// Returns the counts of each order.
fn counts(matches: &[u64], predicted: usize, expected: usize) -> Vec<[u64; 3]> {
    (1..)
        .zip(matches)
        .map(|(order, matched)| {
            let expected = total(expected, order);
            // If the reference has none, the n-grams of the prediction have no counterpart.
            let predicted = if expected > 0 { total(predicted, order) } else { 0 };
            [predicted, expected, *matched]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;
    use proptest::prelude::*;

    fn card(
        params: serde_json::Value,
        prediction: Value,
        references: Value,
    ) -> Result<ScoreCard, PluginError> {
        Chrf::prepare(params)?.score(Inputs::new(&[prediction, references]))
    }

    fn score(params: serde_json::Value, prediction: &str, reference: &str) -> Option<f64> {
        card(params, prediction.into(), reference.into()).ok()?.primary_score
    }

    #[test]
    fn scores() {
        for (params, prediction, reference, expected) in [
            (json!({}), "the cat", "the cat", 100.0),
            (json!({}), "the cat", "THE CAT", 0.0),
            (json!({ "lowercase": true }), "the cat", "THE CAT", 100.0),
            (json!({ "char_order": 1 }), "ab", "a b c d", 100.0 * 5.0 * 0.5 / 4.5),
            (
                json!({ "char_order": 1, "whitespace": 1 }),
                "ab",
                "a b",
                100.0 * 5.0 * (2.0 / 3.0) / (14.0 / 3.0),
            ),
            (json!({ "char_order": 0, "word_order": 1, "beta": 1 }), "(cat) sat", "(cat sat", 100.0 / 3.0),
            (json!({}), "", "", 0.0),
            (json!({}), "", "a", 0.0),
            (json!({}), "a", "", 0.0),
        ] {
            let found = score(params.clone(), prediction, reference);
            assert!(
                found.is_some_and(|found| (found - expected).abs() < 1e-9),
                "{params} {prediction} {found:?}"
            );
        }
    }

    #[test]
    fn words_lose_one_mark() {
        for (word, expected) in [
            ("(hi)", ("(hi", Some(")"))),
            ("(hi", ("(", Some("hi"))),
            ("é.", ("é", Some("."))),
            ("。", ("。", None)),
            ("!", ("!", None)),
            ("hi", ("hi", None)),
        ] {
            assert_eq!(split_punctuation(word), expected);
        }
    }

    #[test]
    fn what_is_no_text_has_a_stated_result() {
        for (prediction, references, tag) in [
            (Value::Absent, "a".into(), "missing_prediction"),
            ("a".into(), Value::Absent, "missing_reference"),
            (Value::Absent, Value::Absent, "missing_reference"),
            (" \n".into(), "a".into(), "empty_prediction"),
        ] {
            let found =
                card(json!({}), prediction, references).map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), vec![tag.to_owned()])));
        }
        assert!(card(json!({}), Value::Boolean(true), "a".into()).is_err());
        for params in [
            json!({ "char_order": 0 }),
            json!({ "word_order": 17 }),
            json!({ "beta": -1 }),
            json!({ "beta": "nan" }),
            json!({ "beta": "1e400" }),
        ] {
            assert!(Chrf::prepare(params.clone()).is_err(), "{params}");
        }
    }

    #[test]
    fn long_texts_are_scored() {
        let text = "word, 中文 3.5 ".repeat(20_000);
        let found = card(json!({}), text.as_str().into(), text.as_str().into());
        assert!(found.is_ok_and(|card| card.primary_score.is_some_and(|score| score > 99.999)));
    }

    proptest! {
        #[test]
        fn scores_are_within_bounds_and_equal_texts_have_the_best(
            prediction in "\\PC{0,40}", reference in "\\PC{0,40}", word_order in 0u8..3, eps in any::<bool>(),
        ) {
            let params = json!({ "word_order": word_order, "eps_smoothing": eps });
            let found = score(params, &prediction, &reference);
            prop_assert!(found.is_some_and(|found| (0.0..=100.000_001).contains(&found)));
            let same = score(json!({ "word_order": word_order }), &reference, &reference);
            let expected = if reference.chars().all(is_space) { 0.0 } else { 100.0 };
            prop_assert!(same.is_some_and(|same| (same - expected).abs() < 1e-9));
        }
    }
}
