//! The result of a sample, from its answer to its scores.

use super::failure::SampleFailure;
use gage_core::{LazyJson, Outcome, OutputView, RecordedForm, Sample, SampleView};
use gage_record::{AnswerEntry, ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use gage_secrets::{redact, redact_value};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A sample that the model answered, or that failed before or during its request.
#[derive(Clone)]
pub(crate) struct SampleResult {
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    pub(crate) sample_id: String,
    /// The Sample, for metrics and the record.
    pub(crate) sample: SampleView,
    /// Results of support steps, by adapter; null if there are none.
    pub(crate) support_output: Value,
    /// Answer of the model; null if there is none.
    pub(crate) model_output: OutputView,
    /// Verdicts of the judges; null if none was asked.
    pub(crate) judge_output: Value,
    /// Outcome so far; `scored` until a step fails.
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<ErrorNote>,
    pub(crate) timing: SampleTiming,
    /// True if an earlier process recorded the answer, so its cost is not counted again.
    pub(crate) was_resumed: bool,
}

impl SampleResult {
    /// Restores an answer that an earlier process recorded, to be judged or scored.
    pub(crate) fn of_record(record: SampleRecord) -> SampleResult {
        SampleResult {
            index: record.index,
            row_digest: record.row_digest,
            sample_id: record.sample_id,
            sample: match Sample::from_recorded(&record.sample) {
                Some(sample) => SampleView::Read(sample),
                None => SampleView::Json(Arc::new(record.sample.into_value())),
            },
            support_output: record.support_output.unwrap_or(Value::Null),
            model_output: OutputView::Json(record.model_output.map_or(Value::Null, LazyJson::into_value)),
            judge_output: record.judge_output.unwrap_or(Value::Null),
            outcome: record.outcome,
            error: None,
            timing: record.timing,
            was_resumed: true,
        }
    }

    /// Restores an answer that an earlier process recorded, to be judged. Its verdicts are those of judges that are not
    /// asked again.
    pub(crate) fn awaiting_judges(record: SampleRecord) -> SampleResult {
        let record = SampleRecord { outcome: Outcome::Scored, ..record };
        SampleResult::of_record(record)
    }

    /// Redacts known secrets in everything that is scored and recorded.
    pub(crate) fn redact_secrets(&mut self) {
        if let Cow::Owned(clean) = redact(&self.sample_id) {
            self.sample_id = clean;
        }
        self.sample.change(redact_value);
        self.model_output.change(redact_value);
        redact_value(&mut self.support_output);
        redact_value(&mut self.judge_output);
    }

    /// Returns the error of an invalid Sample.
    pub(crate) fn invalid_message(&self) -> Option<&str> {
        let error = self.error.as_ref().filter(|_| self.outcome == Outcome::InvalidSample)?;
        Some(&error.message)
    }

    /// Returns the sample's line in the journal before it is scored.
    pub(crate) fn entry<'a>(&'a self, task_id: &'a str) -> AnswerEntry<'a> {
        AnswerEntry {
            task_id,
            index: self.index,
            sample_id: &self.sample_id,
            row_digest: &self.row_digest,
            outcome: self.outcome,
            sample: RecordedForm(self.sample.document()),
            support_output: Some(&self.support_output).filter(|output| !output.is_null()),
            model_output: self.model_output.document(),
            judge_output: Some(&self.judge_output).filter(|output| !output.is_null()),
            // The time of the answer. The scores follow later with their own time.
            timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..self.timing },
            awaits_scores: true,
            awaits_judges: false,
        }
    }

    /// Returns the record of a sample without scores.
    pub(crate) fn into_record(self, task_id: &str) -> SampleRecord {
        let output = self.model_output.document();
        let model_output = if output.is_null() { None } else { Some(output.value().into_owned().into()) };
        SampleRecord {
            task_id: task_id.to_owned(),
            index: self.index,
            sample_id: self.sample_id,
            row_digest: self.row_digest,
            outcome: self.outcome,
            error: self.error,
            sample: self.sample.value().into_owned().into(),
            row: None,
            support_output: Some(self.support_output).filter(|output| !output.is_null()),
            model_output,
            judge_output: Some(self.judge_output).filter(|output| !output.is_null()),
            metrics: Vec::new(),
            timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..self.timing },
            timing_metrics: Vec::new(),
        }
    }

    /// Marks the sample as failed.
    pub(crate) fn fail(&mut self, stage: Stage, failure: SampleFailure) {
        let SampleFailure { outcome, kind, message } = failure;
        self.outcome = outcome;
        self.error = Some(ErrorNote { stage, kind, message, pointer: None });
    }

    /// Marks the sample as invalid, because it makes no valid request. The error names its row.
    pub(crate) fn into_invalid(mut self: Box<Self>, mut error: ErrorNote) -> Box<SampleResult> {
        let origin = |key| self.sample.dataset_metadata(key);
        let (path, row) = (origin("path").and_then(Value::as_str), origin("row").and_then(Value::as_u64));
        if let (Some(path), Some(row)) = (path, row) {
            error.message = format!("row {} of {path}: {}", row.saturating_add(1), error.message);
        }
        self.outcome = Outcome::InvalidSample;
        self.error = Some(error);
        self
    }

    #[cfg(test)]
    pub(crate) fn for_test(index: u64) -> SampleResult {
        SampleResult {
            index,
            row_digest: String::new(),
            sample_id: String::new(),
            sample: SampleView::Json(Arc::default()),
            support_output: Value::Null,
            model_output: OutputView::default(),
            judge_output: Value::Null,
            outcome: Outcome::Scored,
            error: None,
            timing: SampleTiming::default(),
            was_resumed: false,
        }
    }
}
