//! Tolerances: the largest errors that parameters and ground truths allow.

use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;
use gage_text_kit::number::parse_float;
use gage_text_kit::text::excerpt;

/// Reads a tolerance parameter: a number, or a text that spells one. The metric decides how to treat a negative value.
///
/// # Errors
/// `invalid-config` for anything else, including NaN, because no difference would be within it.
pub fn tolerance_parameter(params: &Params, name: &str) -> Result<Option<f64>, PluginError> {
    match params.number(name)? {
        Some(tolerance) if tolerance.is_nan() => {
            let message = format!("params: '{name}' must be a number of 0 or more, not NaN");
            Err(PluginError::invalid_config(message).at(format!("/{name}")))
        }
        tolerance => Ok(tolerance),
    }
}

/// Reads the tolerance of a ground truth: a finite number from 0 up, or a text that spells one as Python's `float()`
/// reads it. Null means no tolerance.
///
/// # Errors
/// `invalid-input` for anything else, so that no label is scored with a tolerance that it does not state.
pub fn own_tolerance(value: &Value, name: &str) -> Result<Option<f64>, PluginError> {
    let number = match value {
        Value::Null => return Ok(None),
        Value::String(text) => parse_float(text),
        value => value.as_f64(),
    };
    number.filter(|number| is_tolerance(*number)).map(Some).ok_or_else(|| {
        let shown = value.to_string();
        let shown = excerpt(&shown);
        let message = format!("'{name}' of the ground truth must be a finite number from 0 up, not {shown}");
        PluginError::invalid_input(message).at(format!("/{name}"))
    })
}

/// Returns the largest absolute error that a ground truth allows: its `tolerance_abs`, or `tolerance`, the older name.
///
/// # Errors
/// See [`own_tolerance`]. Also an error if the ground truth has both.
pub fn own_tolerance_abs(tolerance_abs: &Value, older: &Value) -> Result<Option<f64>, PluginError> {
    match (own_tolerance(tolerance_abs, "tolerance_abs")?, own_tolerance(older, "tolerance")?) {
        (Some(_), Some(_)) => {
            let message =
                "'tolerance' of the ground truth is another name of 'tolerance_abs'; give one of them";
            Err(PluginError::invalid_input(message).at("/tolerance"))
        }
        (named, older) => Ok(named.or(older)),
    }
}

fn is_tolerance(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn tolerances_are_finite_numbers_from_0_up() {
        for (value, expected) in [
            (json!(null), Some(None)),
            (json!(0), Some(Some(0.0))),
            (json!(0.5), Some(Some(0.5))),
            (json!(" 0.5 "), Some(Some(0.5))),
            (json!("5e-1"), Some(Some(0.5))),
            (json!(-1), None),
            (json!("-0.5"), None),
            (json!("1e400"), None),
            (json!("inf"), None),
            (json!("nan"), None),
            (json!("5%"), None),
            (json!(""), None),
            (json!(true), None),
            (json!([0.5]), None),
        ] {
            let own = own_tolerance(&value, "tolerance_abs");
            assert_eq!(own.as_ref().ok(), expected.as_ref(), "{value} {own:?}");
        }
    }

    #[test]
    fn an_absolute_tolerance_has_an_older_name() {
        let none = json!(null);
        for (named, older, expected) in [
            (&none, &none, Ok(None)),
            (&json!(1), &none, Ok(Some(1.0))),
            (&none, &json!("0.5"), Ok(Some(0.5))),
            (&json!(1), &json!(1), Err("/tolerance")),
            (&none, &json!("x"), Err("/tolerance")),
        ] {
            let found = own_tolerance_abs(named, older).map_err(|error| error.pointer.unwrap_or_default());
            assert_eq!(found, expected.map_err(str::to_owned), "{named} {older}");
        }
    }
}
