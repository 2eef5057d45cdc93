//! Record of a finished sample.

use gage_core::{LazyJson, MetricResult, Outcome, RecordedSample};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;

/// Stage at which a sample failed.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Stage {
    /// Reading the row.
    Load,
    /// Turning the row into a Sample.
    Preprocess,
    /// Building the messages and the media.
    Prompt,
    /// Finding the material that is put before the model.
    Support,
    /// Requesting the model's answer.
    Inference,
    /// Comparing the meaning of the answer with that of its references.
    Embed,
    /// Requesting the judge's verdict.
    Judge,
    /// Scoring the answer.
    Scoring,
}

impl Stage {
    /// Returns the name used in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Cause of a sample's failure. Holds nothing that varies from run to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNote {
    /// Stage of the failure.
    pub stage: Stage,
    /// Kind of failure, as a short stable name.
    pub kind: String,
    /// Description of the failure, without known secrets.
    #[serde(serialize_with = "without_secrets")]
    pub message: String,
    /// Place in the row or the Sample, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl ErrorNote {
    /// Returns the description as it is recorded.
    pub fn message_without_secrets(&self) -> Cow<'_, str> {
        gage_secrets::redact(&self.message)
    }
}

/// Times of the stages of a sample beside inference and scoring, in milliseconds. 0 for a stage that it did not pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    /// The sample's share of the time to read its batch of rows, and to make Samples of them.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub preprocess_ms: f64,
    /// Support steps, including the requests of their roles.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub support_ms: f64,
    /// Building the request: rendering the prompt and reading media.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub prompt_ms: f64,
    /// Embedding the answer and its references.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub embed_ms: f64,
    /// All requests to judges, with their retries.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub judge_ms: f64,
    /// The sample's share of the time of extractors, which is part of the scoring time.
    #[serde(skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub extract_ms: f64,
}

impl StageTimes {
    /// Returns whether the sample passed none of these stages.
    pub fn is_empty(&self) -> bool {
        *self == StageTimes::default()
    }

    /// Returns the stages that the sample passed, by name, in the order in which it passed them.
    pub fn passed(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("preprocess", self.preprocess_ms),
            ("support", self.support_ms),
            ("prompt", self.prompt_ms),
            ("embed", self.embed_ms),
            ("judge", self.judge_ms),
            ("extract", self.extract_ms),
        ];
        all.into_iter().filter(|(_, milliseconds)| *milliseconds > 0.0)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_nothing(milliseconds: &f64) -> bool {
    *milliseconds == 0.0
}

/// Writes milliseconds rounded to microseconds, and 0 for numbers that are not finite.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn microseconds<S: Serializer>(milliseconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = (milliseconds * 1_000.0).round() / 1_000.0;
    serializer.serialize_f64(if rounded.is_finite() { rounded } else { 0.0 })
}

/// Timing of a sample. Varies from run to run. Numbers that are not finite are stored as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleTiming {
    /// Duration of the last attempt at the model call, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub latency_ms: f64,
    /// Time from when the sample was ready until its model call started, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub queue_ms: f64,
    /// Time from the start of the model call to the first chunk of its answer, in milliseconds. `None` if the
    /// answer was not streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
    /// Number of calls to the model; 0 if it was never called.
    pub attempts: u32,
    /// Number of model turns in a conversation with tools; further attempts are retries. 0 for samples that
    /// request only one answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// Times of the other stages.
    #[serde(default, skip_serializing_if = "StageTimes::is_empty")]
    pub stages: StageTimes,
    /// The sample's share of the scoring time, in milliseconds.
    #[serde(serialize_with = "microseconds")]
    pub scoring_ms: f64,
    /// The sample's share of the fuel used by the plugins that scored it. Equal in every run.
    pub scoring_fuel: u64,
    /// Time at which the sample was answered or failed, in milliseconds since 1970, UTC.
    pub finished_unix_ms: u64,
}

impl SampleTiming {
    /// Returns the number of retried model calls.
    pub fn retries(&self) -> u32 {
        self.attempts.saturating_sub(self.requests.max(1))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Everything that is kept of a finished sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Task id.
    pub task_id: String,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id; for an invalid row, the name that the loader gave it.
    pub sample_id: String,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: String,
    /// Outcome of the sample.
    pub outcome: Outcome,
    /// Cause of the failure, if the sample failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorNote>,
    /// The Sample as it was sent; null for an invalid row.
    pub sample: RecordedSample,
    /// Beginning of the row, if it is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Output of support steps, by adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_output: Option<Value>,
    /// Output of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_output: Option<LazyJson>,
    /// Output of the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_output: Option<Value>,
    /// Results of the metrics, in suite order.
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    /// Timing of the sample.
    pub timing: SampleTiming,
    /// Results of metrics that read a clock; they vary from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing_metrics: Vec<MetricResult>,
}

fn without_secrets<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&gage_secrets::redact(text))
}

/// Serializes a number, or 0 if JSON cannot represent it.
pub(crate) fn finite<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if number.is_finite() { *number } else { 0.0 })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use gage_core::ScoreCard;
    use serde_json::json;

    /// A record that holds a little of everything.
    pub(crate) fn record(task_id: &str, index: u64, answer: &str) -> SampleRecord {
        let card = ScoreCard { primary_score: Some(0.1), pass: Some(false), ..ScoreCard::default() };
        let result = |metric_id: &str| MetricResult {
            metric_id: metric_id.into(),
            schema_version: "".into(),
            scorer_version: "".into(),
            prompt_version: "".into(),
            outcome: Outcome::Scored,
            card: Some(card.clone()),
            error: None,
        };
        SampleRecord {
            task_id: task_id.to_owned(),
            index,
            sample_id: format!("s-{index}"),
            row_digest: format!("{index:016x}"),
            outcome: Outcome::Scored,
            error: None,
            sample: json!({"id": format!("s-{index}"), "messages": []}).into(),
            row: None,
            support_output: None,
            model_output: Some(json!({"answer": answer}).into()),
            judge_output: None,
            metrics: vec![result("exact_match")],
            timing: SampleTiming { latency_ms: 1.5, attempts: 1, ..SampleTiming::default() },
            timing_metrics: vec![result("latency")],
        }
    }

    #[test]
    fn a_record_comes_back_from_json() {
        let mut full = record("t", 3, "é\n\"");
        full.outcome = Outcome::InvalidSample;
        full.error = Some(ErrorNote {
            stage: Stage::Load,
            kind: "not_json".to_owned(),
            message: "m".to_owned(),
            pointer: Some("/a".to_owned()),
        });
        full.row = Some("é".to_owned());
        full.judge_output = Some(json!({"score": 0.1}));
        full.support_output = Some(json!({"retriever": {"context": "c"}}));
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<SampleRecord>(&text).unwrap(), full);
    }

    #[test]
    fn a_clock_gone_wrong_does_not_make_a_record_unreadable() {
        let timing =
            SampleTiming { latency_ms: f64::NAN, queue_ms: f64::INFINITY, ..SampleTiming::default() };
        let text = serde_json::to_string(&timing).unwrap();
        assert_eq!(serde_json::from_str::<SampleTiming>(&text).unwrap(), SampleTiming::default());
    }

    #[test]
    fn names_are_those_of_serde() {
        use Stage::{Embed, Inference, Judge, Load, Preprocess, Prompt, Scoring, Support};
        for stage in [Load, Preprocess, Prompt, Support, Inference, Embed, Judge, Scoring] {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.name());
        }
    }
}
