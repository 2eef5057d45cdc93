//! From JSON values to the values that a metric is handed.

use crate::batch::ItemError;
use crate::bindings::metric_exports::{Value as GuestValue, ValueKind};
use gage_core::Outcome;
use serde_json::Value;

/// The largest integer up to which an f64 holds all of them.
const EXACT: u64 = 1 << 53;

/// Turns a value into the kind that the metric declared; a missing value is `absent`.
pub(crate) fn convert(value: Option<&Value>, kind: ValueKind, name: &str) -> Result<GuestValue, ItemError> {
    let value = match value {
        None | Some(Value::Null) => return Ok(GuestValue::Absent),
        Some(value) => value,
    };
    Ok(match kind {
        ValueKind::Any => any(value),
        ValueKind::Json => GuestValue::Json(value.to_string()),
        ValueKind::Text => match value {
            Value::String(text) => GuestValue::Text(text.clone()),
            Value::Number(_) | Value::Bool(_) => GuestValue::Text(value.to_string()),
            _ => return Err(mistyped(value, "a text", name)),
        },
        ValueKind::Number => match value {
            Value::Number(number) => GuestValue::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => match text.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => GuestValue::Number(number),
                _ => return Err(mistyped(value, "a number", name)),
            },
            _ => return Err(mistyped(value, "a number", name)),
        },
        ValueKind::Texts => match value {
            Value::String(text) => GuestValue::Texts(vec![text.clone()]),
            Value::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                GuestValue::Texts(texts.ok_or_else(|| mistyped(value, "a list of strings", name))?)
            }
            _ => return Err(mistyped(value, "a list of strings", name)),
        },
    })
}

fn any(value: &Value) -> GuestValue {
    match value {
        Value::Null => GuestValue::Absent,
        Value::Bool(boolean) => GuestValue::Boolean(*boolean),
        Value::String(text) => GuestValue::Text(text.clone()),
        Value::Number(number) => {
            let is_exact = match (number.as_u64(), number.as_i64()) {
                (Some(unsigned), _) => unsigned <= EXACT,
                (None, Some(signed)) => signed.unsigned_abs() <= EXACT,
                (None, None) => true,
            };
            match number.as_f64() {
                Some(number) if is_exact => GuestValue::Number(number),
                _ => GuestValue::Json(number.to_string()),
            }
        }
        Value::Array(_) | Value::Object(_) => GuestValue::Json(value.to_string()),
    }
}

fn mistyped(value: &Value, wanted: &str, name: &str) -> ItemError {
    let mut found = value.to_string();
    if found.len() > 80 {
        found.truncate(found.floor_char_boundary(80));
        found.push('…');
    }
    ItemError {
        outcome: Outcome::PluginError,
        kind: "invalid_input",
        message: format!("the input '{name}' must be {wanted}, found {found}"),
        pointer: None,
    }
}
