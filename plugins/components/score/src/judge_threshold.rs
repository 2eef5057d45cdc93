//! `judge_threshold`: tests whether a judge's score is high enough.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::number_schema;
use gage_text_kit::value::{as_float, shown, shown_float};

/// Scores 1 if the judge's score is at least `threshold` (default 0.5), and within `min_value` and `max_value` if they
/// are set.
///
/// A score may be a number, a text that spells one as Python's `float()` reads it, or a boolean (1 and 0). A score that
/// is not finite (`inf`, `nan`, `1e400`) never passes: 0, tagged `invalid_format`. If it is missing, or anything else,
/// the score is `fallback` (default 0, from 0 to 1) and the sample is tagged `missing_prediction` or `invalid_format`.
///
/// A threshold that is a text and not a finite number makes every sample `invalid_format`. It is not a parameter error,
/// since the program that existing suites were written for also scores such suites. Like in that program, `mode` and
/// `tolerance` are accepted and ignored: the comparison is always "at least", without tolerance.
///
/// Input: path parameters `judge_field`, `score_field` and `prediction_field`, by default
/// `judge_output.score`.
pub struct JudgeThreshold {
    /// `None` for a text that does not spell a number.
    threshold: Option<f64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    fallback: f64,
}

impl Metric for JudgeThreshold {
    fn name() -> &'static str {
        "judge_threshold"
    }

    fn spec() -> MetricSpec {
        let ignored = "accepted and ignored: scores are always compared with `>=`";
        MetricSpec::new("2", "Checks that a judge's score reaches a threshold")
            .input(
                "judge",
                &["judge_field", "score_field", "prediction_field"],
                &["judge_output.score"],
                ValueKind::Any,
            )
            .params(json!({
                "threshold": {
                    "type": ["number", "string", "null"],
                    "default": 0.5,
                    "description": "smallest score that passes; if it is a text that is not a finite number, \
                     every sample gets the fallback",
                },
                "min_value": number_schema("lower bound of scores that can pass"),
                "max_value": number_schema("upper bound of scores that can pass"),
                "fallback": number_schema("result of a sample without a score, from 0 to 1; default 0"),
                "mode": { "type": "string", "description": ignored },
                "tolerance": { "type": ["number", "string"], "description": ignored },
            }))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let fallback = params.fallback()?;
        let threshold = match params.get("threshold") {
            Some(serde_json::Value::String(text)) => {
                gage_text_kit::number::parse_float(text).filter(|threshold| threshold.is_finite())
            }
            _ => Some(params.number("threshold")?.unwrap_or(0.5)),
        };
        let (minimum, maximum) = (params.finite("min_value")?, params.finite("max_value")?);
        Ok(JudgeThreshold { threshold, minimum, maximum, fallback })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let judge = inputs.value(0);
        let detail = json!({
            "judge": serde_json::Value::from(shown(judge)),
            "threshold": self.threshold.map(shown_float),
            "min_value": self.minimum.map(shown_float),
            "max_value": self.maximum.map(shown_float),
        });
        let (Some(score), Some(threshold)) = (as_float(judge), self.threshold) else {
            let (tag, why) = match (judge, self.threshold) {
                (_, None) => ("invalid_format", "the threshold is not a number"),
                (Value::Absent, _) => ("missing_prediction", "there is no score of a judge"),
                _ => ("invalid_format", "the judge's score is not a number"),
            };
            let card = ScoreCard::of(self.fallback).pass(false).tag(tag);
            return Ok(card.explain(why).detail(&detail));
        };
        if !score.is_finite() {
            let card = ScoreCard::binary(false).tag("invalid_format");
            return Ok(card.explain("the judge's score is not a finite number").detail(&detail));
        }
        let is_high_enough = score >= threshold;
        let is_within = self.minimum.is_none_or(|minimum| score >= minimum)
            && self.maximum.is_none_or(|maximum| score <= maximum);
        let card = ScoreCard::binary(is_high_enough && is_within).detail(&detail);
        Ok(match (is_high_enough, is_within) {
            (true, true) => card,
            (false, _) => card.tag("below_threshold"),
            (true, false) => card.tag("out_of_range"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(params: serde_json::Value, judge: Value) -> Option<ScoreCard> {
        JudgeThreshold::prepare(params).ok()?.score(Inputs::new(&[judge])).ok()
    }

    #[test]
    fn scores() {
        let text = |text: &str| Value::Text(text.to_owned());
        let number = Value::Number;
        for (params, judge, score, tag) in [
            (json!({}), number(0.9), 1.0, None),
            (json!({}), number(0.5), 1.0, None),
            (json!({ "threshold": null }), number(0.49), 0.0, Some("below_threshold")),
            (json!({ "threshold": "0.8" }), text(" 8e-1 "), 1.0, None),
            (json!({ "threshold": "high" }), number(0.9), 0.0, Some("invalid_format")),
            (json!({ "threshold": -1 }), number(-0.5), 1.0, None),
            (json!({}), text("Score: 8"), 0.0, Some("invalid_format")),
            (json!({}), text("80%"), 0.0, Some("invalid_format")),
            (json!({}), text(""), 0.0, Some("invalid_format")),
            (json!({}), Value::Boolean(true), 1.0, None),
            (json!({}), text("nan"), 0.0, Some("invalid_format")),
            (json!({}), text("inf"), 0.0, Some("invalid_format")),
            (json!({}), text("1e400"), 0.0, Some("invalid_format")),
            (json!({}), Value::Json("1e400".to_owned()), 0.0, Some("invalid_format")),
            (json!({ "fallback": 1 }), number(f64::INFINITY), 0.0, Some("invalid_format")),
            (json!({ "threshold": "-inf" }), number(0.9), 0.0, Some("invalid_format")),
            (json!({ "min_value": "1" }), number(0.9), 0.0, Some("out_of_range")),
            (json!({ "mode": "le", "tolerance": 1 }), number(0.1), 0.0, Some("below_threshold")),
            (json!({ "fallback": 1 }), text("n/a"), 1.0, Some("invalid_format")),
            (json!({}), Value::Absent, 0.0, Some("missing_prediction")),
            (json!({}), Value::Json("[1]".to_owned()), 0.0, Some("invalid_format")),
        ] {
            let Some(card) = card(params.clone(), judge) else { panic!("{params} is accepted") };
            assert_eq!(card.primary_score, Some(score), "{params} {card:?}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{params} {card:?}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({ "threshold": [1] }),
            json!({ "min_value": "abc" }),
            json!({ "max_value": "inf" }),
            json!({ "fallback": 2 }),
            json!({ "fallback": "nan" }),
        ] {
            assert!(JudgeThreshold::prepare(params.clone()).is_err(), "{params}");
        }
    }
}
