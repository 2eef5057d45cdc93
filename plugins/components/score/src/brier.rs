//! `brier`: distance between stated probabilities and outcomes.

use crate::correctness::passed;
use crate::probability::{distribution, stated};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::references::plain;
use gage_text_kit::text::Normalization;
use gage_text_kit::value::as_text;

const DISTRIBUTION: usize = 0;
const CONFIDENCE: usize = 1;
const CORRECT: usize = 2;
const PREDICTION: usize = 3;
const REFERENCE: usize = 4;

/// Brier score, lower is better (Brier 1950, "Verification of forecasts expressed in terms of probability").
///
/// A distribution over options is an object of probabilities by option. Its score is the sum over the options of
/// (probability − 1 for the right one, 0 for the others)², from 0 to 2. The reference is one of the options. The stated
/// confidence is then that of the most likely option; of equal ones, the first.
///
/// Without a distribution it is (confidence − 1 if the answer is right, 0 if it is not)², from 0 to 1. The confidence
/// is a number from 0 to 1, a text that spells one, or a percentage such as `80%`.
///
/// The answer is right if `correct` says so (a boolean, a number from 0.5 up, or an object with `pass` or `score`).
/// Otherwise it is right if prediction and reference are the same text, ignoring case and white space at the ends.
///
/// The aggregator `ece` reads the sub-scores `confidence` and `correct` (1 or 0). If a probability or the truth is
/// missing or unreadable there is no score, and a tag names the first problem: `missing_reference`,
/// `missing_prediction`, `invalid_format`, `unknown_reference`.
///
/// Inputs, each with its path parameter and default path: `distribution`: `distribution_field`,
/// `model_output.distribution`; `confidence`: `confidence_field`, `model_output.confidence`; `correct`:
/// `correct_field`, the first of `judge_output.correct` and `model_output.correct`; `prediction`:
/// `prediction_field`, `model_output.answer`; `reference`: `label_field`, `sample.label`.
pub struct Brier;

impl Metric for Brier {
    fn name() -> &'static str {
        "brier"
    }

    fn spec() -> MetricSpec {
        let mut spec = MetricSpec::new("2", "Brier score of stated probabilities")
            .value_name("brier")
            .unbounded(false)
            .at_least(0.0)
            .sub_score("confidence", true)
            .sub_score("correct", true)
            .input("distribution", &["distribution_field"], &["model_output.distribution"], ValueKind::Json)
            .input("confidence", &["confidence_field"], &["model_output.confidence"], ValueKind::Any)
            .input(
                "correct",
                &["correct_field"],
                &["judge_output.correct", "model_output.correct"],
                ValueKind::Any,
            )
            .prediction("prediction_field")
            .reference();
        // The bounds of the first value are those of the form with several options.
        for (value, maximum) in spec.values.iter_mut().zip([2.0, 1.0, 1.0]) {
            (value.minimum, value.maximum) = (Some(0.0), Some(maximum));
        }
        spec
    }

    fn prepare(_params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(Brier)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        Ok(match inputs.value(DISTRIBUTION) {
            Value::Absent => of_confidence(inputs),
            value => of_distribution(&gage_text_kit::json::read(value, "distribution")?, inputs),
        })
    }
}

fn unknown(tag: &str, why: &str) -> ScoreCard {
    ScoreCard::none(why).tag(tag)
}

fn known(brier: f64, confidence: f64, is_right: bool) -> ScoreCard {
    ScoreCard::of(brier)
        .pass(is_right)
        .sub_score("confidence", confidence)
        .sub_score("correct", f64::from(u8::from(is_right)))
}

/// Returns whether two values are the same text, ignoring case and white space at the ends.
fn same(left: &Value, right: &str) -> bool {
    let how = Normalization { case_sensitive: false, strip: true, collapse: false };
    as_text(left).is_some_and(|left| how.same(&left, right))
}

fn of_distribution(value: &serde_json::Value, inputs: Inputs<'_>) -> ScoreCard {
    let reference = plain(inputs.value(REFERENCE));
    let reference = reference.as_ref();
    if *reference == Value::Absent {
        return unknown("missing_reference", "there is no reference");
    }
    let options = match distribution(value) {
        Ok(options) => options,
        Err(why) => return unknown("invalid_format", &format!("the distribution cannot be read: {why}")),
    };
    let Some(right) = options.iter().position(|(option, _)| same(reference, option)) else {
        return unknown("unknown_reference", "the reference is none of the options");
    };
    let likeliest = options.iter().enumerate().fold((0, -1.0), |best, (index, (_, probability))| {
        if *probability > best.1 { (index, *probability) } else { best }
    });
    let of_option = |(index, (_, probability)): (usize, &(&str, f64))| {
        (probability - if index == right { 1.0 } else { 0.0 }).powi(2)
    };
    let brier = options.iter().enumerate().map(of_option).sum();
    let detail = json!({ "form": "options", "options": options.len() });
    known(brier, likeliest.1, likeliest.0 == right).detail(&detail)
}

fn of_confidence(inputs: Inputs<'_>) -> ScoreCard {
    let (correct, reference) = (inputs.value(CORRECT), inputs.value(REFERENCE));
    if (correct, reference) == (&Value::Absent, &Value::Absent) {
        return unknown("missing_reference", "nothing says whether the answer is right");
    }
    let confidence = inputs.value(CONFIDENCE);
    let Some(stated) = stated(confidence) else {
        let is_missing = *confidence == Value::Absent;
        let tag = if is_missing { "missing_prediction" } else { "invalid_format" };
        return unknown(tag, "there is no confidence from 0 to 1");
    };
    let is_right = match correct {
        Value::Absent => {
            as_text(reference).is_some_and(|reference| same(inputs.value(PREDICTION), &reference))
        }
        correct => match passed(&correct.to_json(), 0.5) {
            Some(is_right) => is_right,
            None => return unknown("invalid_format", "'correct' is neither a boolean nor a number"),
        },
    };
    let truth = if is_right { 1.0 } else { 0.0 };
    known((stated - truth).powi(2), stated, is_right).detail(&json!({ "form": "confidence" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(inputs: [Value; 5]) -> ScoreCard {
        match Brier.score(Inputs::new(&inputs)) {
            Ok(card) => card,
            Err(error) => panic!("it is scored: {error:?}"),
        }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn is_near(found: Option<f64>, expected: Option<f64>) -> bool {
        match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
            (found, expected) => found == expected,
        }
    }

    /// Brier 1950: a forecast of 0.7 costs 0.09 if the event happens, and 0.49 if it does not; with both outcomes
    /// counted, twice that.
    #[test]
    fn confidences() {
        let number = Value::Number;
        for (confidence, correct, prediction, reference, expected, tag) in [
            (number(0.7), Value::Boolean(true), Value::Absent, Value::Absent, Some(0.09), None),
            (number(0.7), number(0.0), Value::Absent, Value::Absent, Some(0.49), None),
            (text("70%"), Value::Absent, text(" Paris "), text("paris"), Some(0.09), None),
            (number(0.7), Value::Absent, Value::Absent, text("paris"), Some(0.49), None),
            (number(0.7), Value::Absent, text("3"), number(3.0), Some(0.09), None),
            (number(0.7), text("yes"), text("a"), text("a"), None, Some("invalid_format")),
            (number(7.0), Value::Boolean(true), Value::Absent, Value::Absent, None, Some("invalid_format")),
            (
                Value::Absent,
                Value::Boolean(true),
                Value::Absent,
                Value::Absent,
                None,
                Some("missing_prediction"),
            ),
            (number(0.7), Value::Absent, text("a"), Value::Absent, None, Some("missing_reference")),
            (Value::Absent, Value::Absent, Value::Absent, Value::Absent, None, Some("missing_reference")),
            (number(7.0), Value::Absent, text("a"), Value::Absent, None, Some("missing_reference")),
        ] {
            let card = card([Value::Absent, confidence, correct, prediction, reference]);
            assert!(is_near(card.primary_score, expected), "{card:?}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{card:?}");
            assert_eq!(card.sub_scores.len(), if expected.is_some() { 2 } else { 0 });
        }
    }

    #[test]
    fn distributions() {
        for (options, reference, expected, correct) in [
            (json!({ "rain": 0.7, "dry": 0.3 }), text("rain"), Some(0.18), Some(1.0)),
            (json!({ "rain": 0.7, "dry": 0.3 }), text("DRY "), Some(0.98), Some(0.0)),
            (json!({ "A": 0.5, "B": 0.25, "C": 0.25 }), text("B"), Some(0.25 + 0.5625 + 0.0625), Some(0.0)),
            (json!({ "A": 1.0 }), text("A"), Some(0.0), Some(1.0)),
            (json!({ "A": 1.0 }), text("B"), None, None),
            (json!({ "A": 1.0 }), Value::Absent, None, None),
            (json!({ "A": 0.4 }), text("A"), None, None),
        ] {
            let card = card([options.clone().into(), Value::Absent, Value::Absent, Value::Absent, reference]);
            assert!(is_near(card.primary_score, expected), "{options} {card:?}");
            let sub_score = card.sub_scores.iter().find(|sub| sub.name == "correct").map(|sub| sub.value);
            assert_eq!(sub_score, correct);
            assert_eq!(card.error_tags.is_empty(), expected.is_some());
        }
    }

    proptest! {
        /// A stated confidence costs between 0 and 1, and least if it equals the outcome.
        #[test]
        fn costs_are_bounded(confidence in 0.0..=1.0_f64, is_right in any::<bool>()) {
            let card = card([
                Value::Absent,
                Value::Number(confidence),
                Value::Boolean(is_right),
                Value::Absent,
                Value::Absent,
            ]);
            let cost = card.primary_score.unwrap_or(-1.0);
            prop_assert!((0.0..=1.0).contains(&cost));
            prop_assert_eq!(cost < 0.25, if is_right { confidence > 0.5 } else { confidence < 0.5 });
        }

        /// With two options the sum counts the same distance twice.
        #[test]
        fn two_options_cost_twice_the_confidence(confidence in 0.5..=1.0_f64, is_right in any::<bool>()) {
            let options = json!({ "A": confidence, "B": 1.0 - confidence });
            let reference = text(if is_right { "A" } else { "B" });
            let absent = || Value::Absent;
            let of_options = card([options.into(), absent(), absent(), absent(), reference]);
            let confidence = Value::Number(confidence);
            let of_one = card([absent(), confidence, Value::Boolean(is_right), absent(), absent()]);
            let twice = of_one.primary_score.map(|cost| 2.0 * cost);
            prop_assert!(is_near(of_options.primary_score, twice), "{:?} {:?}", of_options, twice);
        }
    }
}
