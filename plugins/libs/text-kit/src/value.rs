//! Input values of a metric as text, as numbers, and as shown in a score card.

use crate::Decimal;
use crate::number::{float_text, non_finite_name, parse_float};
use crate::text::excerpt;
use gage_sdk::metric::Value;
use gage_sdk::serde_json;
use serde::Serialize;
use std::borrow::Cow;

/// Returns the value as text: strings as they are, anything else as spelled in JSON; `None` if it is absent.
pub fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Absent => None,
        Value::Text(text) | Value::Json(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(float_text(*number))),
        Value::Boolean(boolean) => Some(Cow::Borrowed(boolean_text(*boolean))),
        Value::Texts(_) => Some(Cow::Owned(value.to_json().to_string())),
    }
}

/// Returns a boolean as spelled in JSON.
pub fn boolean_text(boolean: bool) -> &'static str {
    if boolean { "true" } else { "false" }
}

/// Returns the value as Python's `float()` would read it: numbers, booleans as 1 and 0, and texts that spell a number.
pub fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Boolean(boolean) => Some(if *boolean { 1.0 } else { 0.0 }),
        Value::Text(text) => parse_float(text),
        Value::Json(text) if Decimal::parse(text).is_some() => text.parse().ok(),
        Value::Absent | Value::Texts(_) | Value::Json(_) => None,
    }
}

/// Returns the exact number of a JSON number; `None` for a text.
pub fn as_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Decimal::from_float(*number),
        Value::Json(text) => Decimal::parse(text),
        _ => None,
    }
}

/// Returns whether the value is falsy in Python: absent, empty, zero, false.
pub fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Absent => true,
        Value::Text(text) => text.is_empty(),
        Value::Number(number) => *number == 0.0,
        Value::Boolean(boolean) => !boolean,
        Value::Texts(texts) => texts.is_empty(),
        Value::Json(text) => matches!(text.trim(), "[]" | "{}" | "null"),
    }
}

/// A value as a score card shows it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum DisplayValue<'value> {
    /// A text, or its beginning.
    Text(Cow<'value, str>),
    /// Anything else.
    Json(serde_json::Value),
}

/// Returns the value as a score card shows it: as JSON, cut if it is very long.
pub fn shown(value: &Value) -> DisplayValue<'_> {
    match value {
        Value::Text(text) => DisplayValue::Text(excerpt(text)),
        Value::Number(number) if !number.is_finite() => DisplayValue::Text(non_finite_name(*number).into()),
        Value::Json(text) => match excerpt(text) {
            Cow::Borrowed(_) => DisplayValue::Json(value.to_json()),
            cut @ Cow::Owned(_) => DisplayValue::Text(cut),
        },
        Value::Absent | Value::Number(_) | Value::Boolean(_) | Value::Texts(_) => {
            DisplayValue::Json(value.to_json())
        }
    }
}

impl From<DisplayValue<'_>> for serde_json::Value {
    fn from(shown: DisplayValue<'_>) -> serde_json::Value {
        match shown {
            DisplayValue::Text(text) => text.into(),
            DisplayValue::Json(json) => json,
        }
    }
}

/// Returns a float as a score card shows it: a number that JSON cannot hold becomes its name.
pub fn shown_float(number: f64) -> serde_json::Value {
    if number.is_finite() { number.into() } else { non_finite_name(number).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_text() {
        for (value, expected) in [
            (Value::Absent, None),
            (Value::Text("a".to_owned()), Some("a")),
            (Value::Number(1.0), Some("1")),
            (Value::Number(1.5), Some("1.5")),
            (Value::Boolean(true), Some("true")),
            (Value::Texts(vec!["a".to_owned()]), Some(r#"["a"]"#)),
            (Value::Json(r#"{"a":1}"#.to_owned()), Some(r#"{"a":1}"#)),
        ] {
            assert_eq!(as_text(&value).as_deref(), expected);
        }
    }

    #[test]
    fn values_become_numbers() {
        for (value, expected) in [
            (Value::Boolean(true), Some(1.0)),
            (Value::Text(" 5 ".to_owned()), Some(5.0)),
            (Value::Json("9007199254740993".to_owned()), Some(9_007_199_254_740_992.0)),
            (Value::Json("[5]".to_owned()), None),
            (Value::Absent, None),
        ] {
            assert_eq!(as_float(&value), expected);
        }
    }

    #[test]
    fn falsy_values() {
        for value in [Value::Absent, Value::Number(-0.0), Value::Boolean(false), Value::Json("[]".to_owned())]
        {
            assert!(is_falsy(&value));
        }
        for value in [Value::Number(0.5), Value::Text("0".to_owned()), Value::Json("[0]".to_owned())] {
            assert!(!is_falsy(&value));
        }
    }
}
