//! `contains`: whether the reference occurs in the prediction.

use crate::comparison::{self, PREDICTION, REFERENCE};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::references::{each_accepted, plain, present};
use gage_text_kit::text::{Normalization, strip};
use gage_text_kit::value::{as_decimal, as_text};
use gage_text_kit::{Decimal, Params};

/// Scores 1 if the reference occurs in the prediction as a substring: parts of words and of numbers count. Runs of white
/// space count as one space. An empty reference occurs nowhere. A number on either side also matches the same number in
/// another spelling: values that [`exact_match`](crate::ExactMatch) treats as equal contain each other. A reference
/// with a list of `aliases` occurs if its value or one of them does.
pub struct Contains {
    normalization: Normalization,
    any_reference: bool,
}

impl Metric for Contains {
    fn name() -> &'static str {
        "contains"
    }

    fn spec() -> MetricSpec {
        let mut schema = comparison::normalization_schema();
        // Existing suites set it for all their text metrics; it means nothing here.
        let separator = json!({ "type": ["string", "null"], "description": "Accepted and ignored" });
        schema.insert("separator".to_owned(), separator);
        MetricSpec::new("5", "Checks that the prediction contains the reference")
            .prediction("prediction_field")
            .reference()
            .params(schema.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(Contains {
            normalization: comparison::normalization(&params, true)?,
            any_reference: params.flag("any_reference", false)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (inputs.value(PREDICTION), plain(inputs.value(REFERENCE)));
        let right = each_accepted(self.any_reference, &reference);
        let text = as_text(prediction);
        let pass = text.is_some_and(|text| {
            let text = self.normalization.apply(&text);
            right.iter().any(|reference| {
                let occurs = as_text(reference).is_some_and(|reference| {
                    let reference = self.normalization.apply(&reference);
                    !reference.is_empty() && text.contains(&*reference)
                });
                occurs || is_same_number(prediction, reference)
            })
        });
        let shown = present(&right, &reference);
        Ok(comparison::card(prediction, shown, pass, self.normalization, "contain"))
    }
}

/// Returns whether one side is a number, and the other the same one or a text that spells it.
fn is_same_number(prediction: &Value, reference: &Value) -> bool {
    let spelled = |value: &Value| match value {
        Value::Text(text) => Decimal::parse(strip(text)),
        value => as_decimal(value),
    };
    let is_number = |value: &Value| as_decimal(value).is_some();
    (is_number(prediction) || is_number(reference))
        && spelled(prediction).is_some_and(|number| Some(number) == spelled(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(params: serde_json::Value, prediction: &str, reference: Value) -> Option<f64> {
        let metric = Contains::prepare(params).ok()?;
        metric.score(Inputs::new(&[Value::Text(prediction.to_owned()), reference])).ok()?.primary_score
    }

    #[test]
    fn occurrences() {
        for (params, prediction, reference, expected) in [
            (json!({}), "The capital is PARIS.", "Paris", 1.0),
            (json!({}), "New \n York City", "new  york", 1.0),
            (json!({}), "anything", "", 0.0),
            (json!({}), "anything", " ", 0.0),
            (json!({}), "unhappy", "happy", 1.0),
            (json!({}), "Pa\u{200b}ris", "Paris", 0.0),
            (json!({}), "İSTANBUL", "istanbul", 0.0),
            (json!({ "strip_whitespace": false }), "xParis", " Paris", 0.0),
            (json!({ "separator": "|" }), "Roma", "rome|roma", 0.0),
        ] {
            let reference = Value::Text(reference.to_owned());
            assert_eq!(score(params, prediction, reference), Some(expected), "{prediction:?}");
        }
        let several = || Value::Texts(vec!["Rome".to_owned(), "Paris".to_owned()]);
        assert_eq!(score(json!({ "any_reference": true }), "In Paris.", several()), Some(1.0));
        for (list, expected) in [
            (r#"["Rome","Paris"]"#, 1.0),
            (r#"["Rome",5]"#, 1.0),
            (r#"[null,"Rome"]"#, 0.0),
            (r#"[{"answer":[{"type":"text","text":"paris"}]}]"#, 1.0),
        ] {
            let list = Value::Json(list.to_owned());
            assert_eq!(score(json!({ "any_reference": true }), "In Paris: 5.", list), Some(expected));
        }
        let aliased = || Value::Json(r#"{"value":"Paris","aliases":["Lutetia"]}"#.to_owned());
        assert_eq!(score(json!({}), "In Lutetia.", aliased()), Some(1.0));
        assert_eq!(score(json!({}), "In Oslo.", aliased()), Some(0.0));
        let own = Value::Json(r#"{"answer":[{"type":"text","text":"Paris"}]}"#.to_owned());
        assert_eq!(score(json!({}), "In Paris.", own), Some(1.0));
        assert_eq!(score(json!({ "any_reference": true }), "In Oslo.", several()), Some(0.0));
        assert_eq!(score(json!({}), "In Paris.", several()), Some(0.0));
    }

    #[test]
    fn other_references() {
        for (reference, prediction, expected) in [
            (Value::Boolean(true), "It is true", 1.0),
            (Value::Number(1.0), "1 item", 1.0),
            (Value::Absent, "none", 0.0),
        ] {
            assert_eq!(score(json!({}), prediction, reference), Some(expected), "{prediction:?}");
        }
    }

    #[test]
    fn missing_references_come_before_missing_answers() {
        let list = |json: &str| Value::Json(json.to_owned());
        for (prediction, reference, tag) in [
            (Value::Absent, Value::Absent, "missing_reference"),
            (Value::from("a"), Value::Absent, "missing_reference"),
            (Value::Absent, list("[]"), "missing_reference"),
            (Value::Absent, list(r#"["a"]"#), "missing_prediction"),
        ] {
            let shown = format!("{prediction:?} {reference:?}");
            let card = Contains::prepare(json!({ "any_reference": true }))
                .and_then(|metric| metric.score(Inputs::new(&[prediction, reference])));
            let found = card.map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), vec![tag.to_owned()])), "{shown}");
        }
    }

    #[test]
    fn numbers_occur_by_value() {
        for (prediction, reference, expected) in [
            (Value::Number(1.0), Value::from("1.0"), 1.0),
            (Value::from(" 1.0"), Value::Number(1.0), 1.0),
            (Value::Number(-0.0), Value::from("-0.0"), 1.0),
            (Value::Number(-0.0), Value::from("0"), 1.0),
            (Value::Json("1e3".to_owned()), Value::Number(1000.0), 1.0),
            (Value::Number(1.0), Value::from("1.5"), 0.0),
            (Value::Number(12.0), Value::from("2"), 1.0),
            (Value::from("1"), Value::from("1.0"), 0.0),
            (Value::Absent, Value::Number(1.0), 0.0),
        ] {
            let Ok(metric) = Contains::prepare(json!({})) else { panic!("the defaults are accepted") };
            let card = metric.score(Inputs::new(&[prediction.clone(), reference.clone()])).ok();
            assert_eq!(
                card.and_then(|card| card.primary_score),
                Some(expected),
                "{prediction:?} {reference:?}"
            );
        }
    }
}
