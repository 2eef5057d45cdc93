//! `judge_score`: the score of the answer by one judge or several.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, Value, ValueKind};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::json::read;
use gage_text_kit::params::number_schema;
use gage_text_kit::value::{as_float, shown};

/// Prefix of each judge's sub-score, which the aggregator `krippendorff_alpha` reads.
const PREFIX: &str = "judge_";

/// Returns the judge's score unchanged; with several judges also the score of each, as `judge_<id>`. A sample without a
/// score has none here either: it is excluded from the mean, and never counts as 0.
///
/// Input: path parameters `judge_field` and `score_field`, by default `judge_output.score`; and
/// `judges_field`, by default `judge_output.judges`.
pub struct JudgeScore {
    threshold: Option<f64>,
}

impl Metric for JudgeScore {
    fn name() -> &'static str {
        "judge_score"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Score that a judge gave to the answer")
            .unbounded(true)
            .input("judge", &["judge_field", "score_field"], &["judge_output.score"], ValueKind::Any)
            // The second path always exists, so that a single judge is not a missing field.
            .input("judges", &["judges_field"], &["judge_output.judges", "sample.id"], ValueKind::Json)
            .params(
                json!({ "threshold": number_schema("smallest score that passes; without it, samples neither \
                    pass nor fail") }),
            )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(JudgeScore { threshold: Params::new(params)?.finite("threshold")? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let judge = inputs.value(0);
        let Some(score) = as_float(judge).filter(|score| score.is_finite()) else {
            let (tag, why) = match judge {
                Value::Absent => ("missing_prediction", "there is no score of a judge"),
                _ => ("invalid_format", "the judge's score is not a number"),
            };
            return Ok(ScoreCard::none(why)
                .tag(tag)
                .detail(&json!({ "judge": serde_json::Value::from(shown(judge)) })));
        };
        let mut card = ScoreCard::of(score);
        if let Some(threshold) = self.threshold {
            card = card.pass(score >= threshold);
        }
        if let serde_json::Value::Object(judges) = read(inputs.value(1), "judges")? {
            for (id, output) in &judges {
                if let Some(score) = output["score"].as_f64() {
                    card = card.sub_score(&format!("{PREFIX}{id}"), score);
                }
            }
        }
        Ok(card)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(judge: Value, judges: serde_json::Value) -> ScoreCard {
        let Ok(metric) = JudgeScore::prepare(json!({ "threshold": 0.5 })) else { panic!("good parameters") };
        let Ok(card) = metric.score(Inputs::new(&[judge, Value::Json(judges.to_string())])) else {
            panic!("scored")
        };
        card
    }

    #[test]
    fn scores() {
        let several = json!({ "a": { "score": 1.0 }, "b": { "score": 0.0 }, "c": { "unparseable": "x" } });
        let found = card(Value::Number(0.5), several);
        assert_eq!((found.primary_score, found.pass), (Some(0.5), Some(true)));
        let names: Vec<&str> = found.sub_scores.iter().map(|sub| sub.name.as_str()).collect();
        assert_eq!(names, ["judge_a", "judge_b"]);
        for (judge, score, tag) in [
            (Value::Absent, None, Some("missing_prediction")),
            (Value::Text("good".to_owned()), None, Some("invalid_format")),
            (Value::Number(f64::NAN), None, Some("invalid_format")),
            (Value::Text("0.25".to_owned()), Some(0.25), None),
        ] {
            let found = card(judge, json!("an id"));
            assert_eq!((found.primary_score, found.error_tags.first().map(String::as_str)), (score, tag));
        }
    }
}
