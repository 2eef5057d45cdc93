//! Record of one finished sample.

use gage_core::{LazyJson, MetricResult, Outcome};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Where on its way a sample failed.
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
    /// Making the messages and the media.
    Prompt,
    /// Finding what is put before the model.
    Support,
    /// Asking the model.
    Inference,
    /// Comparing the answer's meaning with that of its references.
    Embed,
    /// Asking the judge.
    Judge,
    /// Scoring the answer.
    Scoring,
}

impl Stage {
    /// The name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a sample failed. Holds nothing that varies from run to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNote {
    /// Where on its way.
    pub stage: Stage,
    /// What kind of failure, as a short stable name.
    pub kind: String,
    /// What went wrong, in words; written without the secrets that are known.
    #[serde(serialize_with = "without_secrets")]
    pub message: String,
    /// Where in the row or the Sample, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

/// How long a sample took. Varies from run to run; numbers that are not finite are stored as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleTiming {
    /// The model call, its last attempt, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub latency_ms: f64,
    /// From the moment that the sample was ready to that when its model call began, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub queue_ms: f64,
    /// From the start of the model call to the first piece of its answer, in milliseconds; none where no
    /// pieces were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<f64>,
    /// How often the model was called; 0 when it never was.
    pub attempts: u32,
    /// Of a conversation with tools, for how many turns the model was called; the further attempts are retries. 0 elsewhere,
    /// where one answer is asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
    /// The sample's share of scoring, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub scoring_ms: f64,
    /// The sample's share of the work of the plugins that scored it, in units of fuel; equal in every run.
    pub scoring_fuel: u64,
    /// When the sample was answered, or failed, in milliseconds since 1970 in UTC.
    pub finished_unix_ms: u64,
}

impl SampleTiming {
    /// Returns how often the model was called again for an answer that it had been asked for.
    pub fn retries(&self) -> u32 {
        self.attempts.saturating_sub(self.requests.max(1))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Everything that is kept of one finished sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// The task.
    pub task_id: String,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id; for an invalid row the name that the loader gave it.
    pub sample_id: String,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: String,
    /// How the sample ended.
    pub outcome: Outcome,
    /// Why, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorNote>,
    /// The Sample as it was asked; null for an invalid row.
    pub sample: LazyJson,
    /// For an invalid row, the beginning of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// What support steps found, by adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_output: Option<Value>,
    /// What the model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_output: Option<LazyJson>,
    /// What the judge said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_output: Option<Value>,
    /// What the metrics said, in the order of the suite.
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    /// How long it took.
    pub timing: SampleTiming,
    /// What the metrics said that read a clock; they vary from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing_metrics: Vec<MetricResult>,
}

fn without_secrets<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&gage_secrets::redact(text))
}

/// Writes a number, or 0 for one that JSON cannot hold.
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
