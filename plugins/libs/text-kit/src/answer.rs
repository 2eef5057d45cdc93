//! Answers that a model gives as a JSON object: the field that a suite names, and the equality of two answers.

use crate::Params;
use crate::decimal::Decimal;
use crate::json::at_path;
use crate::number::non_finite_name;
use crate::text::Normalization;
use gage_sdk::metric::{Inputs, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json::{self, Map};
use gage_sdk::{PluginError, json};
use std::borrow::Cow;

/// Index of the parsed answer among the inputs of these metrics, after the prediction and the reference.
const PARSED: usize = 2;

/// Adds the parsed answer as an input, for a metric with a prediction and a reference as inputs.
pub fn with_parsed(spec: MetricSpec) -> MetricSpec {
    // Most suites have no parsed answers. The second path exists in every Sample, so `on_missing_field: error` does not
    // require one. Its value is not an object, and so has no fields.
    spec.input("parsed", &["parsed_field"], &["model_output.parsed", "sample.id"], ValueKind::Json)
}

/// Returns the schema of the parameters that [`PredictionField`] reads.
pub fn field_schema() -> Map<String, serde_json::Value> {
    let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
    Map::from_iter([
        (
            "pred_field".to_owned(),
            text(
                "Dotted path of the value in the parsed answer, used instead of the \
            prediction",
            ),
        ),
        ("name".to_owned(), text("Name of the field; has no effect on the values")),
    ])
}

/// Field of the parsed answer that is the prediction, if the suite names one.
pub struct PredictionField(Option<Vec<String>>);

impl PredictionField {
    /// Reads `pred_field`.
    ///
    /// # Errors
    /// `invalid-config` if it is not a text, or blank.
    pub fn new(params: &Params) -> Result<PredictionField, PluginError> {
        params.text("name")?;
        let Some(path) = params.text("pred_field")? else { return Ok(PredictionField(None)) };
        if path.trim().is_empty() {
            let message = "params: 'pred_field' must be a path such as value.unit, not an empty text";
            return Err(PluginError::invalid_config(message).at("/pred_field"));
        }
        Ok(PredictionField::at(Some(path)))
    }

    /// Uses the field at a dotted path that was read elsewhere, or the prediction itself if there is no path.
    pub fn at(path: Option<&str>) -> PredictionField {
        PredictionField(path.map(|path| path.split('.').map(str::to_owned).collect()))
    }

    /// Returns whether the suite names a field.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the prediction: the named field of the parsed answer, otherwise the first input.
    pub fn prediction<'item>(&self, inputs: Inputs<'item>) -> Cow<'item, Value> {
        let Some(path) = &self.0 else { return Cow::Borrowed(inputs.value(0)) };
        let parsed = inputs.json(PARSED);
        let found = at_path(&parsed, path.iter().map(String::as_str));
        Cow::Owned(found.map_or(Value::Absent, |found| value_of(found.clone())))
    }
}

/// Converts a JSON value to an input of the kind `any`.
pub fn value_of(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Absent,
        serde_json::Value::Bool(boolean) => Value::Boolean(boolean),
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => match number.as_f64() {
            Some(float) if Decimal::from_float(float) == Decimal::parse(&number.to_string()) => {
                Value::Number(float)
            }
            // A number with more digits than a float holds.
            _ => Value::Json(number.to_string()),
        },
        other => Value::Json(other.to_string()),
    }
}

/// Returns the key that equal answers share. Texts are equal after normalization, numbers and booleans by value (true
/// is 1), and lists and objects member by member, as spelled. A text never equals a number. `None` for null, which is
/// the same as a missing answer.
pub fn key(value: &serde_json::Value, normalization: Normalization) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text_key(&normalization.apply(text))),
        other => {
            let mut key = String::new();
            write_key(other, &mut key);
            Some(key)
        }
    }
}

/// Returns the key of an input, like [`key`].
pub fn key_of(value: &Value, normalization: Normalization) -> Option<String> {
    match value {
        Value::Absent => None,
        Value::Text(text) => Some(text_key(&normalization.apply(text))),
        Value::Number(number) if !number.is_finite() => Some(non_finite_name(*number).to_owned()),
        other => key(&other.to_json(), normalization),
    }
}

/// Returns the key of a text. The quote distinguishes it from anything else.
fn text_key(text: &str) -> String {
    format!("\"{text}")
}

fn write_key(value: &serde_json::Value, key: &mut String) {
    match value {
        serde_json::Value::Null => key.push_str("null"),
        serde_json::Value::Bool(boolean) => key.push_str(if *boolean { "1e0" } else { "0e0" }),
        serde_json::Value::Number(number) => {
            let spelled = number.to_string();
            let value = spelled.split_once('+').map(|(mantissa, exponent)| format!("{mantissa}{exponent}"));
            match Decimal::parse(value.as_deref().unwrap_or(&spelled)) {
                Some(decimal) => key.push_str(&decimal.to_string()),
                None => key.push_str(&spelled),
            }
        }
        serde_json::Value::String(_) => key.push_str(&value.to_string()),
        serde_json::Value::Array(items) => {
            key.push('[');
            for item in items {
                write_key(item, key);
                key.push(',');
            }
            key.push(']');
        }
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<(&String, &serde_json::Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_str());
            key.push('{');
            for (name, value) in fields {
                key.push_str(&serde_json::Value::from(name.as_str()).to_string());
                key.push(':');
                write_key(value, key);
                key.push(',');
            }
            key.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: Normalization = Normalization { case_sensitive: false, strip: true, collapse: true };

    #[test]
    fn fields() {
        let parsed =
            || Value::Json(r#"{"a":{"b":["x",{"c":9007199254740993}]},"n":null,"t":true}"#.to_owned());
        for (path, expected) in [
            (json!("a.b.0"), Value::Text("x".to_owned())),
            (json!("a.b.1.c"), Value::Json("9007199254740993".to_owned())),
            (json!("a.b"), Value::Json(r#"["x",{"c":9007199254740993}]"#.to_owned())),
            (json!("t"), Value::Boolean(true)),
            (json!("n"), Value::Absent),
            (json!("a.x"), Value::Absent),
            (json!("a.b.2"), Value::Absent),
            (json!("t.x"), Value::Absent),
            (json!(null), Value::Text("whole".to_owned())),
        ] {
            let field =
                Params::new(json!({ "pred_field": path })).and_then(|params| PredictionField::new(&params));
            let Ok(field) = field else { panic!("a path is accepted") };
            let inputs = [Value::Text("whole".to_owned()), Value::Absent, parsed()];
            assert_eq!(*field.prediction(Inputs::new(&inputs)), expected, "{path}");
        }
        for parsed in [Value::Absent, Value::Json("\"an id\"".to_owned()), Value::Json("{".to_owned())] {
            let field = PredictionField(Some(vec!["a".to_owned()]));
            assert_eq!(
                *field.prediction(Inputs::new(&[Value::Absent, Value::Absent, parsed])),
                Value::Absent
            );
        }
        for params in [json!({ "pred_field": 1 }), json!({ "pred_field": " " }), json!({ "name": 1 })] {
            assert!(Params::new(params).is_ok_and(|params| PredictionField::new(&params).is_err()));
        }
    }

    #[test]
    fn keys() {
        for (left, right, same) in [
            (json!(" Big  DATA"), json!("big data"), true),
            (json!(1), json!(1.0), true),
            (json!(1e21), json!(1_000_000_000_000_000_000_000_u128 as f64), true),
            (json!(true), json!(1), true),
            (json!(1), json!("1"), false),
            (json!(null), json!(null), false),
            (json!("null"), json!(null), false),
            (json!(["A"]), json!(["a"]), false),
            (json!([1, true]), json!([1.0, 1]), true),
            (json!(["a", "b"]), json!(["a,\"b"]), false),
            (json!({ "a": 1, "b": [null] }), json!({ "b": [null], "a": 1.0 }), true),
            (json!("{}"), json!({}), false),
        ] {
            let keys = (key(&left, LOOSE), key(&right, LOOSE));
            assert_eq!(keys.0.is_some() && keys.0 == keys.1, same, "{left} {right}");
            let inputs = (key_of(&value_of(left), LOOSE), key_of(&value_of(right), LOOSE));
            assert_eq!(inputs, keys);
        }
        assert_ne!(key_of(&Value::Number(f64::NAN), LOOSE), key_of(&"nan".into(), LOOSE));
    }
}
