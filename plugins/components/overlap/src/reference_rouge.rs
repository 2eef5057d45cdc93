//! `reference_rouge`: words and word pairs that a summary shares with a reference.

use crate::compared::{
    Common, ComparedTexts, REFERENCE_PARAMS, REFERENCE_PATHS, with_common_params, with_notes,
};
use gage_overlap_kit::rouge::{Rouge, ScoreSelection, add_share, reading, with_reading};
use gage_overlap_kit::vocabulary::TextReader;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::answer::PredictionField;
use gage_text_kit::references::{Accepts, prediction};
use std::borrow::Cow;

/// Matches the program that first scored these suites.
const DECIMALS: u8 = 4;
/// More decimals are not exact in a float.
const MAX_DECIMALS: u8 = 15;

const SUB_SCORES: [[&str; 3]; 3] = [
    ["rouge2", "rouge2_precision", "rouge2_recall"],
    ["rouge_l", "rouge_l_precision", "rouge_l_recall"],
    ["rouge_lsum", "rouge_lsum_precision", "rouge_lsum_recall"],
];

/// F1 of the words that a text and its reference share (ROUGE-1), 0 to 1, with precision and recall. The same for
/// ROUGE-2, ROUGE-L and ROUGE-L over lines. The best of several references counts, separately for each of them. Values
/// are rounded to four decimals, or to `decimals`.
///
/// The text is the field `output_field` of the parsed answer. If that parameter is not set, it is `summary` of the
/// parsed answer, or else the answer itself. Without a prediction or a reference the score is 0, with the tag
/// `missing_prediction` or `missing_reference`; if either has no words, with `empty_prediction` or `empty_reference`.
/// Any other score below 1 has the tag `low_overlap`.
///
/// ROUGE-L is omitted if texts are too long for it; see [`RougeL`](crate::RougeL).
pub struct ReferenceRouge {
    common: Common,
    reading: TextReader,
    decimals: usize,
    output_field: PredictionField,
}

impl Metric for ReferenceRouge {
    fn name() -> &'static str {
        "reference_rouge"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("5", "Word overlap of a summary with its references (ROUGE)")
            .value_name("rouge1")
            .sub_score("rouge1_precision", true)
            .sub_score("rouge1_recall", true);
        let spec = SUB_SCORES.iter().flatten().fold(spec, |spec, name| spec.sub_score(name, true));
        let mut paths = vec!["sample.reference_summary", "sample.metadata.reference_summary"];
        paths.extend(REFERENCE_PATHS);
        let spec = spec
            .input(
                "prediction",
                &["prediction_field"],
                &["model_output.parsed.summary", "model_output.answer"],
                ValueKind::Any,
            )
            .input("references", &REFERENCE_PARAMS, &paths, ValueKind::Any)
            .input("parsed", &["parsed_field"], &["model_output.parsed"], ValueKind::Json);
        with_reading(with_common_params(spec))
            .param(
                "output_field",
                json!({
                    "type": ["string", "null"], "default": null,
                    "description": "Dotted path of the text in the parsed answer; default `summary`",
                }),
            )
            .param(
                "decimals",
                json!({
                    "type": ["integer", "string", "null"], "minimum": 0, "maximum": MAX_DECIMALS,
                    "default": DECIMALS,
                    "description": "Number of decimals that values are rounded to",
                }),
            )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(ReferenceRouge {
            common: Common::new(&params, Accepts::Texts)?,
            reading: reading(&params)?,
            decimals: usize::from(params.whole("decimals", 0..=MAX_DECIMALS, DECIMALS)?),
            output_field: PredictionField::at(params.text("output_field")?),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let prediction = self.prediction(inputs)?;
        let card = self.common.score(prediction, inputs, |prediction, references| {
            let rouge = Rouge::new(self.reading, ScoreSelection::All, prediction, references);
            let round = |value| round(value, self.decimals);
            let [unigrams, bigrams] = rouge.ngrams.map(Option::unwrap_or_default);
            let reference = references.get(rouge.best).map_or("", |reference| reference);
            let mut card = ScoreCard::of(round(unigrams.f1))
                .sub_score("rouge1_precision", round(unigrams.precision))
                .sub_score("rouge1_recall", round(unigrams.recall))
                .detail(&ComparedTexts::new(prediction, reference));
            for (names, share) in SUB_SCORES.into_iter().zip([Some(bigrams), rouge.whole, rouge.lines]) {
                if let Some(share) = share {
                    card = add_share(card, names, share, round);
                }
            }
            Ok(with_notes(card, &rouge))
        })?;
        Ok(explained(card))
    }
}

/// Adds the tag and the explanation of a score below 1.
fn explained(card: ScoreCard) -> ScoreCard {
    let score = card.primary_score.unwrap_or_default();
    if score >= 1.0 {
        return card;
    }
    let card = if card.error_tags.is_empty() { card.tag("low_overlap") } else { card };
    let value = |name: &str| {
        let sub = card.sub_scores.iter().find(|sub| sub.name == name);
        sub.map_or(0.0, |sub| sub.value)
    };
    let why = match card.error_tags.first().map(String::as_str) {
        Some("missing_prediction") => "there is no text".to_owned(),
        Some("missing_reference") => "there is no reference".to_owned(),
        Some("empty_prediction") => "the text has no words".to_owned(),
        Some("empty_reference") => "the reference has no words".to_owned(),
        _ => format!(
            "ROUGE-1 is {score}: {} of the text's words and {} of the reference's are shared",
            value("rouge1_precision"),
            value("rouge1_recall")
        ),
    };
    let why = card.explain.as_ref().map_or_else(|| why.clone(), |note| format!("{why}; {note}"));
    card.explain(why)
}

impl ReferenceRouge {
    fn prediction<'item>(&self, inputs: Inputs<'item>) -> Result<Option<Cow<'item, str>>, PluginError> {
        match self.output_field.prediction(inputs) {
            Cow::Borrowed(value) => prediction(value, Accepts::Texts),
            Cow::Owned(Value::Text(text)) => Ok(Some(Cow::Owned(text))),
            Cow::Owned(value) => {
                prediction(&value, Accepts::Texts).map(|text| text.map(|text| Cow::Owned(text.into_owned())))
            }
        }
    }
}

/// Rounds to some decimals, to the nearest value; a value exactly between two goes to the even one.
fn round(value: f64, decimals: usize) -> f64 {
    if value == 0.0 || value == 1.0 {
        return value;
    }
    // Scaling by a power of ten would round twice.
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(params: serde_json::Value, inputs: &[Value]) -> Result<ScoreCard, PluginError> {
        ReferenceRouge::prepare(params)?.score(Inputs::new(inputs))
    }

    fn score(params: serde_json::Value, prediction: &str, references: serde_json::Value) -> Option<f64> {
        card(params, &[prediction.into(), references.into()]).ok()?.primary_score
    }

    #[test]
    fn scores() {
        for (params, prediction, references, expected) in [
            (json!({}), "the cat", json!(["the cat sat down"]), 0.6667),
            (json!({ "decimals": 15 }), "the cat", json!(["the cat sat down"]), 0.666_666_666_666_667),
            (json!({}), "the the the", json!(["the cat"]), 0.4),
            (json!({}), "营收增长", json!(["dogs", { "text": "营收下滑" }]), 0.5),
            (json!({ "tokenizer": "rouge_score" }), "营收增长", json!("营收增长"), 0.0),
            (json!({ "use_stemmer": true }), "cats running", json!("the cat runs"), 0.8),
            (json!({}), "", json!("cat"), 0.0),
            (json!({}), "ＡＩ", json!("ai"), 1.0),
        ] {
            assert_eq!(
                score(params.clone(), prediction, references),
                Some(expected),
                "{params} {prediction}"
            );
        }
    }

    #[test]
    fn the_text_is_found_in_the_parsed_answer() {
        let parsed = Value::from(json!({ "summary": "a", "deep": [{ "text": "b" }], "list": ["b"], "n": 1 }));
        let inputs = ["b".into(), "b".into(), parsed];
        for (params, expected) in [
            (json!({}), Some(1.0)),
            (json!({ "output_field": "summary" }), Some(0.0)),
            (json!({ "output_field": "deep.0.text" }), Some(1.0)),
            (json!({ "output_field": "absent" }), Some(0.0)),
            (json!({ "output_field": "list" }), None),
            (json!({ "output_field": "n" }), None),
        ] {
            let found = card(params.clone(), &inputs).ok().and_then(|card| card.primary_score);
            assert_eq!(found, expected, "{params}");
        }
    }

    #[test]
    fn cards_say_why() {
        for (prediction, reference, tag) in [
            (Value::Absent, "a".into(), "missing_prediction"),
            ("a".into(), Value::Absent, "missing_reference"),
            ("a".into(), Value::from(json!([])), "missing_reference"),
            (Value::Absent, Value::from(json!([])), "missing_reference"),
            (Value::Absent, Value::Absent, "missing_reference"),
            ("…".into(), "a".into(), "empty_prediction"),
            ("a".into(), "".into(), "empty_reference"),
            ("a".into(), "b".into(), "low_overlap"),
        ] {
            let card = card(json!({ "threshold": 0.5 }), &[prediction, reference]);
            let found = card.map(|card| (card.primary_score, card.pass, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), Some(false), vec![tag.to_owned()])));
        }
    }

    #[test]
    fn failures_are_explained() {
        for (prediction, reference, tags, explain) in [
            ("the cat", "The cat!", vec![], None),
            (
                "the cat",
                "the cat sat down",
                vec!["low_overlap"],
                Some("ROUGE-1 is 0.6667: 1 of the text's words and 0.5 of the reference's are shared"),
            ),
            ("…", "a", vec!["empty_prediction"], Some("the text has no words")),
        ] {
            let found = card(json!({}), &[prediction.into(), reference.into()]);
            let found = found.map(|card| (card.pass, card.error_tags, card.explain));
            let tags = tags.into_iter().map(str::to_owned).collect();
            assert_eq!(found, Ok((None, tags, explain.map(str::to_owned))), "{prediction}");
        }
        let parameters = json!({ "decimals": "2" });
        assert_eq!(score(parameters, "the cat", json!(["the cat sat down"])), Some(0.67));
    }

    proptest! {
        #[test]
        fn a_score_below_1_has_a_tag(prediction in "[ab ]{0,6}", reference in "[ab ]{0,6}") {
            let found = card(json!({}), &[prediction.as_str().into(), reference.as_str().into()]);
            let card = found.map_err(|error| TestCaseError::fail(error.message))?;
            prop_assert_eq!(card.primary_score == Some(1.0), card.error_tags.is_empty());
            prop_assert_eq!(card.explain.is_none(), card.error_tags.is_empty());
        }
    }

    #[test]
    fn long_texts_have_no_subsequence() {
        let words = |range: std::ops::Range<u32>| {
            range.map(|number| format!("w{} ", number * 7919 % 11)).collect::<String>()
        };
        let (prediction, reference) = (words(0..40_000), words(5..40_005));
        let Ok(card) = card(json!({}), &[prediction.as_str().into(), reference.as_str().into()]) else {
            panic!("long texts are scored")
        };
        assert!(card.primary_score.is_some_and(|score| score > 0.99));
        assert!(!card.sub_scores.iter().any(|score| score.name == "rouge_l"));
        assert!(card.explain.is_some());
        assert!(card.detail.len() < 2048);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({ "tokenizer": "spacy" }),
            json!({ "decimals": 16 }),
            json!({ "use_stemmer": "yes" }),
            json!({ "separator": "" }),
            json!({ "threshold": "inf" }),
        ] {
            assert!(ReferenceRouge::prepare(params.clone()).is_err(), "{params}");
        }
    }
}
