//! Inputs of metrics and extractors.

use crate::bindings::types::{InputSpec, Value, ValueKind};

/// Values of one item, in the order of the inputs in the spec.
#[derive(Clone, Copy)]
pub struct Inputs<'a>(&'a [Value]);

impl<'a> Inputs<'a> {
    /// Wraps values, for tests.
    pub fn new(values: &'a [Value]) -> Inputs<'a> {
        Inputs(values)
    }

    /// Returns the value at an index; `Absent` if the item has none.
    pub fn value(&self, index: usize) -> &'a Value {
        self.0.get(index).unwrap_or(&Value::Absent)
    }

    /// Returns the text at an index, if it is one.
    pub fn text(&self, index: usize) -> Option<&'a str> {
        match self.value(index) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number at an index, if it is a number or a text that spells one; always finite.
    pub fn number(&self, index: usize) -> Option<f64> {
        let number = match self.value(index) {
            Value::Number(number) => *number,
            Value::Text(text) | Value::Json(text) => text.trim().parse().ok()?,
            Value::Absent | Value::Boolean(_) | Value::Texts(_) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// Returns the value at an index as JSON; `Null` if absent.
    pub fn json(&self, index: usize) -> serde_json::Value {
        self.value(index).to_json()
    }
}

impl Value {
    /// Returns the value as JSON; `Null` if absent.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Absent => serde_json::Value::Null,
            Value::Text(text) => text.as_str().into(),
            Value::Number(number) => number_to_json(*number),
            Value::Boolean(boolean) => (*boolean).into(),
            Value::Texts(texts) => texts.as_slice().into(),
            Value::Json(text) => serde_json::from_str(text).unwrap_or(serde_json::Value::Null),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<serde_json::Value> for Value {
    /// Converts to `Json`, as for an input of the kind `json`.
    fn from(value: serde_json::Value) -> Value {
        Value::Json(value.to_string())
    }
}

impl InputSpec {
    /// Creates an input. The first path parameter that is set wins, otherwise the first default path that
    /// exists.
    pub fn new(name: &str, path_params: &[&str], default_paths: &[&str], kind: ValueKind) -> InputSpec {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        InputSpec {
            name: name.to_owned(),
            path_params: owned(path_params),
            default_paths: owned(default_paths),
            kind,
        }
    }
}

/// Converts to an integer if the number is one, so that `3` does not become `3.0`.
pub(crate) fn number_to_json(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT && (number != 0.0 || number.is_sign_positive()) {
        // Exact: the bound above is the limit of integers that f64 can represent.
        (number as i64).into()
    } else {
        number.into()
    }
}
