//! `latency`: response time of the model.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::number_schema;
use gage_text_kit::value::{as_float, shown};

/// Returns the recorded time in milliseconds.
///
/// Without a recorded time it returns `default_latency`, or no value if that is not set, so that the sample is excluded
/// from the mean. If the record is not a number, it returns `default_latency` or 0, and adds a tag.
pub struct Latency {
    default: Option<f64>,
}

impl Metric for Latency {
    fn name() -> &'static str {
        "latency"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Latency of the model's answer, in milliseconds")
            .value_name("latency_ms")
            .unbounded(false)
            .input("target", &["target_field"], &["model_output.latency_ms"], ValueKind::Any)
            .params(json!({
                "default_latency": number_schema("Value of samples without a latency; without it they get no \
                 score"),
            }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(Latency { default: Params::new(params)?.finite("default_latency")? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let value = inputs.value(0);
        let card = match (as_float(value), self.default) {
            (Some(latency), _) if latency.is_finite() => ScoreCard::of(latency),
            (Some(_), _) => ScoreCard::none("the recorded latency is not finite").tag("invalid_format"),
            (None, Some(default)) if *value == Value::Absent => ScoreCard::of(default).tag("missing_latency"),
            (None, None) if *value == Value::Absent => {
                ScoreCard::none("no latency was recorded").tag("missing_latency")
            }
            (None, default) => ScoreCard::of(default.unwrap_or(0.0)).tag("invalid_format"),
        };
        Ok(card.detail(&json!({ "target": shown(value) })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(params: serde_json::Value, value: Value) -> Option<Option<f64>> {
        let metric = Latency::prepare(params).ok()?;
        metric.score(Inputs::new(&[value])).ok().map(|card| card.primary_score)
    }

    #[test]
    fn latencies() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (params, value, expected) in [
            (json!({}), Value::Number(12.5), Some(12.5)),
            (json!({}), text("12.5"), Some(12.5)),
            (json!({}), text("1_000"), Some(1000.0)),
            (json!({}), Value::Number(-3.0), Some(-3.0)),
            (json!({}), Value::Number(0.0), Some(0.0)),
            (json!({}), text("1,200"), Some(0.0)),
            (json!({ "default_latency": 7 }), text("1,200"), Some(7.0)),
            (json!({}), text("nan"), None),
            (json!({}), Value::Absent, None),
            (json!({ "default_latency": 99 }), Value::Absent, Some(99.0)),
        ] {
            assert_eq!(latency(params, value), Some(expected));
        }
    }

    #[test]
    fn bad_defaults_are_refused_even_when_unused() {
        for default in ["abc", "nan"] {
            assert!(Latency::prepare(json!({ "default_latency": default })).is_err(), "{default}");
        }
    }
}
