//! Numbers: the error, compared with the tolerance.

use crate::canonical::{is_nothing, member, shown, value};
use crate::judged::Judgement;
use crate::settings::Settings;
use gage_number_kit::{Failure, Format, Measurement, Pair, own_tolerance, own_tolerance_abs};
use gage_sdk::serde_json::{Map, Value};
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::unit::Unit;
use gage_text_kit::value::shown_float;

/// Scores a number. Texts are read as people write numbers, with units; a boolean is not a number.
///
/// # Errors
/// `invalid-input` for an invalid tolerance or unit of the ground truth.
pub(crate) fn score(
    settings: &Settings,
    prediction: &Value,
    reference: &Value,
) -> Result<Judgement, PluginError> {
    let own_abs = own_tolerance_abs(member(reference, "tolerance_abs"), member(reference, "tolerance"))?;
    let own_rel = own_tolerance(member(reference, "tolerance_rel"), "tolerance_rel")?;
    if !matches!(member(reference, "unit"), Value::Null | Value::String(_)) {
        return Err(PluginError::invalid_input("'unit' of the ground truth must be a text").at("/unit"));
    }
    let failed =
        |tag, why| Ok(Judgement::failed(tag, why, &["within_tol"], shown(prediction), shown(reference)));
    // A list is not a number.
    let measured = |json: &Value| match value(json) {
        nothing if is_nothing(nothing) => Measurement::of_json(Value::Null),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Measurement::of_json(Value::Array(Vec::new())),
        _ if !matches!(member(json, "unit"), Value::Null | Value::String(_)) => {
            Measurement::of_json(Value::Array(Vec::new()))
        }
        _ => Measurement::of_json(json.clone()),
    };
    let (predicted, expected) = (measured(prediction), measured(reference));
    let pair = match Pair::read(&predicted, &expected, settings.unit.as_ref(), Format::Written) {
        Ok(pair) => pair,
        Err(failure) => {
            let why = match failure {
                Failure::MissingPrediction => "there is no number",
                Failure::MissingReference => "there is no ground truth",
                Failure::InvalidReference => "the ground truth is no finite number",
                Failure::InvalidFormat => "the answer is no finite number",
                Failure::WrongUnit => "the answer is in a unit that measures something else",
            };
            return failed(failure.tag(), why);
        }
    };
    let tolerance_abs = settings.tolerance_abs.or(own_abs).unwrap_or(0.0);
    let tolerance_rel = settings.tolerance_rel.or(own_rel).unwrap_or(0.0);
    let deviation = pair.deviation(tolerance_abs, tolerance_rel);
    let is_within = deviation.is_within();
    let score = if is_within { 1.0 } else { 0.0 };
    let card = ScoreCard::of(score).pass(settings.passes(score, is_within)).sub_score("within_tol", score);
    let card = deviation.add_to(card).explain(deviation.explained());
    let card = if is_within { card } else { card.tag("wrong_answer") };
    let mut canonical = canonical(pair.target, pair.unit.as_ref());
    canonical.insert("tolerance_abs".to_owned(), shown_float(tolerance_abs));
    canonical.insert("tolerance_rel".to_owned(), shown_float(tolerance_rel));
    let prediction = self::canonical(pair.number, pair.unit.as_ref());
    Ok(Judgement { card, prediction: prediction.into(), reference: canonical.into() })
}

/// Returns a number with its unit, in canonical form.
fn canonical(number: f64, unit: Option<&Unit>) -> Map<String, Value> {
    let mut fields = Map::from_iter([("value".to_owned(), shown_float(number))]);
    fields.extend(unit.map(|unit| ("unit".to_owned(), shown(&unit.spelled().into()))));
    fields
}
