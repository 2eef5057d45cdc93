//! Entries of the lines of a journal.

use crate::sample_record::finite;
use crate::{ErrorNote, SampleRecord, SampleTiming};
use compact_str::CompactString;
use gage_core::{JsonView, MetricResult, Object, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line to be written. An answer is written as soon as it is there, since it was dear to get, and once more when its
/// judges have replied, where it has some; its scores follow when those that are scored with it are there too.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum JournalEntry<'a> {
    /// A sample that needs no scores: it failed before.
    FinishedWithoutScores(&'a SampleRecord),
    /// An answer that awaits its scores.
    Answer(AnswerEntry<'a>),
    /// The scores of an answer that was written before.
    Scores(&'a ScoresEntry),
}

/// A [`SampleRecord`] without scores, and with the mark that it awaits some.
#[derive(Debug, Serialize)]
pub struct AnswerEntry<'a> {
    /// The task.
    pub task_id: &'a str,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: &'a str,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: &'a str,
    /// `scored`, unless the scorers find a reason against it.
    pub outcome: Outcome,
    /// The Sample as it was asked.
    pub sample: JsonView<'a>,
    /// What support steps found, by adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub support_output: Option<&'a Value>,
    /// What the model said.
    pub model_output: JsonView<'a>,
    /// What the judge said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_output: Option<&'a Value>,
    /// How long it took so far.
    pub timing: SampleTiming,
    /// Always true.
    pub awaits_scores: bool,
    /// Whether judges are to be asked first; the line with what they said takes the place of this one.
    #[serde(skip_serializing_if = "is_false")]
    pub awaits_judges: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The scores of one answer: a line of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoresEntry {
    /// The task.
    pub task_id: CompactString,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: CompactString,
    /// Short digest of the raw row, in hexadecimal digits.
    pub row_digest: CompactString,
    /// How the sample ended.
    pub outcome: Outcome,
    /// What the scorers said.
    pub scores: Scores,
}

/// What the scorers said of one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Why there is no score, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorNote>,
    /// What extractors made of the model's output: keys that take the place of its own.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub extracted: Object,
    /// What the metrics said, in the order of the suite.
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    /// What the metrics said that read a clock; they vary from run to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timing_metrics: Vec<MetricResult>,
    /// The sample's share of scoring, in milliseconds.
    #[serde(serialize_with = "finite")]
    pub scoring_ms: f64,
    /// The sample's share of the plugins' work, in units of fuel.
    pub scoring_fuel: u64,
    /// How many answers were scored together with this one, itself among them.
    pub scored_together: u32,
    /// When the sample was done, in milliseconds since 1970 in UTC.
    pub finished_unix_ms: u64,
}

impl SampleRecord {
    /// Puts the scores of an answer into its record.
    pub(super) fn add_scores(&mut self, entry: ScoresEntry) {
        let ScoresEntry { outcome, scores, .. } = entry;
        self.outcome = outcome;
        self.error = scores.error;
        if let Some(model_output) = &mut self.model_output
            && !scores.extracted.is_empty()
            && model_output.is_object()
            && let Value::Object(mut output) = std::mem::take(model_output).into_value()
        {
            let written = output.get("answer").cloned().unwrap_or_default();
            output.extend(scores.extracted);
            output.insert("written".to_owned(), written);
            *model_output = Value::Object(output).into();
        }
        self.metrics = scores.metrics;
        self.timing_metrics = scores.timing_metrics;
        self.timing.scoring_ms = scores.scoring_ms;
        self.timing.scoring_fuel = scores.scoring_fuel;
        // Plots over time show when it was answered; many are scored at once.
        if self.timing.finished_unix_ms == 0 {
            self.timing.finished_unix_ms = scores.finished_unix_ms;
        }
    }
}
