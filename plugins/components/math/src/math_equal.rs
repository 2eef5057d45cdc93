//! `math_equal`: tests whether the prediction is the same mathematical answer as the reference.

use gage_math_kit::{Budget, Comparison, Outcome, compare};
use gage_number_kit::best;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::serde_json::{self, Map};
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::references::{any_reference_schema, each_accepted, plain};
use gage_text_kit::value::{as_text, shown};
use std::borrow::Cow;

const PREDICTION: usize = 0;
const REFERENCE: usize = 1;

/// Scores 1 if the prediction is mathematically the same as the reference: `\frac{1}{2}` and `0.5`, `(x+1)^2` and
/// `x^2+2x+1`, `x > 3` and `(3, \infty)`.
///
/// Both are read as LaTeX, Unicode or plain text. If a text has boxes (`\boxed{…}`), the last one is the answer,
/// otherwise the whole text. An answer that is only words is compared word by word, without case.
///
/// Numbers are compared exactly: a decimal is the number that it writes, and no rounding is accepted. Formulas with
/// letters are equal if they agree wherever both are defined. An equality that cannot be shown within the limits
/// scores 0.
///
/// With `any_reference` the reference is a list of correct answers, and one is enough. So it is with a reference that
/// has a list of `aliases`.
pub struct MathEqual {
    any_reference: bool,
}

impl Metric for MathEqual {
    fn name() -> &'static str {
        "math_equal"
    }

    fn spec() -> MetricSpec {
        let params = Map::from_iter([any_reference_schema()]);
        MetricSpec::new("1", "Checks that the prediction is mathematically equal to the reference")
            .prediction("prediction_field")
            .reference()
            .params(params.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(MathEqual { any_reference: Params::new(params)?.flag("any_reference", false)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (inputs.value(PREDICTION), plain(inputs.value(REFERENCE)));
        let right = each_accepted(self.any_reference, &reference);
        // All references of an item share the work that is allowed for it.
        let budget = Budget::new();
        let mut cards = Vec::new();
        for right in right.iter() {
            let card = card(prediction, right, &budget);
            let passes = card.pass == Some(true);
            cards.push(card);
            if passes {
                break;
            }
        }
        Ok(best(cards).unwrap_or_else(|| card(prediction, &Value::Absent, &budget)))
    }
}

/// Returns the card for one correct answer.
fn card(prediction: &Value, reference: &Value, budget: &Budget) -> ScoreCard {
    let failure = match (text(prediction), text(reference)) {
        (Some(prediction), Some(reference)) => {
            return compared(&compare(&prediction, &reference, budget));
        }
        _ if *reference == Value::Absent => Failure::MissingReference,
        _ if *prediction == Value::Absent => Failure::MissingPrediction,
        (_, None) => Failure::InvalidReference,
        (None, _) => Failure::InvalidFormat,
    };
    let detail = json!({
        "prediction": serde_json::Value::from(shown(prediction)),
        "reference": serde_json::Value::from(shown(reference)),
        "reason": "not understood",
    });
    failure.card().detail(&detail)
}

/// Returns the text of a value. `None` for lists, objects and numbers that are not finite: they are not formulas.
fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Texts(_) => None,
        Value::Number(number) if !number.is_finite() => None,
        Value::Json(json) if json.trim_start().starts_with(['[', '{']) => None,
        other => as_text(other),
    }
}

/// Reason why a pair scores 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    MissingPrediction,
    MissingReference,
    InvalidReference,
    InvalidFormat,
    Different,
    Undecided,
}

impl Failure {
    fn card(self) -> ScoreCard {
        let (tag, explained) = match self {
            Failure::MissingPrediction => ("missing_prediction", "there is no prediction"),
            Failure::MissingReference => ("missing_reference", "there is no reference"),
            Failure::InvalidReference => {
                ("invalid_reference", "the reference cannot be read as a mathematical answer")
            }
            Failure::InvalidFormat => {
                ("invalid_format", "the prediction cannot be read as a mathematical answer")
            }
            Failure::Different => ("wrong_answer", "the prediction differs from the reference"),
            Failure::Undecided => ("undecided", "equality could not be shown within the limits"),
        };
        ScoreCard::binary(false).tag(tag).explain(explained)
    }
}

/// Returns the card of a comparison.
fn compared(comparison: &Comparison) -> ScoreCard {
    let (card, reason) = match comparison.outcome {
        Outcome::Equal => (ScoreCard::binary(true), "equal"),
        Outcome::Different => {
            let explained = format!("{} differs from {}", comparison.answer, comparison.reference);
            (Failure::Different.card().explain(explained), "different")
        }
        Outcome::AnswerNotUnderstood => (Failure::InvalidFormat.card(), "not understood"),
        Outcome::ReferenceNotUnderstood => (Failure::InvalidReference.card(), "not understood"),
        Outcome::Undecided => (Failure::Undecided.card(), "undecided"),
    };
    card.detail(&json!({
        "prediction": comparison.answer,
        "reference": comparison.reference,
        "reason": reason,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card_of(params: serde_json::Value, prediction: Value, reference: Value) -> ScoreCard {
        MathEqual::prepare(params).unwrap().score(Inputs::new(&[prediction, reference])).unwrap()
    }

    #[test]
    fn answers_are_compared_as_mathematics() {
        for (prediction, reference, score, tag) in [
            (r"so it is \boxed{\frac{1}{2}}.".into(), "0.5".into(), 1.0, None),
            ("0.5".into(), Value::Number(0.5), 1.0, None),
            ("x = 3".into(), Value::Number(3.0), 1.0, None),
            ("(3, 4)".into(), "(4, 3)".into(), 0.0, Some("wrong_answer")),
            (r"\sum_n n".into(), "5".into(), 0.0, Some("invalid_format")),
            ("5".into(), r"\sum_n n".into(), 0.0, Some("invalid_reference")),
            (r"\sum_n n".into(), r"\sum_n n".into(), 1.0, None),
            ("9^9^9^9".into(), "9^9^9^8".into(), 0.0, Some("undecided")),
            ("5".into(), Value::Json("[5]".to_owned()), 0.0, Some("invalid_reference")),
            (Value::Json("[5]".to_owned()), "5".into(), 0.0, Some("invalid_format")),
            (Value::Number(f64::INFINITY), "5".into(), 0.0, Some("invalid_format")),
            (Value::Absent, "5".into(), 0.0, Some("missing_prediction")),
            ("5".into(), Value::Absent, 0.0, Some("missing_reference")),
        ] {
            let shown = format!("{prediction:?} {reference:?}");
            let card = card_of(json!({}), prediction, reference);
            assert_eq!(card.primary_score, Some(score), "{shown}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{shown}");
            assert_eq!(card.explain.is_some(), tag.is_some(), "{shown}");
        }
    }

    #[test]
    fn one_of_several_references_is_enough() {
        let json = |json: &str| Value::Json(json.to_owned());
        let any = || json!({ "any_reference": true });
        assert_eq!(card_of(any(), r"\frac12".into(), json(r#"["x", "0.5"]"#)).primary_score, Some(1.0));
        assert_eq!(card_of(any(), "2".into(), json(r#"["x", "0.5"]"#)).error_tags, ["wrong_answer"]);
        assert_eq!(card_of(any(), "2".into(), json("[]")).error_tags, ["missing_reference"]);
        let aliases = json(r#"{"value": "1/2", "aliases": ["50\\%"]}"#);
        assert_eq!(card_of(json!({}), "0.5".into(), aliases).primary_score, Some(1.0));
    }

    #[test]
    fn details_show_both_forms_and_the_reason() {
        let card = card_of(json!({}), r"\boxed{x = \frac{2}{4}}".into(), "0.25".into());
        assert_eq!(card.detail, r#"{"prediction":"x = 1/2","reference":"1/4","reason":"different"}"#);
        assert_eq!(card.explain.as_deref(), Some("x = 1/2 differs from 1/4"));
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(MathEqual::prepare(json!({ "any_reference": "maybe" })).is_err());
    }
}
