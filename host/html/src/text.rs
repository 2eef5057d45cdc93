//! Texts of an opened sample: everything that is not in the columns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::{LazyJson, MetricResult, ModelOutput, RecordedSample};
use gage_record::{ErrorNote, MediaFolder, SampleRecord, SampleTiming};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A line of a text block.
#[derive(Serialize)]
pub(super) struct TextLine<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorNote>,
    #[serde(skip_serializing_if = "RecordedSample::is_null")]
    sample: &'a RecordedSample,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_output: Option<&'a LazyJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge_output: Option<&'a Value>,
    metrics: &'a [MetricResult],
    /// Results of metrics that read a clock.
    #[serde(skip_serializing_if = "<[MetricResult]>::is_empty")]
    timing_metrics: &'a [MetricResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    timing: Option<SampleTiming>,
    /// The requests about the sample, as they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<Value>,
    /// Media of the reply: the path in the run folder, and a `data:` URL with the content.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    media: BTreeMap<String, String>,
}

impl<'a> TextLine<'a> {
    pub(super) fn new(
        record: &'a SampleRecord,
        requests: Option<Value>,
        media: BTreeMap<String, String>,
    ) -> TextLine<'a> {
        TextLine {
            id: &record.sample_id,
            error: record.error.as_ref(),
            sample: &record.sample,
            row: record.row.as_deref(),
            model_output: record.model_output.as_ref(),
            judge_output: record.judge_output.as_ref(),
            metrics: &record.metrics,
            timing_metrics: &record.timing_metrics,
            timing: (record.timing.finished_unix_ms > 0).then_some(record.timing),
            requests,
            media,
        }
    }
}

/// Embeds the media of replies into a page, up to a total size.
pub(super) struct MediaEmbedder {
    run: PathBuf,
    bytes_left: usize,
}

impl MediaEmbedder {
    pub(super) fn new(run: &str, max_bytes: usize) -> MediaEmbedder {
        MediaEmbedder { run: run.into(), bytes_left: max_bytes }
    }

    /// Returns the media of a record's reply. Media beyond the total size are left out; the page then shows their paths.
    pub(super) fn media_of(&mut self, record: &SampleRecord) -> BTreeMap<String, String> {
        let output = record.model_output.as_deref();
        let parts = output.and_then(|output| output.get(ModelOutput::MEDIA_KEY)).and_then(Value::as_array);
        let mut embedded = BTreeMap::new();
        for part in parts.into_iter().flatten() {
            let url = part
                .get("type")
                .and_then(Value::as_str)
                .and_then(|kind| part.get(kind)?.get("url")?.as_str());
            let Some(path) = url else { continue };
            if let Some(bytes) =
                MediaFolder::read(&self.run, path).filter(|bytes| bytes.len() <= self.bytes_left)
            {
                self.bytes_left -= bytes.len();
                let media_type = part.get("media_type").and_then(Value::as_str).unwrap_or_default();
                embedded
                    .insert(path.to_owned(), format!("data:{media_type};base64,{}", STANDARD.encode(&bytes)));
            }
        }
        embedded
    }
}
