//! `token_f1`: the words that an answer shares with a reference.

use crate::compared::{Common, ComparedTexts, empty_tag, with_common};
use gage_overlap_kit::ngrams::{Ngrams, total};
use gage_overlap_kit::rouge::{reading, with_reading};
use gage_overlap_kit::share::Share;
use gage_overlap_kit::vocabulary::TextReader;
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, serde_json};
use gage_text_kit::Params;
use gage_text_kit::references::Accepts;
use std::borrow::Cow;

/// F1 of the words that an answer and its reference share, 0 to 1, with precision and recall. Each word counts at most
/// as often as in the text that has fewer. The best of several references counts. Two texts without any words are
/// equal, 1; a text without words shares nothing with one that has them.
///
/// Without a prediction or a reference the score is 0, with the tag `missing_prediction` or
/// `missing_reference`. Time is linear in the length of the texts.
pub struct TokenF1 {
    common: Common,
    reading: TextReader,
}

impl Metric for TokenF1 {
    fn name() -> &'static str {
        "token_f1"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("3", "Word overlap of an answer with a reference (F1)")
            .value_name("f1")
            .sub_score("precision", true)
            .sub_score("recall", true);
        with_reading(with_common(spec))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(TokenF1 { common: Common::new(&params, Accepts::Scalars)?, reading: reading(&params)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = self.common.prediction(inputs)?;
        self.common.score(prediction, inputs, |prediction, references| {
            let (share, best, words) = self.best(prediction, references);
            let reference = references.get(best).map_or("", |reference| reference);
            let card = ScoreCard::of(share.f1)
                .sub_score("precision", share.precision)
                .sub_score("recall", share.recall)
                .detail(&ComparedTexts::new(prediction, reference));
            let tag = empty_tag(words.0, words.1).filter(|_| share.f1 == 0.0);
            Ok(tag.into_iter().fold(card, ScoreCard::tag))
        })
    }
}

impl TokenF1 {
    /// Returns the best share, the index of its reference, and the number of words in both.
    fn best(&self, prediction: &str, references: &[Cow<'_, str>]) -> (Share, usize, (usize, usize)) {
        let prepared = self.reading.tokenizer.prepare(prediction);
        let (vocabulary, prediction) = self.reading.learn(&prepared);
        let predicted = prediction.words.len();
        let ngrams = Ngrams::new(&prediction.words, 1);
        let (mut best, mut place, mut words) = (None, 0, (predicted, 0));
        for (number, reference) in references.iter().enumerate() {
            let reference = self.reading.find(&self.reading.tokenizer.prepare(reference), &vocabulary);
            let expected = reference.words.len();
            let occurrences = ngrams.occurrences_in(&reference.words);
            let matches = ngrams.matches(&occurrences).next().unwrap_or_default();
            let share = if predicted == 0 && expected == 0 {
                Share::new(1, 1, 1)
            } else {
                Share::new(matches, total(predicted, 1), total(expected, 1))
            };
            if Share::raise_to(&mut best, share) {
                place = number;
                words.1 = expected;
            }
        }
        (best.unwrap_or_default(), place, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use gage_sdk::metric::Value;
    use proptest::prelude::*;

    fn card(
        params: serde_json::Value,
        prediction: Value,
        references: Value,
    ) -> Result<ScoreCard, PluginError> {
        TokenF1::prepare(params)?.score(Inputs::new(&[prediction, references]))
    }

    #[test]
    fn scores() {
        for (params, prediction, references, expected, tag) in [
            (json!({}), "a a b".into(), json!(["c", "a b"]), 0.8, None),
            (json!({}), "上海".into(), json!("上海市"), 0.8, None),
            (json!({}), Value::Number(42.0), json!(["42"]), 1.0, None),
            (json!({}), "true".into(), json!([true]), 1.0, None),
            (json!({}), "".into(), json!("!"), 1.0, None),
            (json!({ "tokenizer": "whitespace" }), "".into(), json!("!"), 0.0, Some("empty_prediction")),
            (json!({}), "a".into(), json!(""), 0.0, Some("empty_reference")),
            (json!({}), Value::Absent, json!("a"), 0.0, Some("missing_prediction")),
            (json!({}), "a".into(), json!(null), 0.0, Some("missing_reference")),
            (json!({}), Value::Absent, json!([]), 0.0, Some("missing_reference")),
            (json!({ "use_stemmer": true }), "cats".into(), json!("cat"), 1.0, None),
        ] {
            let Ok(card) = card(params, prediction, references.clone().into()) else {
                panic!("{references} is scored")
            };
            assert!(card.primary_score.is_some_and(|score| (score - expected).abs() < 1e-9), "{references}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{references}");
        }
        assert!(card(json!({}), json!(["a"]).into(), "a".into()).is_err());
    }

    #[test]
    fn megabytes_are_scored() {
        let text = "word, 中文 3.5 ".repeat(60_000);
        let found = card(json!({}), text.as_str().into(), text.as_str().into());
        assert_eq!(found.map(|card| card.primary_score), Ok(Some(1.0)));
    }

    proptest! {
        #[test]
        fn f1_is_symmetric_and_equal_texts_have_all(left in "\\PC{0,40}", right in "\\PC{0,40}") {
            let score = |left: &str, right: &str| {
                card(json!({}), left.into(), right.into()).ok().and_then(|card| card.primary_score)
            };
            prop_assert_eq!(score(&left, &right), score(&right, &left));
            prop_assert!(score(&left, &right).is_some_and(|score| (0.0..=1.0).contains(&score)));
            prop_assert_eq!(score(&left, &left), Some(1.0));
        }
    }
}
