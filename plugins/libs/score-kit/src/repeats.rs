//! Shared parameters of pass@k for one sample and over rows.

use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};

/// Maximum number of values of `k`, and maximum `k`, so that an item's work is bounded.
const MAX_K_VALUES: usize = 16;
const MAX_K: u64 = 100_000;

/// Number of attempts drawn, and the score from which an attempt passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// Values of `k` in the order given, without duplicates; at least one. Default: 1.
    pub ks: Vec<u64>,
    /// Lowest passing score, for attempts that only have a score. Default: 1.
    pub threshold: f64,
}

impl Repeats {
    /// Returns the JSON Schema of the parameters `k` and `threshold`.
    pub fn schema() -> Value {
        let k = json!({ "type": "integer", "minimum": 1, "maximum": MAX_K });
        json!({
            "k": {
                "anyOf": [k, { "type": "array", "items": k, "minItems": 1, "maxItems": MAX_K_VALUES }],
                "default": [1],
                "description": "number of attempts drawn; a list gives several figures",
            },
            "threshold": { "type": "number", "default": 1, "description": "smallest score that passes" },
        })
    }

    /// Reads `k` and `threshold`.
    ///
    /// # Errors
    /// `invalid-config` if `k` is not an integer from 1 to 100000 or a list of up to 16 of them. Also if `threshold`
    /// is not a number.
    pub fn new(params: &Value) -> Result<Repeats, PluginError> {
        let refuse = |key: &str, what: &str| {
            let message = format!("params: '{key}' must be {what}, not {}", params[key]);
            Err(PluginError::invalid_config(message).at(format!("/{key}")))
        };
        let given = match &params["k"] {
            Value::Null => vec![json!(1)],
            Value::Array(list) => list.clone(),
            single => vec![single.clone()],
        };
        let mut ks: Vec<u64> = Vec::with_capacity(given.len().min(MAX_K_VALUES));
        for k in &given {
            match k.as_u64() {
                Some(k @ 1..=MAX_K) if given.len() <= MAX_K_VALUES => {
                    if !ks.contains(&k) {
                        ks.push(k);
                    }
                }
                _ => return refuse("k", "an integer from 1 to 100000, or a list of at most 16"),
            }
        }
        let threshold = if params["threshold"].is_null() { Some(1.0) } else { params["threshold"].as_f64() };
        match threshold {
            Some(threshold) if !ks.is_empty() => Ok(Repeats { ks, threshold }),
            Some(_) => refuse("k", "a list of at least one integer"),
            None => refuse("threshold", "a number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        assert_eq!(Repeats::new(&json!({})), Ok(Repeats { ks: vec![1], threshold: 1.0 }));
        let both = Repeats::new(&json!({ "k": [1, 10, 1], "threshold": 0.5 }));
        assert_eq!(both, Ok(Repeats { ks: vec![1, 10], threshold: 0.5 }));
        assert_eq!(Repeats::new(&json!({ "k": 3 })).map(|repeats| repeats.ks), Ok(vec![3]));
        for params in [
            json!({ "k": 0 }),
            json!({ "k": "1" }),
            json!({ "k": [] }),
            json!({ "k": 1.5 }),
            json!({ "k": 100_001 }),
            json!({ "k": vec![1; 17] }),
            json!({ "threshold": "high" }),
        ] {
            assert!(Repeats::new(&params).is_err(), "{params}");
        }
    }
}
