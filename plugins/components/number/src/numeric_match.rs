//! `numeric_match`: tests whether the prediction equals or is near the reference number.

use gage_number_kit::{best, tolerance_parameter};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::serde_json::{self, Map};
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::params::number_schema;
use gage_text_kit::references::{any_reference_schema, each, plain};
use gage_text_kit::value::{as_float, shown, shown_float};

const PREDICTION: usize = 0;
const REFERENCE: usize = 1;

/// Scores 1 if the prediction is near enough to the reference, or on the right side of it, and within bounds. If either
/// side is not a number, the score is `fallback`.
///
/// Numbers are read like Python's `float()`, so a text with units, percent signs or thousands separators is not a
/// number. A number that is not finite (`inf`, `nan`, `1e400`) on either side never passes and scores 0 in any mode,
/// unless the tolerance is infinite. With a negative tolerance nothing passes.
///
/// With `any_reference` the reference is a list of correct numbers, and one is enough.
pub struct NumericMatch {
    tolerance: f64,
    minimum: Option<Bound>,
    maximum: Option<Bound>,
    mode: Mode,
    fallback: f64,
    any_reference: bool,
}

/// A bound with its spelling in the suite.
struct Bound {
    number: f64,
    spelled: serde_json::Value,
}

/// Required relation of the two numbers.
enum Mode {
    AtLeast,
    AtMost,
    /// The difference is within the tolerance; holds the mode's name in the suite.
    Near(String),
}

impl Mode {
    fn new(name: &str) -> Mode {
        match name.to_lowercase().as_str() {
            "ge" => Mode::AtLeast,
            "le" => Mode::AtMost,
            // Open on purpose: existing suites rely on any other word meaning the default.
            name => Mode::Near(name.to_owned()),
        }
    }

    fn name(&self) -> &str {
        match self {
            Mode::AtLeast => "ge",
            Mode::AtMost => "le",
            Mode::Near(name) => name,
        }
    }
}

impl Metric for NumericMatch {
    fn name() -> &'static str {
        "numeric_match"
    }

    fn spec() -> MetricSpec {
        let bound =
            |description: &str| json!({ "type": ["number", "string", "null"], "description": description });
        let mut params = Map::from_iter([any_reference_schema()]);
        let mode = json!({
            "type": "string", "default": "abs_diff",
            "description": "`ge` requires at least the reference, `le` at most; any other value compares \
             within the tolerance",
        });
        params.extend(
            [
                ("tolerance", number_schema("Largest accepted difference; default 0")),
                ("min_value", bound("Predictions below it score 0")),
                ("max_value", bound("Predictions above it score 0")),
                ("mode", mode),
                ("fallback", number_schema("Score if a number cannot be read; default 0")),
            ]
            .map(|(name, schema)| (name.to_owned(), schema)),
        );
        MetricSpec::new("5", "Checks that the prediction equals the reference number, within a tolerance")
            .prediction("prediction_field")
            .reference()
            .params(params.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let fallback = params.fallback()?;
        Ok(NumericMatch {
            tolerance: tolerance_parameter(&params, "tolerance")?.unwrap_or(0.0),
            minimum: Bound::read(&params, "min_value")?,
            maximum: Bound::read(&params, "max_value")?,
            mode: Mode::new(params.text("mode")?.unwrap_or("abs_diff")),
            fallback,
            any_reference: params.flag("any_reference", false)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (inputs.value(PREDICTION), plain(inputs.value(REFERENCE)));
        let right = each(self.any_reference, &reference);
        let found = best(right.iter().map(|right| self.card(prediction, right)));
        Ok(found.unwrap_or_else(|| self.card(prediction, &Value::Absent)))
    }
}

impl NumericMatch {
    /// Returns the card for one correct answer.
    fn card(&self, prediction: &Value, reference: &Value) -> ScoreCard {
        let spelled = |bound: &Option<Bound>| bound.as_ref().map(|bound| bound.spelled.clone());
        let mut detail = json!({
            "prediction": null,
            "reference": null,
            "tolerance": shown_float(self.tolerance),
            "min_value": spelled(&self.minimum),
            "max_value": spelled(&self.maximum),
            "mode": self.mode.name(),
        });
        let (card, shown_prediction, shown_reference) = match (as_float(prediction), as_float(reference)) {
            (Some(prediction), Some(reference)) => {
                let card = match (prediction.is_finite(), reference.is_finite()) {
                    _ if self.allows_all(prediction - reference) => ScoreCard::binary(true),
                    (_, false) => failed("invalid_reference"),
                    (false, _) => failed("invalid_format"),
                    _ if self.passes(prediction, reference) => ScoreCard::binary(true),
                    _ => ScoreCard::binary(false)
                        .tag("wrong_answer")
                        .explain(self.explained(prediction, reference)),
                };
                (card, shown_float(prediction), shown_float(reference))
            }
            _ => {
                detail["invalid_format"] = true.into();
                let failed = failed(why_unreadable(prediction, reference));
                let card = ScoreCard { primary_score: Some(self.fallback), ..failed };
                (card, shown(prediction).into(), shown(reference).into())
            }
        };
        detail["prediction"] = shown_prediction;
        detail["reference"] = shown_reference;
        card.detail(&detail)
    }

    /// Returns whether any difference is within the tolerance, which an infinite one means.
    fn allows_all(&self, difference: f64) -> bool {
        let is_near = matches!(self.mode, Mode::Near(_)) && self.minimum.is_none() && self.maximum.is_none();
        is_near && self.tolerance == f64::INFINITY && !difference.is_nan()
    }

    /// Describes in one line why a finite prediction does not pass.
    fn explained(&self, prediction: f64, reference: f64) -> String {
        let is_below = |bound: &Bound| prediction < bound.number;
        let is_above = |bound: &Bound| prediction > bound.number;
        match self.mode {
            Mode::AtLeast if prediction < reference => format!("{prediction} is less than {reference}"),
            Mode::AtMost if prediction > reference => format!("{prediction} is more than {reference}"),
            Mode::Near(_) if (prediction - reference).abs() > self.tolerance => {
                format!(
                    "{prediction} is off by {}, {} is allowed",
                    (prediction - reference).abs(),
                    self.tolerance
                )
            }
            _ if self.minimum.as_ref().is_some_and(is_below) => format!("{prediction} is below 'min_value'"),
            _ if self.maximum.as_ref().is_some_and(is_above) => format!("{prediction} is above 'max_value'"),
            _ => format!("{prediction} does not match {reference}"),
        }
    }

    /// Returns whether a finite prediction passes.
    fn passes(&self, prediction: f64, reference: f64) -> bool {
        let matches = match self.mode {
            Mode::AtLeast => prediction >= reference,
            Mode::AtMost => prediction <= reference,
            Mode::Near(_) => (prediction - reference).abs() <= self.tolerance,
        };
        matches
            && !self.minimum.as_ref().is_some_and(|minimum| prediction < minimum.number)
            && !self.maximum.as_ref().is_some_and(|maximum| prediction > maximum.number)
    }
}

impl Bound {
    fn read(params: &Params, name: &str) -> Result<Option<Bound>, PluginError> {
        let number = params.finite(name)?;
        Ok(number.zip(params.get(name)).map(|(number, spelled)| Bound { number, spelled: spelled.clone() }))
    }
}

/// Returns the card of a pair that cannot be compared, with the reason.
fn failed(tag: &str) -> ScoreCard {
    ScoreCard::binary(false).tag(tag).explain(match tag {
        "missing_prediction" => "there is no prediction",
        "missing_reference" => "there is no reference",
        "invalid_reference" => "the reference is not a finite number",
        _ => "the prediction is not a finite number",
    })
}

fn why_unreadable(prediction: &Value, reference: &Value) -> &'static str {
    match (prediction, reference) {
        (_, Value::Absent) => "missing_reference",
        (Value::Absent, _) => "missing_prediction",
        (_, reference) if as_float(reference).is_none_or(|number| !number.is_finite()) => "invalid_reference",
        _ => "invalid_format",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(params: serde_json::Value, prediction: Value, reference: Value) -> Option<ScoreCard> {
        NumericMatch::prepare(params).ok()?.score(Inputs::new(&[prediction, reference])).ok()
    }

    fn score(params: serde_json::Value, prediction: Value, reference: f64) -> Option<f64> {
        card(params, prediction, Value::Number(reference))?.primary_score
    }

    #[test]
    fn numbers() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (params, prediction, reference, expected) in [
            (json!({}), text(" 3.5\n"), 3.5, 1.0),
            (json!({}), text("-0.0"), 0.0, 1.0),
            (json!({}), text("1__000"), 1000.0, 0.0),
            (json!({}), text("50%"), 50.0, 0.0),
            (json!({}), Value::Boolean(true), 1.0, 1.0),
            (json!({}), Value::Json("9007199254740993".to_owned()), 9_007_199_254_740_992.0, 1.0),
            (json!({ "tolerance": 0.5 }), Value::Number(1.5), 1.0, 1.0),
            (json!({ "tolerance": "0.5" }), Value::Number(1.2), 1.0, 1.0),
            (json!({ "tolerance": "inf" }), text("inf"), 1.0, 1.0),
            (json!({ "tolerance": "inf" }), text("inf"), f64::INFINITY, 0.0),
            (json!({ "tolerance": "inf", "max_value": 5 }), text("inf"), 1.0, 0.0),
            (json!({ "tolerance": -1 }), Value::Number(1.0), 1.0, 0.0),
            (json!({ "mode": "ge" }), text("inf"), 1.0, 0.0),
            (json!({ "mode": "ge" }), text("1e400"), 1.0, 0.0),
            (json!({ "mode": "le" }), text("-inf"), 1.0, 0.0),
            (json!({ "mode": "le" }), Value::Number(1.0), f64::INFINITY, 0.0),
            (json!({ "mode": "ge" }), Value::Number(1.0), f64::NEG_INFINITY, 0.0),
            (json!({ "mode": "ge", "fallback": 1 }), text("nan"), 1.0, 0.0),
            (json!({ "mode": "ge" }), Value::Json("1e400".to_owned()), 1.0, 0.0),
            (json!({ "mode": "GE" }), Value::Number(3.0), 3.0, 1.0),
            (json!({ "mode": "le" }), Value::Number(2.0), 3.0, 1.0),
            (json!({ "mode": "relative" }), Value::Number(5.0), 5.0, 1.0),
            (json!({ "max_value": 4 }), Value::Number(5.0), 5.0, 0.0),
            (json!({ "min_value": "6" }), Value::Number(5.0), 5.0, 0.0),
            (json!({ "fallback": 0.25 }), text("abc"), 5.0, 0.25),
            (json!({ "fallback": 1 }), Value::Number(4.0), 5.0, 0.0),
        ] {
            assert_eq!(score(params.clone(), prediction, reference), Some(expected), "{params}");
        }
    }

    #[test]
    fn one_of_several_numbers_is_enough() {
        let json = |json: &str| Value::Json(json.to_owned());
        let own = r#"[{"answer":[{"type":"text","text":"1"}]},{"answer":[{"type":"text","text":"2"}]}]"#;
        for (any, reference, score, tags) in [
            (true, json(own), 1.0, vec![]),
            (true, json("[1,2]"), 1.0, vec![]),
            (true, json(r#"["one",3]"#), 0.0, vec!["wrong_answer"]),
            (true, json("[]"), 0.0, vec!["missing_reference"]),
            (true, Value::Number(2.0), 1.0, vec![]),
            (false, json("[2]"), 0.0, vec!["invalid_reference"]),
            (false, json(r#"{"answer":[{"type":"text","text":"2.0"}]}"#), 1.0, vec![]),
        ] {
            let shown = format!("{any} {reference:?}");
            let card = card(json!({ "any_reference": any }), "2".into(), reference);
            let found = card.map(|card| (card.primary_score, card.error_tags));
            let tags = tags.into_iter().map(str::to_owned).collect();
            assert_eq!(found, Some((Some(score), tags)), "{shown}");
        }
    }

    #[test]
    fn details_say_what_was_read() {
        let infinity = card(json!({}), Value::Text("inf".to_owned()), Value::Text("Infinity".to_owned()));
        let Some(infinity) = infinity else { panic!("infinity is a number") };
        assert_eq!((infinity.primary_score, infinity.pass), (Some(0.0), Some(false)));
        assert_eq!(infinity.error_tags, ["invalid_reference"]);
        assert_eq!(
            infinity.detail,
            concat!(
                r#"{"prediction":"Infinity","reference":"Infinity","tolerance":0.0,"#,
                r#""min_value":null,"max_value":null,"mode":"abs_diff"}"#
            )
        );
        let Some(missing) = card(json!({}), Value::Absent, Value::Number(5.0)) else {
            panic!("a missing prediction is scored")
        };
        assert_eq!(missing.error_tags, ["missing_prediction"]);
        assert!(missing.detail.contains(r#""invalid_format":true"#));
    }

    #[test]
    fn tags_say_which_side_is_no_number() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (prediction, reference, tag) in [
            (text("five"), text("5"), "invalid_format"),
            (text("5"), text("five"), "invalid_reference"),
            (text("five"), text("five"), "invalid_reference"),
            (text("nan"), text("5"), "invalid_format"),
            (text("five"), text("inf"), "invalid_reference"),
            (text("5"), text("1e400"), "invalid_reference"),
            (Value::Absent, text("five"), "missing_prediction"),
            (text("5"), Value::Absent, "missing_reference"),
            (text("five"), Value::Absent, "missing_reference"),
            (Value::Absent, Value::Absent, "missing_reference"),
        ] {
            let shown = format!("{prediction:?} {reference:?}");
            assert_eq!(
                card(json!({}), prediction, reference).map(|card| card.error_tags),
                Some(vec![tag.to_owned()]),
                "{shown}"
            );
        }
    }

    #[test]
    fn failures_are_explained() {
        for (params, prediction, reference, expected) in [
            (json!({}), Value::Number(5.0), 5.0, None),
            (json!({ "tolerance": 0.5 }), Value::Number(6.0), 5.0, Some("6 is off by 1, 0.5 is allowed")),
            (json!({ "mode": "ge" }), Value::Number(4.0), 5.0, Some("4 is less than 5")),
            (json!({ "mode": "le" }), Value::Number(6.0), 5.0, Some("6 is more than 5")),
            (json!({ "max_value": 4 }), Value::Number(5.0), 5.0, Some("5 is above 'max_value'")),
            (json!({ "min_value": "6" }), Value::Number(5.0), 5.0, Some("5 is below 'min_value'")),
            (json!({}), "five".into(), 5.0, Some("the prediction is not a finite number")),
            (json!({}), Value::Absent, 5.0, Some("there is no prediction")),
        ] {
            let card = card(params.clone(), prediction, Value::Number(reference));
            let explain = card.and_then(|card| card.explain);
            assert_eq!(explain.as_deref(), expected, "{params}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({ "tolerance": "abc" }),
            json!({ "tolerance": "nan" }),
            json!({ "max_value": "inf" }),
            json!({ "min_value": "abc" }),
            json!({ "fallback": "nan" }),
            json!({ "fallback": 2 }),
            json!({ "mode": 1 }),
        ] {
            assert!(NumericMatch::prepare(params.clone()).is_err(), "{params}");
        }
    }
}
