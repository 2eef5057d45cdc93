//! `drop`: answers that are numbers, dates, or one or more spans of a text.

mod alignment;
mod answers;
#[cfg(test)]
mod fixtures;
mod spans;

use crate::compared::{ComparedTexts, PREDICTION, REFERENCE_PARAMS};
use answers::{answers, predicted};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::Params;
use spans::Spans;

const REFERENCES: usize = 1;
const VALIDATED: usize = 2;

/// F1 and exact match of an answer, computed like the evaluation script of DROP and lm-evaluation-harness.
///
/// Dua and others, "DROP: a reading comprehension benchmark requiring discrete reasoning over paragraphs", NAACL 2019.
///
/// An answer is a text, a list of spans, or an object of the dataset with `number`, `date` and `spans`. Case,
/// punctuation and articles do not count. A number counts by its value.
///
/// The spans of both sides are aligned one to one so that the sum of their F1 is largest. F1 is the mean over the longer
/// list, rounded to two digits. If a span of the reference has numbers, the aligned span must have one of them, or its F1
/// is 0. The best of several references counts, separately for F1 and exact match. An answer passes if it matches
/// exactly.
///
/// Without a prediction or a reference the scores are 0, with the tag `missing_prediction` or `missing_reference`. A
/// list of more than 100 spans is `invalid-input`.
pub struct DropAnswer;

impl Metric for DropAnswer {
    fn name() -> &'static str {
        "drop"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Overlap of an answer's spans and numbers with the correct answers (DROP)")
            .value_name("f1")
            .sub_score("exact_match", true)
            .prediction("prediction_field")
            .input(
                "references",
                &REFERENCE_PARAMS,
                &[
                    "sample.metadata.answers",
                    "sample.references",
                    "sample.metadata.references",
                    "sample.label",
                ],
                ValueKind::Any,
            )
            .input(
                "validated",
                &["validated_field"],
                // Few rows have these answers, and a missing value would be reported. An id is not an answer.
                &["sample.metadata.validated_answers", "sample.id"],
                ValueKind::Any,
            )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params)?;
        Ok(DropAnswer)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let references = answers(inputs.value(REFERENCES), inputs.value(VALIDATED))?;
        if references.is_empty() {
            return Ok(missing("missing_reference"));
        }
        let Some(prediction) = predicted(inputs.value(PREDICTION))? else {
            return Ok(missing("missing_prediction"));
        };
        let predicted = Spans::new(&prediction)?;
        let (mut best, mut is_exact, mut nearest) = (0.0, false, None);
        for reference in &references {
            let right = Spans::new(reference)?;
            let f1 = predicted.f1(&right);
            is_exact |= predicted.is_equal(&right);
            if nearest.is_none() || f1 > best {
                (best, nearest) = (f1, Some(reference));
            }
        }
        let joined = |spans: &[String]| spans.join(", ");
        let (said, right) = (joined(&prediction), nearest.map(|spans| joined(spans)).unwrap_or_default());
        let card = ScoreCard::of(best)
            .pass(is_exact)
            .sub_score("exact_match", if is_exact { 1.0 } else { 0.0 })
            .detail(&ComparedTexts::new(&said, &right));
        Ok(match (is_exact, predicted.is_blank()) {
            (true, _) => card,
            (false, true) => card.tag("empty_prediction"),
            (false, false) => card.tag("wrong_answer"),
        })
    }
}

fn missing(tag: &str) -> ScoreCard {
    ScoreCard::binary(false).sub_score("exact_match", 0.0).tag(tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use gage_sdk::metric::Value;

    fn card(prediction: Value, references: Value, validated: Value) -> Result<ScoreCard, PluginError> {
        DropAnswer.score(Inputs::new(&[prediction, references, validated]))
    }

    fn json(value: serde_json::Value) -> Value {
        Value::Json(value.to_string())
    }

    #[test]
    fn scores() {
        let date =
            json!({ "number": "", "spans": [], "date": { "day": "4", "month": "July", "year": "1776" } });
        let spans = json!({ "number": "", "spans": ["Ann", "Bob"], "date": {} });
        let parts = json!([{ "type": "text", "text": "Ann" }, { "type": "text", "text": "Bob" }]);
        let validated =
            json!({ "number": ["", "7"], "spans": [["Ann"], []], "date": [{ "day": "" }, { "day": "" }] });
        for (prediction, references, validated, f1, exact, tag) in [
            ("The 5 men.".into(), json(json!("5.0 men")), Value::Absent, 1.0, 1.0, None),
            ("6 men".into(), "5 men".into(), Value::Absent, 0.0, 0.0, Some("wrong_answer")),
            (Value::Number(5.0), json(json!([["5"], "6"])), Value::Absent, 1.0, 1.0, None),
            ("July 4, 1776".into(), json(date), Value::Absent, 1.0, 0.0, Some("wrong_answer")),
            (json(json!(["Bob", "Ann"])), json(spans.clone()), Value::Absent, 1.0, 1.0, None),
            (json(json!(["Bob", "Ann"])), json(json!([{ "answer": parts }])), Value::Absent, 1.0, 1.0, None),
            (json(json!(["Bob", "Ann"])), json(parts), Value::Absent, 1.0, 1.0, None),
            ("Ann".into(), json(spans.clone()), Value::Absent, 0.5, 0.0, Some("wrong_answer")),
            ("7".into(), json(spans), json(validated), 1.0, 1.0, None),
            ("the".into(), "Ann".into(), Value::Absent, 0.0, 0.0, Some("empty_prediction")),
            (Value::Absent, "Ann".into(), Value::Absent, 0.0, 0.0, Some("missing_prediction")),
            (Value::Absent, json(json!([" "])), Value::Absent, 0.0, 0.0, Some("missing_reference")),
        ] {
            let card = card(prediction, references.clone(), validated).unwrap();
            assert_eq!(card.primary_score, Some(f1), "{references:?}");
            assert_eq!(card.sub_scores[0].value, exact, "{references:?}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{references:?}");
            assert_eq!(card.pass, Some(exact == 1.0), "{references:?}");
        }
    }

    #[test]
    fn unusable_values_are_refused() {
        for (prediction, references, message) in [
            ("a".into(), json(json!([[{}]])), "a span of the references must be a text or a number"),
            (json(json!({})), "a".into(), "the prediction must be a text, a number or a list of spans"),
            (json(json!(vec!["a"; 101])), "a".into(), "an answer has 101 spans; 100 are allowed"),
        ] {
            let error = card(prediction, references, Value::Absent).err().map(|error| error.message);
            assert_eq!(error.as_deref(), Some(message));
        }
        assert!(DropAnswer::prepare(json!({})).is_ok());
    }
}
