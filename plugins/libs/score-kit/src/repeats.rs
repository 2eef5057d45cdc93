//! Shared parts of pass@k of one sample and over rows: their parameters.

use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};

/// Most values of `k`, and the largest, so that an item's work is bounded.
const MAX_K_VALUES: usize = 16;
const MAX_K: u64 = 100_000;

/// How many attempts are drawn, and from which score up an attempt passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// The values of `k`, in the order given, without doubles; at least one. Default: 1.
    pub ks: Vec<u64>,
    /// The least score that passes, where all that is known is a score. Default: 1.
    pub threshold: f64,
}

impl Repeats {
    /// The JSON Schema of the parameters `k` and `threshold`.
    pub fn schema() -> Value {
        let k = json!({ "type": "integer", "minimum": 1, "maximum": MAX_K });
        json!({
            "k": {
                "anyOf": [k, { "type": "array", "items": k, "minItems": 1, "maxItems": MAX_K_VALUES }],
                "default": [1],
                "description": "how many attempts are drawn; a list for several figures",
            },
            "threshold": { "type": "number", "default": 1, "description": "least score that passes" },
        })
    }

    /// Reads `k` and `threshold`.
    ///
    /// # Errors
    /// `invalid-config` where `k` is no integer from 1 to 100000 nor a list of up to 16, or `threshold`
    /// is no number.
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
