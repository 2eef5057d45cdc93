//! `numeric_error`: distance of the prediction from the reference number.

use gage_number_kit::{Deviation, Format, Measurement, Pair, best, tolerance_parameter};
use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::answer::{PredictionField, field_schema, with_parsed};
use gage_text_kit::params::number_schema;
use gage_text_kit::references::{any_reference_schema, each, plain};
use gage_text_kit::unit::Unit;
use gage_text_kit::value::{shown, shown_float};

const REFERENCE: usize = 1;

/// Scores 1 if the prediction is within the tolerance of the reference, bounds included. The tolerance is the larger of
/// `tolerance_abs` (`tolerance` is an older name) and `tolerance_rel` times the size of the reference. A tolerance is a
/// number, or a text that spells one; a negative one is ignored.
///
/// Sub-scores: `mae`, the absolute error in the unit of the reference, rounded to six decimals, and `relative_error`,
/// the error divided by the size of the reference. The latter is absent if the size is 0 and the error is not. The
/// error before rounding decides whether it is within the tolerance. A reference may be an object with
/// a `value`, a `unit` and its own tolerances (`tolerance_abs` or `tolerance`, `tolerance_rel`), which override those
/// of the suite.
///
/// If the parameter or the reference gives a unit, texts are read as people write numbers, and a prediction in another
/// unit is converted. One that cannot be converted has the tag `wrong_unit`. A prediction without a unit is assumed to
/// be in that of the reference. Without a known unit, texts are read like Python's `float()`. `number_format` overrides
/// both.
///
/// With `any_reference` the reference is a list of correct numbers, and one is enough; the error is measured from the
/// nearest.
///
/// An input that is missing, not a number, or not finite (`inf`, `1e400`) scores 0 and has no sub-scores. A reference
/// with an invalid tolerance is an error.
pub struct NumericError {
    field: PredictionField,
    tolerance_abs: f64,
    tolerance_rel: f64,
    unit: Option<Unit>,
    format: Option<Format>,
    any_reference: bool,
}

impl Metric for NumericError {
    fn name() -> &'static str {
        "numeric_error"
    }

    fn spec() -> MetricSpec {
        let mut params = field_schema();
        params.extend([
            any_reference_schema(),
            ("tolerance".to_owned(), number_schema("Former name of `tolerance_abs`")),
            ("tolerance_abs".to_owned(), number_schema("Largest accepted error; default 0")),
            (
                "tolerance_rel".to_owned(),
                number_schema(
                    "Largest accepted error, relative to the absolute value of the reference; \
                    default 0",
                ),
            ),
            (
                "unit".to_owned(),
                json!({ "type": ["string", "null"], "description": "Unit of a reference without one" }),
            ),
            (
                "number_format".to_owned(),
                json!({
                    "enum": ["plain", "written", null], "default": null,
                    "description": "`plain` reads numbers as Python's `float()`; `written` also reads \
                     separators, percent signs, units and numerals; by default `written` if a unit is \
                     known, else `plain`",
                }),
            ),
        ]);
        let spec = MetricSpec::new("5", "Error of the prediction relative to the reference number")
            .value_name("within_tol")
            .sub_score("mae", false)
            .sub_score("relative_error", false)
            .prediction("prediction_field")
            .reference()
            .params(params.into());
        with_parsed(spec)
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        if params.get("tolerance").is_some() && params.get("tolerance_abs").is_some() {
            let message = "params: 'tolerance' is another name of 'tolerance_abs'; give one of them";
            return Err(PluginError::invalid_config(message).at("/tolerance"));
        }
        let name = if params.get("tolerance").is_some() { "tolerance" } else { "tolerance_abs" };
        let formats = [("plain", Some(Format::Plain)), ("written", Some(Format::Written))];
        Ok(NumericError {
            field: PredictionField::new(&params)?,
            tolerance_abs: tolerance_parameter(&params, name)?.unwrap_or(0.0).max(0.0),
            tolerance_rel: tolerance_parameter(&params, "tolerance_rel")?.unwrap_or(0.0).max(0.0),
            unit: params.text("unit")?.and_then(Unit::parse),
            format: params.one_of("number_format", &formats, None)?,
            any_reference: params.flag("any_reference", false)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (prediction, reference) = (self.field.prediction(inputs), plain(inputs.value(REFERENCE)));
        let right = each(self.any_reference, &reference);
        let cards: Result<Vec<ScoreCard>, PluginError> =
            right.iter().map(|right| self.card(&prediction, right)).collect();
        best(cards?).map_or_else(|| self.card(&prediction, &Value::Absent), Ok)
    }
}

impl NumericError {
    /// Returns the card for one correct answer.
    fn card(&self, prediction: &Value, reference: &Value) -> Result<ScoreCard, PluginError> {
        let (predicted, expected) = (Measurement::new(prediction), Measurement::new(reference));
        let is_unit_known = self.unit.is_some() || expected.unit().is_some();
        let format = self.format.unwrap_or(if is_unit_known { Format::Written } else { Format::Plain });
        let tolerance_abs = expected.tolerance_abs()?.unwrap_or(self.tolerance_abs);
        let tolerance_rel = expected.tolerance_rel()?.unwrap_or(self.tolerance_rel);
        Ok(match Pair::read(&predicted, &expected, self.unit.as_ref(), format) {
            Ok(pair) => card(&pair, tolerance_abs, tolerance_rel),
            Err(failure) => {
                ScoreCard::binary(false).tag(failure.tag()).explain(failure.explained()).detail(&json!({
                    "prediction": serde_json::Value::from(shown(prediction)),
                    "reference": serde_json::Value::from(shown(reference)),
                    "unit": self.unit.as_ref().map(Unit::spelled),
                }))
            }
        })
    }
}

fn card(pair: &Pair, tolerance_abs: f64, tolerance_rel: f64) -> ScoreCard {
    let deviation = pair.deviation(tolerance_abs, tolerance_rel);
    let pass = deviation.is_within();
    let card = ScoreCard::binary(pass).detail(&json!({
        "prediction": shown_float(pair.number),
        "reference": shown_float(pair.target),
        "tolerance": shown_float(deviation.tolerance),
    }));
    let card = Deviation { absolute: rounded(deviation.absolute), ..deviation }.add_to(card);
    if pass { card } else { card.tag("wrong_answer").explain(deviation.explained()) }
}

/// Rounds to six decimals, as the older program recorded its errors: to the nearest value, and an exact half to the
/// even neighbour.
fn rounded(error: f64) -> f64 {
    if error.fract() == 0.0 { error } else { format!("{error:.6}").parse().unwrap_or(error) }
}

#[cfg(test)]
mod tests;
