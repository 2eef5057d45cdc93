//! What traces and metrics are made from, whether or not this build can send them.

use crate::http::ClientError;
use crate::meters::AnswerMeasurements;
use std::io;
use std::time::{Duration, SystemTime};

/// Destination and description of traces and metrics.
#[derive(Clone, Debug)]
pub struct TelemetrySettings {
    /// Collector: `http://127.0.0.1:4318`. `/v1/traces` and `/v1/metrics` are appended. Headers come from
    /// `OTEL_EXPORTER_OTLP_HEADERS`.
    pub endpoint: String,
    /// Time limit of a post; default 10 s.
    pub timeout: Duration,
    /// ID of the run, included in the resource.
    pub run_id: String,
    /// Version of the program.
    pub version: String,
}

/// Failure to set up telemetry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The address is invalid, or no client can be created.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The settings of the exporter are invalid; they may come from the environment.
    #[cfg(feature = "otlp")]
    #[error(transparent)]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// This build has no OpenTelemetry.
    #[cfg(any(test, not(feature = "otlp")))]
    #[error("this build cannot send traces and metrics; enable the feature `otlp` of gage-runner")]
    Unavailable,
    /// The system cannot start another thread.
    #[error("cannot begin to export traces and metrics: {0}")]
    Io(#[from] io::Error),
}

/// A finished sample.
#[derive(Clone, Debug)]
pub struct SampleEnd<'a> {
    /// ID of the task.
    pub task_id: &'a str,
    /// ID of the sample.
    pub sample_id: &'a str,
    /// Number of its row.
    pub index: u64,
    /// Outcome of the sample.
    pub outcome: &'a str,
    /// Stage, kind and message of its failure.
    pub error: Option<(&'a str, &'a str, &'a str)>,
    /// Answer, and the time when that was recorded.
    pub answered: Option<(AnswerMeasurements, SystemTime)>,
    /// Share of the scoring time, in milliseconds.
    pub scoring_ms: Option<f64>,
    /// The other stages that it passed, in order, with their times in milliseconds.
    pub stages: Vec<(&'static str, f64)>,
}
