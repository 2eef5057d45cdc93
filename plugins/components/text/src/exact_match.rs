//! `exact_match`: tests whether the prediction equals the reference.

use crate::comparison::{self, PREDICTION, REFERENCE};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::{PluginError, ScoreCard, serde_json};
use gage_text_kit::answer::{PredictionField, field_schema, key_of, with_parsed};
use gage_text_kit::params::optional_flag_schema;
use gage_text_kit::references::{each_accepted, plain, present};
use gage_text_kit::text::{Normalization, strip};
use gage_text_kit::value::{as_decimal, as_text, boolean_text};
use gage_text_kit::{Decimal, Params};

/// Scores 1 if prediction and reference are equal.
///
/// Texts are compared without case and without white space at the ends. Other values are compared as JSON: numbers by
/// value, lists and objects member by member. A text equals a number that it spells; it equals a boolean if it spells
/// `true` or `false`. A reference in the form of the Sample's references is its text. With `any_reference` the
/// reference is a list of correct answers, and one is enough. So it is with a reference that has a list of `aliases`:
/// its `value` and each alias are correct.
///
/// With `pred_field` the prediction is that field of the parsed answer, and both are compared like fields of answers,
/// see [`gage_text_kit::answer::key`]: white space inside texts is ignored too, and a text never equals a number.
/// `normalize: false` compares texts as they are.
pub struct ExactMatch {
    normalization: Normalization,
    field: PredictionField,
    any_reference: bool,
}

impl Metric for ExactMatch {
    fn name() -> &'static str {
        "exact_match"
    }

    fn spec() -> MetricSpec {
        let mut params = comparison::normalization_schema();
        params.extend(field_schema());
        let normalize = "Ignore case and repeated white space; overrides the other parameters";
        params.insert("normalize".to_owned(), optional_flag_schema(normalize));
        let spec = MetricSpec::new("5", "Checks that the prediction equals the reference")
            .prediction("prediction_field")
            .reference()
            .params(params.into());
        with_parsed(spec)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let field = PredictionField::new(&params)?;
        let normalization =
            match params.get("normalize").map(|_| params.flag("normalize", true)).transpose()? {
                Some(true) => Normalization { case_sensitive: false, strip: true, collapse: true },
                Some(false) => Normalization { case_sensitive: true, strip: false, collapse: false },
                None => comparison::normalization(&params, field.is_set())?,
            };
        Ok(ExactMatch { normalization, field, any_reference: params.flag("any_reference", false)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let reference = plain(inputs.value(REFERENCE));
        let right = each_accepted(self.any_reference, &reference);
        let shown = present(&right, &reference);
        if !self.field.is_set() {
            let prediction = inputs.value(PREDICTION);
            let pass = right.iter().any(|right| self.same(prediction, right));
            return Ok(comparison::card(prediction, shown, pass, self.normalization, "equal"));
        }
        let prediction = self.field.prediction(inputs);
        let key = key_of(prediction.as_ref(), self.normalization);
        let pass = key.is_some() && right.iter().any(|right| key == key_of(right, self.normalization));
        Ok(comparison::card(&prediction, shown, pass, self.normalization, "equal"))
    }
}

impl ExactMatch {
    fn same(&self, prediction: &Value, reference: &Value) -> bool {
        match (prediction, reference) {
            // Nothing does not equal nothing: a missing answer is not an answer.
            (Value::Absent, _) | (_, Value::Absent) => false,
            (Value::Text(prediction), Value::Text(reference)) => {
                self.normalization.same(prediction, reference)
            }
            (Value::Text(text), value) | (value, Value::Text(text)) => self.text_spells(text, value),
            _ => match (as_decimal(prediction), as_decimal(reference)) {
                (Some(prediction), Some(reference)) => prediction == reference,
                _ => self.same_json(&prediction.to_json(), &reference.to_json()),
            },
        }
    }

    /// Returns whether a text spells a number or a boolean; it never spells a list or an object.
    fn text_spells(&self, text: &str, value: &Value) -> bool {
        if let Value::Boolean(boolean) = value {
            return self.normalization.same(text, boolean_text(*boolean));
        }
        let Some(number) = as_decimal(value) else { return false };
        let spelled = if self.normalization.strip { strip(text) } else { text };
        match Decimal::parse(spelled) {
            Some(spelled) => spelled == number,
            None => as_text(value).is_some_and(|value| self.normalization.same(text, &value)),
        }
    }

    fn same_json(&self, left: &serde_json::Value, right: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Number, Object, String};
        match (left, right) {
            (String(left), String(right)) => self.normalization.same(left, right),
            (Number(left), Number(right)) => {
                left == right || Decimal::parse(&left.to_string()) == Decimal::parse(&right.to_string())
            }
            (Array(left), Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.same_json(left, right))
            }
            (Object(left), Object(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(key, left)| right.get(key).is_some_and(|right| self.same_json(left, right)))
            }
            _ => left == right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn score(params: serde_json::Value, prediction: Value, reference: Value) -> Option<f64> {
        let metric = ExactMatch::prepare(params).ok()?;
        metric.score(Inputs::new(&[prediction, reference])).ok()?.primary_score
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn json_text(text: &str) -> Value {
        Value::Json(text.to_owned())
    }

    #[test]
    fn aliases_are_correct_answers() {
        let label = || json_text(r#"{"value":"B","aliases":["option_b",2]}"#);
        for (params, prediction, expected) in [
            (json!({}), text("b"), 1.0),
            (json!({}), text(" Option_B"), 1.0),
            (json!({}), Value::Number(2.0), 1.0),
            (json!({}), label(), 1.0),
            (json!({}), text("option_c"), 0.0),
            (json!({ "case_sensitive": true }), text("b"), 0.0),
            (json!({}), Value::Absent, 0.0),
        ] {
            let shown = format!("{params} {prediction:?}");
            assert_eq!(score(params, prediction, label()), Some(expected), "{shown}");
        }
        let parsed = [Value::Absent, label(), json_text(r#"{"v":"OPTION_B"}"#)];
        let card = ExactMatch::prepare(json!({ "pred_field": "v" }))
            .and_then(|metric| metric.score(Inputs::new(&parsed)));
        assert_eq!(card.map(|card| card.primary_score), Ok(Some(1.0)));
    }

    #[test]
    fn failures_are_explained() {
        for (prediction, reference, expected) in [
            (text("Paris"), text("paris"), None),
            (text("Oslo\nNorway"), text("Paris"), Some("'Oslo Norway' does not equal 'Paris'")),
            (Value::Number(1.0), Value::Number(2.0), Some("'1' does not equal '2'")),
            (Value::Absent, text("a"), Some("there is no prediction")),
            (text("a"), Value::Absent, Some("there is no reference")),
        ] {
            let card = ExactMatch::prepare(json!({}))
                .and_then(|metric| metric.score(Inputs::new(&[prediction, reference])));
            assert_eq!(card.map(|card| card.explain), Ok(expected.map(str::to_owned)));
        }
    }

    #[test]
    fn texts() {
        for (params, prediction, reference, expected) in [
            (json!({}), "\u{a0}PARIS ", "Paris", 1.0),
            (json!({ "case_sensitive": true }), "PARIS", "paris", 0.0),
            (json!({ "case_sensitive": 0 }), "PARIS", "paris", 1.0),
            (json!({ "strip_whitespace": false }), " Paris", "Paris", 0.0),
            (json!({}), "\u{feff}Paris", "Paris", 0.0),
            (json!({}), "", "", 1.0),
            (json!({}), "1.0", "1", 0.0),
        ] {
            assert_eq!(score(params, text(prediction), text(reference)), Some(expected), "{prediction:?}");
        }
        assert!(ExactMatch::prepare(json!({ "case_sensitive": "false" })).is_err());
        let any = || json!({ "any_reference": true });
        for (reference, expected) in [
            (Value::Texts(vec!["Rome".to_owned(), "paris".to_owned()]), 1.0),
            (json_text(r#"["Rome", 7, {"a": 1}]"#), 0.0),
            (json_text(r#"["Rome", "Paris"]"#), 1.0),
            (
                json_text(
                    r#"[{"answer":[{"type":"text","text":"Rome"}]},{"answer":[{"type":"text","text":"Paris"}]}]"#,
                ),
                1.0,
            ),
            (text("Paris"), 1.0),
            (json_text("[]"), 0.0),
        ] {
            assert_eq!(score(any(), text("Paris"), reference), Some(expected));
        }
        for (answer, expected) in [("true", 1.0), ("7.0", 1.0), ("b", 1.0), ("null", 0.0), ("", 0.0)] {
            let reference = json_text(r#"[true, 7, null, "b"]"#);
            assert_eq!(score(any(), text(answer), reference), Some(expected), "{answer}");
        }
        let own = json_text(r#"{"answer":[{"type":"text","text":"Paris"}]}"#);
        assert_eq!(score(json!({}), text("paris"), own), Some(1.0));
        let several = || json_text(r#"["Rome", "Paris"]"#);
        assert_eq!(score(json!({}), text("Paris"), several()), Some(0.0));
        let field = json!({ "pred_field": "p", "any_reference": true });
        let Ok(metric) = ExactMatch::prepare(field) else { panic!("they are accepted") };
        let inputs = [Value::Absent, several(), Value::from(json!({ "p": "paris" }))];
        assert_eq!(metric.score(Inputs::new(&inputs)).ok().and_then(|card| card.primary_score), Some(1.0));
    }

    #[test]
    fn other_values_are_compared_as_json() {
        for (prediction, reference, expected) in [
            (Value::Absent, Value::Absent, 0.0),
            (Value::Absent, text("none"), 0.0),
            (Value::Number(1.0), text("1"), 1.0),
            (Value::Number(1e16), text("1e+16"), 1.0),
            (Value::Number(1.0), Value::Number(1.0), 1.0),
            (json_text("9007199254740993"), text("9007199254740992"), 0.0),
            (Value::Boolean(true), text("True"), 1.0),
            (Value::Boolean(true), Value::Number(1.0), 0.0),
            (Value::Texts(vec!["Paris".to_owned()]), text("['paris']"), 0.0),
            (Value::Texts(vec!["Paris".to_owned()]), json_text(r#"["paris"]"#), 1.0),
            (json_text(r#"{"a":1,"b":[2.0]}"#), json_text(r#"{"b":[2],"a":1.0}"#), 1.0),
        ] {
            assert_eq!(score(json!({}), prediction, reference), Some(expected));
        }
    }

    #[test]
    fn fields_of_parsed_answers() {
        for (params, parsed, reference, expected) in [
            (json!({ "pred_field": "p" }), json!({ "p": " A  b" }), text("a B"), 1.0),
            (json!({ "pred_field": "p.0" }), json!({ "p": ["A"] }), text("a"), 1.0),
            (json!({ "pred_field": "p", "normalize": false }), json!({ "p": "A" }), text("a"), 0.0),
            (json!({ "pred_field": "p", "case_sensitive": true }), json!({ "p": "A" }), text("a"), 0.0),
            (json!({ "pred_field": "p" }), json!({ "p": 1 }), Value::Number(1.0), 1.0),
            (json!({ "pred_field": "p" }), json!({ "p": 1 }), text("1"), 0.0),
            (json!({ "pred_field": "p" }), json!({ "p": ["A"] }), json_text(r#"["a"]"#), 0.0),
            (json!({ "pred_field": "p" }), json!({ "p": null }), Value::Absent, 0.0),
            (json!({ "pred_field": "p" }), json!({ "p": "" }), Value::Absent, 0.0),
            (json!({ "pred_field": "p" }), json!("an id"), Value::Absent, 0.0),
        ] {
            let Ok(metric) = ExactMatch::prepare(params.clone()) else { panic!("they are accepted") };
            let inputs = [text("a"), reference, Value::from(parsed.clone())];
            let score = metric.score(Inputs::new(&inputs)).ok().and_then(|card| card.primary_score);
            assert_eq!(score, Some(expected), "{params} {parsed}");
        }
        // Without a field it is not read.
        assert_eq!(score(json!({ "normalize": true }), text("a  b"), text("A b")), Some(1.0));
        assert_eq!(score(json!({ "normalize": false }), text("A"), text("a")), Some(0.0));
        assert_eq!(score(json!({}), text("a  b"), text("a b")), Some(0.0));
    }

    #[test]
    fn missing_references_come_before_missing_answers() {
        let any = || json!({ "any_reference": true });
        for (params, prediction, reference, tag) in [
            (json!({}), Value::Absent, Value::Absent, "missing_reference"),
            (json!({}), text("a"), Value::Absent, "missing_reference"),
            (json!({}), Value::Absent, text("a"), "missing_prediction"),
            (json!({ "pred_field": "p" }), Value::Absent, Value::Absent, "missing_reference"),
            (any(), text("a"), json_text("[]"), "missing_reference"),
            (any(), Value::Absent, json_text("[null]"), "missing_reference"),
            (any(), Value::Absent, json_text(r#"["a"]"#), "missing_prediction"),
        ] {
            let shown = format!("{params} {prediction:?} {reference:?}");
            let card = ExactMatch::prepare(params)
                .and_then(|metric| metric.score(Inputs::new(&[prediction, reference])));
            let found = card.map(|card| (card.primary_score, card.error_tags));
            assert_eq!(found, Ok((Some(0.0), vec![tag.to_owned()])), "{shown}");
        }
    }

    #[test]
    fn cards_say_why() {
        let Ok(metric) = ExactMatch::prepare(json!({})) else { panic!("the defaults are accepted") };
        let Ok(card) = metric.score(Inputs::new(&[Value::Absent, text("a")])) else {
            panic!("a missing prediction is scored")
        };
        assert_eq!(card.error_tags, ["missing_prediction"]);
        assert_eq!(card.detail, r#"{"prediction":null,"reference":"a"}"#);
        let Ok(card) = metric.score(Inputs::new(&[text(" A"), text("a")])) else {
            panic!("texts are scored")
        };
        assert_eq!(card.detail, r#"{"prediction":" A","reference":"a","normalized":{"prediction":"a"}}"#);
    }
}
