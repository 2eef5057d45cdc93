//! A finished sample whose parts are borrowed, from its record or from the run that has just finished it.

use crate::{ErrorNote, SampleRecord, SampleTiming};
use gage_core::{JsonView, MetricResult, Outcome};
use serde_json::Value;

static NULL: Value = Value::Null;

/// Everything that is kept of a finished sample. The fields are those of [`SampleRecord`].
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// Task id.
    pub task_id: &'a str,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: &'a str,
    /// Outcome of the sample.
    pub outcome: Outcome,
    /// Cause of the failure, if the sample failed.
    pub error: Option<&'a ErrorNote>,
    /// The Sample as it was sent; null for an invalid row.
    pub sample: JsonView<'a>,
    /// Beginning of the row, if it is invalid.
    pub row: Option<&'a str>,
    /// Output of support steps, by adapter.
    pub support_output: Option<&'a Value>,
    /// Output of the model; null if there is none.
    pub model_output: JsonView<'a>,
    /// Output of the judge.
    pub judge_output: Option<&'a Value>,
    /// Results of the metrics, in suite order.
    pub metrics: &'a [MetricResult],
    /// Timing of the sample.
    pub timing: SampleTiming,
    /// Results of metrics that read a clock.
    pub timing_metrics: &'a [MetricResult],
}

impl<'a> From<&'a SampleRecord> for RecordView<'a> {
    fn from(record: &'a SampleRecord) -> RecordView<'a> {
        RecordView {
            task_id: &record.task_id,
            index: record.index,
            sample_id: &record.sample_id,
            outcome: record.outcome,
            error: record.error.as_ref(),
            sample: (&record.sample).into(),
            row: record.row.as_deref(),
            support_output: record.support_output.as_ref(),
            model_output: record.model_output.as_ref().map_or(JsonView::Json(&NULL), JsonView::Lazy),
            judge_output: record.judge_output.as_ref(),
            metrics: &record.metrics,
            timing: record.timing,
            timing_metrics: &record.timing_metrics,
        }
    }
}
