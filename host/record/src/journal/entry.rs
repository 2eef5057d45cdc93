//! Entries of a journal, one per line.

use crate::sample_record::{is_nothing, microseconds};
use crate::{ErrorNote, SampleRecord, SampleTiming};
use compact_str::CompactString;
use gage_core::{JsonView, MetricResult, Object, Outcome, RecordedForm};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line to be written. An answer is written as soon as it arrives, because it was expensive. If it has
/// judges, it is written again after they reply. Its scores follow once its whole scoring batch is complete.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "it is written at once, and never stored")]
pub enum JournalEntry<'a> {
    /// A sample that needs no scores because it failed earlier.
    FinishedWithoutScores(&'a SampleRecord),
    /// An answer that awaits its scores.
    Answer(AnswerEntry<'a>),
    /// The scores of an earlier answer.
    Scores(&'a ScoresEntry),
}

/// A [`SampleRecord`] without scores, marked as awaiting them.
#[derive(Debug, Serialize)]
pub struct AnswerEntry<'a> {
    /// Task id.
    pub task_id: &'a str,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: &'a str,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: &'a str,
    /// `scored`, unless the scorers reject it.
    pub outcome: Outcome,
    /// Always true. Readers that look for unfinished samples stop at `sample`.
    pub awaits_scores: bool,
    /// True if judges must reply first. The line with their replies then replaces this one.
    #[serde(skip_serializing_if = "is_false")]
    pub awaits_judges: bool,
    /// The Sample as it was sent.
    pub sample: RecordedForm<'a>,
    /// Output of support steps, by adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub support_output: Option<&'a Value>,
    /// Output of the model.
    pub model_output: JsonView<'a>,
    /// Output of the judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_output: Option<&'a Value>,
    /// Timing so far.
    pub timing: SampleTiming,
}

static NULL: Value = Value::Null;

impl<'a> AnswerEntry<'a> {
    /// Returns the line of an answer as it was recorded, with its scores to follow.
    pub(super) fn of_record(record: &'a SampleRecord) -> AnswerEntry<'a> {
        AnswerEntry {
            task_id: &record.task_id,
            index: record.index,
            sample_id: &record.sample_id,
            row_digest: &record.row_digest,
            outcome: record.outcome,
            awaits_scores: true,
            awaits_judges: false,
            sample: RecordedForm((&record.sample).into()),
            support_output: record.support_output.as_ref(),
            model_output: record.model_output.as_ref().map_or(JsonView::Json(&NULL), JsonView::from),
            judge_output: record.judge_output.as_ref(),
            timing: record.timing,
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The scores of one answer, on their own line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoresEntry {
    /// Task id.
    pub task_id: CompactString,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: CompactString,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: CompactString,
    /// Outcome of the sample.
    pub outcome: Outcome,
    /// Results of scoring.
    pub scores: Scores,
}

/// Results of scoring one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Number of answers in the same scoring batch, including this one.
    pub scored_together: u32,
    /// Cause of a missing score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorNote>,
    /// Values that extractors derived from the model's output. They replace its own keys.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub extracted: Object,
    /// Results of the metrics, in suite order.
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    /// Results of metrics that read a clock; they vary from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing_metrics: Vec<MetricResult>,
    /// The sample's share of the scoring time, in milliseconds.
    #[serde(serialize_with = "microseconds")]
    pub scoring_ms: f64,
    /// The sample's share of the time of extractors, in milliseconds.
    #[serde(default, skip_serializing_if = "is_nothing", serialize_with = "microseconds")]
    pub extract_ms: f64,
    /// The sample's share of the plugins' fuel.
    pub scoring_fuel: u64,
    /// Time at which the sample was done, in milliseconds since 1970, UTC.
    pub finished_unix_ms: u64,
}

impl Scores {
    /// Adds what the extractors found to the output of the model, and keeps the text that it had written.
    pub fn add_extracted(&self, model_output: &mut Value) {
        if let Value::Object(output) = model_output {
            let written = output.get("answer").cloned().unwrap_or_default();
            output.extend(self.extracted.clone());
            output.insert("written".to_owned(), written);
        }
    }
}

impl SampleRecord {
    /// Adds an answer's scores to its record.
    pub(super) fn add_scores(&mut self, entry: ScoresEntry) {
        let ScoresEntry { outcome, scores, .. } = entry;
        self.outcome = outcome;
        if let Some(model_output) = &mut self.model_output
            && !scores.extracted.is_empty()
        {
            let mut output = std::mem::take(model_output).into_value();
            scores.add_extracted(&mut output);
            *model_output = output.into();
        }
        self.error = scores.error;
        self.metrics = scores.metrics;
        self.timing_metrics = scores.timing_metrics;
        self.timing.scoring_ms = scores.scoring_ms;
        self.timing.stages.extract_ms = scores.extract_ms;
        self.timing.scoring_fuel = scores.scoring_fuel;
        // Plots over time use the time of the answer, because many answers are scored at once.
        if self.timing.finished_unix_ms == 0 {
            self.timing.finished_unix_ms = scores.finished_unix_ms;
        }
    }
}
