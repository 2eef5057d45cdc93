//! `rouge_l`: the longest common subsequence of words with a reference.

use crate::compared::{Common, ComparedTexts, with_common, with_notes};
use gage_overlap_kit::rouge::{Rouge, ScoreSelection, add_share, reading, with_reading};
use gage_overlap_kit::vocabulary::TextReader;
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, serde_json};
use gage_text_kit::Params;
use gage_text_kit::references::Accepts;

const LINES: [&str; 3] = ["rouge_lsum", "rouge_lsum_precision", "rouge_lsum_recall"];

/// F1 of the longest common subsequence of words, 0 to 1, over the whole text (`rougeL` of the
/// `rouge-score` package), with precision and recall; and over its lines (`rougeLsum`). Of several
/// references the one with the best F1 counts.
///
/// Without a prediction or a reference the score is 0, with the tag `missing_prediction` or
/// `missing_reference`; if either has no words, with `empty_prediction` or `empty_reference`.
///
/// Time grows with the number of pairs of equal words. Texts of more than 16,000 words each may be an error if they
/// differ throughout, especially if they have few distinct words. Texts of more than some 11,000 words per line have no
/// `rouge_lsum`.
pub struct RougeL {
    common: Common,
    reading: TextReader,
}

impl Metric for RougeL {
    fn name() -> &'static str {
        "rouge_l"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("4", "Longest common subsequence of words with a reference (ROUGE-L)")
            .value_name("rouge_l")
            .sub_score("precision", true)
            .sub_score("recall", true);
        let spec = LINES.iter().fold(spec, |spec, name| spec.sub_score(name, true));
        with_reading(with_common(spec))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(RougeL { common: Common::new(&params, Accepts::Texts)?, reading: reading(&params)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = self.common.prediction(inputs)?;
        self.common.score(prediction, inputs, |prediction, references| {
            let rouge = Rouge::new(self.reading, ScoreSelection::Subsequences, prediction, references);
            let Some(whole) = rouge.whole else {
                return Err(PluginError::unsupported(format!(
                    "texts of {} and {} words are too long for their longest common subsequence; \
                     score a part of them, or use 'reference_rouge'",
                    rouge.words.0, rouge.words.1
                )));
            };
            let reference = references.get(rouge.best).map_or("", |reference| reference);
            let mut card = ScoreCard::of(whole.f1)
                .sub_score("precision", whole.precision)
                .sub_score("recall", whole.recall)
                .detail(&ComparedTexts::new(prediction, reference));
            if let Some(lines) = rouge.lines {
                card = add_share(card, LINES, lines, |value| value);
            }
            Ok(with_notes(card, &rouge))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use gage_sdk::metric::Value;
    use proptest::prelude::*;

    fn card(prediction: Value, references: Value) -> Result<ScoreCard, PluginError> {
        RougeL::prepare(json!({}))?.score(Inputs::new(&[prediction, references]))
    }

    fn scores(prediction: &str, references: serde_json::Value) -> Option<(f64, f64)> {
        let card = card(prediction.into(), references.into()).ok()?;
        let lines = card.sub_scores.iter().find(|score| score.name == "rouge_lsum")?;
        Some((card.primary_score?, lines.value))
    }

    #[test]
    fn lines_are_compared_one_by_one() {
        for (prediction, references, expected) in [
            ("b\na", json!("a\nb"), (0.5, 1.0)),
            ("b a", json!("a b"), (0.5, 0.5)),
            ("营收增长", json!(["营收", "营收增长了"]), (8.0 / 9.0, 8.0 / 9.0)),
            ("", json!("a"), (0.0, 0.0)),
            ("\n\n", json!("\n"), (0.0, 0.0)),
        ] {
            let Some((whole, lines)) = scores(prediction, references) else { panic!("{prediction:?}") };
            assert!((whole - expected.0).abs() < 1e-12, "{prediction:?} {whole}");
            assert!((lines - expected.1).abs() < 1e-12, "{prediction:?} {lines}");
        }
    }

    #[test]
    fn other_inputs_have_a_stated_result() {
        for (prediction, references, tag) in [
            (Value::Absent, "a".into(), "missing_prediction"),
            ("a".into(), Value::Absent, "missing_reference"),
            (Value::Absent, Value::Absent, "missing_reference"),
            ("😀".into(), "a".into(), "empty_prediction"),
            ("a".into(), "".into(), "empty_reference"),
        ] {
            let found = card(prediction, references).map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), vec![tag.to_owned()])));
        }
        assert!(card(Value::Number(1.0), "a".into()).is_err());
        assert!(card("a".into(), json!([{ "id": 1 }]).into()).is_err());
    }

    #[test]
    fn megabytes_are_an_error_unless_they_are_nearly_the_same() {
        let words = |order: &mut dyn Iterator<Item = u32>| {
            order.map(|number| format!("word{number} ")).collect::<String>()
        };
        let forward = words(&mut (0..100_000).map(|place| place % 7));
        let backward = words(&mut (0..100_000).map(|place| place % 11 % 7));
        let error = card(forward.as_str().into(), backward.as_str().into());
        assert!(error.is_err_and(|error| error.message.starts_with("texts of 100000 and 100000 words")));
        let changed = forward.replacen("word5 ", "other ", 1);
        let same = card(forward.as_str().into(), changed.as_str().into());
        assert_eq!(same.map(|card| card.primary_score), Ok(Some(0.999_99)));
    }

    proptest! {
        #[test]
        fn scores_are_within_bounds_and_equal_texts_have_the_best(
            prediction in "[ab中\u{301} \n]{0,60}", reference in "[abc中 \n]{0,60}",
        ) {
            let found = scores(&prediction, json!([&reference]));
            let within = |value: f64| (0.0..=1.0).contains(&value);
            prop_assert!(found.is_some_and(|(whole, lines)| within(whole) && within(lines)));
            let same = scores(&reference, json!(reference));
            let expected = if reference.trim().is_empty() { 0.0 } else { 1.0 };
            prop_assert_eq!(same, Some((expected, expected)));
        }
    }
}
