//! Observability of a run: events, one per line, to a file, to memory and to a server; counters for Prometheus;
//! traces and metrics for OpenTelemetry; and the set-up of logs.
//!
//! - **A run never waits for an observer.** Events pass through a bounded queue to one writing thread. An event that
//!   finds the queue full is dropped and counted, and one warning reports the count.
//! - **No failure of an observer fails a run**, or changes its results.
//! - **Failures are always recorded**, regardless of the sampling rate.
//!
//! The engine emits the events; the program chooses their destinations.

mod event;
mod http;
mod logs;
mod meters;
mod observability;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(any(test, not(feature = "otlp")))]
mod otlp_disabled;
mod recorder;
mod sample_scope;
mod sampling;
mod scrape;
mod shutdown;
mod telemetry;
mod trace;

pub use event::{Event, Level};
pub use http::ClientError;
pub use logs::{LogError, LogFormat, LogSettings, init_logs};
pub use meters::{AnswerMeasurements, Meters, RequestTotals};
pub use observability::{Observability, ObserveError};
#[cfg(feature = "otlp")]
pub use otlp::Telemetry;
#[cfg(not(feature = "otlp"))]
pub use otlp_disabled::Telemetry;
pub use recorder::{
    FileRecorder, HttpRecorder, HttpRecorderError, HttpRecorderSettings, MemoryRecorder, Recorder,
};
pub use sample_scope::{SampleScope, in_sample_scope};
pub use sampling::Sampling;
pub use scrape::serve_metrics;
pub use shutdown::{SHUTDOWN_TIMEOUT, SHUTDOWN_TIMEOUT_AFTER_FAILURE};
pub use telemetry::{SampleEnd, TelemetryError, TelemetrySettings};
pub use trace::Trace;
