//! The inputs of metrics and extractors.

use crate::bindings::types::{InputSpec, Value, ValueKind};

/// The values of one item, in the order in which the spec names its inputs.
#[derive(Clone, Copy)]
pub struct Inputs<'a>(&'a [Value]);

impl<'a> Inputs<'a> {
    /// Wraps the values; for tests.
    pub fn new(values: &'a [Value]) -> Inputs<'a> {
        Inputs(values)
    }

    /// The value at a place; `Absent` where the item has none.
    pub fn value(&self, index: usize) -> &'a Value {
        self.0.get(index).unwrap_or(&Value::Absent)
    }

    /// The text at a place, where it is one.
    pub fn text(&self, index: usize) -> Option<&'a str> {
        match self.value(index) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number at a place, where it is one, or a text that spells one; always finite.
    pub fn number(&self, index: usize) -> Option<f64> {
        let number = match self.value(index) {
            Value::Number(number) => *number,
            Value::Text(text) | Value::Json(text) => text.trim().parse().ok()?,
            Value::Absent | Value::Boolean(_) | Value::Texts(_) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The value at a place as JSON; `Null` where it is absent.
    pub fn json(&self, index: usize) -> serde_json::Value {
        self.value(index).to_json()
    }
}

impl Value {
    /// The value as JSON; `Null` where it is absent.
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
    /// `Json`, whatever it holds: what an input of the kind `json` gets.
    fn from(value: serde_json::Value) -> Value {
        Value::Json(value.to_string())
    }
}

impl InputSpec {
    /// An input; the first path parameter that is set wins, otherwise the first default path that
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

/// An integer where the number is one, so that `3` does not become `3.0`.
pub(crate) fn number_to_json(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT && (number != 0.0 || number.is_sign_positive()) {
        // Exact: the bound above is that of the integers which an f64 holds.
        (number as i64).into()
    } else {
        number.into()
    }
}
