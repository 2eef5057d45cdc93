//! Texts of an opened sample: everything that is not in the columns.

use gage_core::{LazyJson, MetricResult};
use gage_record::{ErrorNote, SampleRecord, SampleTiming};
use serde::Serialize;
use serde_json::Value;

/// A line of a text block.
#[derive(Serialize)]
pub(super) struct TextLine<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorNote>,
    #[serde(skip_serializing_if = "LazyJson::is_null")]
    sample: &'a LazyJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_output: Option<&'a LazyJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge_output: Option<&'a Value>,
    metrics: &'a [MetricResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<SampleTiming>,
}

impl<'a> TextLine<'a> {
    pub(super) fn new(record: &'a SampleRecord) -> TextLine<'a> {
        TextLine {
            id: &record.sample_id,
            error: record.error.as_ref(),
            sample: &record.sample,
            row: record.row.as_deref(),
            model_output: record.model_output.as_ref(),
            judge_output: record.judge_output.as_ref(),
            metrics: &record.metrics,
            timing: (record.timing.finished_unix_ms > 0).then_some(record.timing),
        }
    }
}
