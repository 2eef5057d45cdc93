//! `docvqa_anls`: how near the answer is to the nearest of the right answers.

use crate::anls::Comparer;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::text::strip_thought_tags;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::params::{flag_schema, number_schema};
use gage_text_kit::references::{of_label, split, texts};
use gage_text_kit::text::{Normalization, excerpt, quoted};
use gage_text_kit::value::as_text;
use std::borrow::Cow;

const PREDICTION: usize = 0;
const REFERENCES: usize = 1;
const ALL_REFERENCES: usize = 2;

/// Scores the best similarity over the correct answers, 0 if that is below the threshold. The mean over samples is ANLS,
/// the average normalised Levenshtein similarity.
///
/// The correct answers are `sample.metadata.answers`, otherwise the references of the Sample, otherwise its label.
///
/// Texts are compared without thoughts, in lower case and with single spaces. Without an answer or without references
/// the score is 0; the tag `missing_reference` comes before `missing_prediction`. An answer that is near, but not equal
/// to a correct one, passes with the tag `inexact_answer`. Texts of similar length whose comparison would take more than
/// four million steps (two of 16,000 characters) are an error.
pub struct DocVqaAnls {
    threshold: f64,
    normalization: Normalization,
    separator: Option<String>,
}

impl Metric for DocVqaAnls {
    fn name() -> &'static str {
        "docvqa_anls"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("3", "Similarity of the answer to the nearest correct answer (ANLS)")
            .value_name("anls")
            .prediction("prediction_field")
            .input(
                "references",
                &["answers_field", "label_field", "references_field"],
                &["sample.metadata.answers", "sample.references.0", "sample.label"],
                ValueKind::Any,
            )
            // Every Sample has an id, which is not a list, so `on_missing_field` does not require references.
            .input(
                "all_references",
                &["all_references_field"],
                &["sample.references", "sample.id"],
                ValueKind::Any,
            )
            .params(json!({
                "threshold": number_schema("Similarities below it score 0; default 0.5"),
                "case_sensitive": flag_schema(false, "Distinguish upper and lower case"),
                "separator": {
                    "type": ["string", "null"], "default": null,
                    "description": "Separator that splits a single reference into several",
                },
            }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let threshold = params.number("threshold")?.unwrap_or(0.5);
        if threshold.is_nan() {
            let message = "params: 'threshold' must be a number from 0 to 1, not NaN";
            return Err(PluginError::invalid_config(message).at("/threshold"));
        }
        let case_sensitive = params.flag("case_sensitive", false)?;
        Ok(DocVqaAnls {
            threshold,
            normalization: Normalization { case_sensitive, strip: true, collapse: true },
            separator: params.text("separator")?.map(str::to_owned),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let answer = as_text(inputs.value(PREDICTION)).unwrap_or_default();
        let answer = if answer.contains('<') { Cow::Owned(strip_thought_tags(&answer)) } else { answer };
        let prediction = self.normalization.apply(&answer);
        let references = self.references(inputs.value(REFERENCES), inputs.value(ALL_REFERENCES));
        if references.is_empty() {
            return Ok(ScoreCard::binary(false)
                .tag("missing_reference")
                .explain("there is no correct answer")
                .detail(&json!({ "prediction": excerpt(&prediction) })));
        }
        if prediction.is_empty() {
            return Ok(ScoreCard::binary(false).tag("missing_prediction").explain("there is no answer"));
        }
        let best = self.best(&prediction, &references)?;
        let detail = json!({
            "prediction": excerpt(&prediction),
            "best_reference": best.map(|(_, reference)| excerpt(reference)),
            "threshold": self.threshold,
        });
        Ok(match best {
            Some((score, reference)) if score < 1.0 => ScoreCard::of(score)
                .pass(true)
                .tag("inexact_answer")
                .explain(format!("{} is near {}, not equal", quoted(&prediction), quoted(reference))),
            Some((score, _)) => ScoreCard::of(score).pass(true),
            None => ScoreCard::binary(false).tag("wrong_answer").explain(format!(
                "none of {} answers has a similarity of {} or more",
                references.len(),
                self.threshold
            )),
        }
        .detail(&detail))
    }
}

impl DocVqaAnls {
    fn references(&self, label: &Value, all: &Value) -> Vec<String> {
        let texts = split(of_label(texts(label), all), self.separator.as_deref());
        texts.iter().map(|text| self.normalization.apply(text).into_owned()).collect()
    }

    /// Returns the first of the nearest references, if any is near enough.
    fn best<'texts>(
        &self,
        prediction: &str,
        references: &'texts [String],
    ) -> Result<Option<(f64, &'texts str)>, PluginError> {
        let mut comparer = Comparer::new(prediction);
        let mut best: Option<(f64, &str)> = None;
        for reference in references {
            // Only references nearer than the best so far matter, which saves work.
            let least = best.map_or(self.threshold, |(score, _)| score);
            let similarity = comparer.similarity(reference, least).map_err(|_| {
                PluginError::invalid_input(
                    "the answer and its references are too long to be compared: up to 16,000 characters \
                     each are allowed, give a shorter answer to the metric",
                )
            })?;
            if let Some(similarity) = similarity
                && best.is_none_or(|(score, _)| similarity > score)
            {
                best = Some((similarity, reference));
            }
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(params: serde_json::Value, prediction: Value, references: Value) -> Option<ScoreCard> {
        DocVqaAnls::prepare(params).ok()?.score(Inputs::new(&[prediction, references])).ok()
    }

    #[test]
    fn scores() {
        let text = |text: &str| Value::Text(text.to_owned());
        let list = |list: serde_json::Value| Value::Json(list.to_string());
        for (params, prediction, references, score, tag) in [
            (
                json!({}),
                text("colour"),
                list(json!(["tint", "color"])),
                1.0 - 1.0 / 6.0,
                Some("inexact_answer"),
            ),
            (json!({}), text("New \n York"), text("new york"), 1.0, None),
            (json!({ "case_sensitive": true }), text("A"), list(json!(["a"])), 0.0, Some("wrong_answer")),
            (json!({ "threshold": "0.9" }), text("Pariz"), list(json!(["Paris"])), 0.0, Some("wrong_answer")),
            (
                json!({ "threshold": 0 }),
                text("abc"),
                list(json!(["axy"])),
                1.0 - 2.0 / 3.0,
                Some("inexact_answer"),
            ),
            (json!({ "separator": "|" }), text("b"), text("a|b"), 1.0, None),
            (json!({}), Value::Number(42.0), list(json!([42])), 1.0, None),
            (json!({}), text("<THINK>no</THINK>Paris"), text("Paris"), 1.0, None),
            (json!({}), text("<think>Paris"), text("Paris"), 0.0, Some("missing_prediction")),
            (json!({}), text(" "), text("Paris"), 0.0, Some("missing_prediction")),
            (json!({}), Value::Absent, Value::Absent, 0.0, Some("missing_reference")),
            (json!({}), Value::Absent, list(json!([])), 0.0, Some("missing_reference")),
            (json!({}), text("None"), Value::Absent, 0.0, Some("missing_reference")),
            (json!({}), text("a"), list(json!([""])), 0.0, Some("wrong_answer")),
        ] {
            let Some(card) = card(params, prediction, references) else { panic!("a card is made") };
            assert_eq!(card.primary_score, Some(score), "{}", card.detail);
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{}", card.detail);
            assert_eq!(card.explain.is_some(), score < 1.0, "{}", card.detail);
        }
    }

    proptest! {
        #[test]
        fn a_score_below_1_has_a_tag(
            answer in "[ab ]{0,6}",
            right in "[ab ]{0,6}",
            threshold in 0.0..1.0_f64,
        ) {
            let params = json!({ "threshold": threshold });
            let found = card(params, Value::Text(answer), Value::Json(json!([right]).to_string()));
            let Some(card) = found else { return Err(TestCaseError::fail("no card")) };
            prop_assert_eq!(card.primary_score == Some(1.0), card.error_tags.is_empty());
            prop_assert_eq!(card.explain.is_none(), card.error_tags.is_empty());
        }
    }

    #[test]
    fn references_of_a_sample_are_found() {
        let reference = |text: &str| json!({ "answer": [{ "type": "text", "text": text }] });
        let all = Value::from(json!([reference("Paris"), reference("Lutetia")]));
        for (answer, all, score) in [
            ("paris", Value::from("the id"), 1.0),
            ("lutetia", Value::from("the id"), 0.0),
            ("lutetia", all, 1.0),
        ] {
            let inputs = [Value::from(answer), Value::from(reference("Paris")), all];
            let found = DocVqaAnls::prepare(json!({})).and_then(|metric| metric.score(Inputs::new(&inputs)));
            assert_eq!(found.map(|card| card.primary_score), Ok(Some(score)), "{answer}");
        }
        let spec = DocVqaAnls::spec();
        let paths = spec.inputs.get(REFERENCES).map(|input| input.default_paths.join(" "));
        let expected = "sample.metadata.answers sample.references.0 sample.label";
        assert_eq!(paths.as_deref(), Some(expected));
    }

    #[test]
    fn what_cannot_be_used_is_an_error() {
        assert!(DocVqaAnls::prepare(json!({ "threshold": "nan" })).is_err());
        assert!(DocVqaAnls::prepare(json!({ "threshold": "half" })).is_err());
        assert!(DocVqaAnls::prepare(json!({ "separator": 1 })).is_err());
        let metric = DocVqaAnls::prepare(json!({})).ok();
        let long = [Value::Text("ab".repeat(500_000)), Value::Text("ba".repeat(500_000))];
        assert!(metric.is_some_and(|metric| metric.score(Inputs::new(&long)).is_err()));
    }
}
