//! What a run says about itself while it goes on: events, one a line, to a file, to memory and to a
//! server; counters for Prometheus; traces and metrics for OpenTelemetry; and the set-up of logs.
//!
//! - **Nobody waits for an observer.** Events pass through a bounded queue to one thread that writes; what
//!   finds no room is counted, and said once.
//! - **No failure of an observer fails a run**, or changes its results.
//! - **Failures are always told of**, however few samples are sampled.
//!
//! Imports nothing of the workspace; used by the engine, which says what happens, and by the
//! program, which says who is told.

mod event;
mod http;
mod logs;
mod meters;
mod observability;
mod otlp;
mod recorder;
mod sampling;
mod scrape;
mod trace;

pub use event::{Event, Level};
pub use http::ClientError;
pub use logs::{LogFormat, LogSettings, init_logs};
pub use meters::{AnswerMeasurements, Meters, RequestTotals};
pub use observability::{Observability, ObserveError, PATIENCE, PATIENCE_OF_FAILURES};
pub use otlp::{SampleEnd, Telemetry, TelemetryError, TelemetrySettings};
pub use recorder::{
    FileRecorder, HttpRecorder, HttpRecorderError, HttpRecorderSettings, MemoryRecorder, Recorder,
};
pub use sampling::Sampling;
pub use scrape::serve_metrics;
pub use trace::Trace;
