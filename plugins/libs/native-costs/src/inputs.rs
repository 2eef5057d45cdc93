//! Conversion of a metric's inputs to the kinds that it declares, as in `host/plugin/src/inputs.rs`.

use gage_sdk::metric::{InputSpec, Item, Value, ValueKind};
use gage_sdk::serde_json::{self, Map};

/// Returns an item from values by input name.
///
/// # Errors
/// If a value has the wrong type, or belongs to no input.
pub(crate) fn item(specs: &[InputSpec], values: &serde_json::Value) -> Result<Item, String> {
    let values: &Map<String, serde_json::Value> = values.as_object().ok_or("an item is not an object")?;
    if let Some(name) = values.keys().find(|name| !specs.iter().any(|spec| spec.name == **name)) {
        return Err(format!("there is no input '{name}'"));
    }
    let convert_named = |spec: &InputSpec| {
        let value = values.get(&spec.name).unwrap_or(&serde_json::Value::Null);
        convert(value, spec.kind).ok_or_else(|| format!("the input '{}' cannot be {value}", spec.name))
    };
    let inputs = specs.iter().map(convert_named).collect::<Result<Vec<_>, String>>()?;
    Ok(Item { sample_id: "item".to_owned(), inputs })
}

/// Returns `None` if the value cannot have this kind.
fn convert(value: &serde_json::Value, kind: ValueKind) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Absent);
    }
    Some(match kind {
        ValueKind::Any => any(value),
        ValueKind::Json => Value::Json(value.to_string()),
        ValueKind::Text => match value {
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Value::Text(value.to_string()),
            _ => return None,
        },
        ValueKind::Number => match value {
            serde_json::Value::String(text) => {
                Value::Number(text.trim().parse().ok().filter(|number: &f64| number.is_finite())?)
            }
            number => Value::Number(number.as_f64()?),
        },
        ValueKind::Texts => match value {
            serde_json::Value::String(text) => Value::Texts(vec![text.clone()]),
            list => {
                let texts = list.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
                Value::Texts(texts.collect::<Option<_>>()?)
            }
        },
    })
}

/// Integers beyond 2^53 do not occur in benchmarks.
fn any(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Bool(boolean) => Value::Boolean(*boolean),
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        other => Value::Json(other.to_string()),
    }
}
