//! Scale of a judge's score.

use gage_sdk::{PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::number::float_text;

/// Worst and best score; both finite, the best is larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) worst: f64,
    pub(crate) best: f64,
}

impl Scale {
    /// Reads the parameter `scale`, 0 to 1 by default.
    pub(crate) fn from_params(params: &Params) -> Result<Scale, PluginError> {
        let Some(value) = params.get("scale") else { return Ok(Scale { worst: 0.0, best: 1.0 }) };
        let numbers: Option<Vec<f64>> =
            value.as_array().and_then(|ends| ends.iter().map(serde_json::Value::as_f64).collect());
        match numbers.as_deref() {
            Some([worst, best]) if worst < best && (best - worst).is_finite() => {
                Ok(Scale { worst: *worst, best: *best })
            }
            _ => {
                let message = format!(
                    "params: 'scale' must be the worst and the best score, as in [1, 10], not {value}"
                );
                Err(PluginError::invalid_config(message).at("/scale"))
            }
        }
    }

    pub(crate) fn schema() -> serde_json::Value {
        json!({
            "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2, "default": [0, 1],
            "description": "Worst and best score that the judge can give; `score` is mapped from this range \
             to 0 to 1",
        })
    }

    /// Returns the worst score as text.
    pub(crate) fn worst(self) -> String {
        float_text(self.worst)
    }

    /// Returns the best score as text.
    pub(crate) fn best(self) -> String {
        float_text(self.best)
    }

    /// Maps a score from the scale to 0 to 1: (score − worst) / (best − worst).
    ///
    /// # Errors
    /// Says that the score is outside the scale, or not a number.
    pub(crate) fn normalized(self, score: f64) -> Result<f64, String> {
        if (self.worst..=self.best).contains(&score) {
            return Ok((score - self.worst) / (self.best - self.worst));
        }
        let (score, worst, best) = (float_text(score), self.worst(), self.best());
        Err(format!("the score {score} is outside of the scale from {worst} to {best}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(value: serde_json::Value) -> Result<Scale, PluginError> {
        Scale::from_params(&Params::new(json!({ "scale": value }))?)
    }

    #[test]
    fn scores_are_normalized() {
        for (value, score, expected) in [
            (json!(null), 0.25, Ok(0.25)),
            (json!([1, 10]), 1.0, Ok(0.0)),
            (json!([1, 5]), 4.0, Ok(0.75)),
            (json!([-1, 1]), 0.0, Ok(0.5)),
            (json!([1, 5]), 6.0, Err("the score 6 is outside of the scale from 1 to 5".to_owned())),
            (json!([1, 5]), f64::NAN, Err("the score NaN is outside of the scale from 1 to 5".to_owned())),
        ] {
            assert_eq!(scale(value).map(|scale| scale.normalized(score)), Ok(expected));
        }
    }

    #[test]
    fn bad_scales_are_refused() {
        for value in
            [json!([1]), json!([1, 1]), json!([2, 1]), json!([-1e308, 1e308]), json!("1-10"), json!(["a", 2])]
        {
            assert!(scale(value.clone()).is_err(), "{value}");
        }
    }
}
