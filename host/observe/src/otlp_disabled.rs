//! Stands in for `otlp` in a build without OpenTelemetry: nothing can be sent.

use crate::telemetry::{TelemetryError, TelemetrySettings};

/// A connection to a collector. This build has none, so there is no value of this type.
#[derive(Debug)]
pub enum Telemetry {}

impl Telemetry {
    /// Refuses to send traces.
    ///
    /// # Errors
    /// Always: [`TelemetryError::Unavailable`].
    pub fn start(_: &TelemetrySettings) -> Result<Telemetry, TelemetryError> {
        Err(TelemetryError::Unavailable)
    }
}

/// The other methods, which cannot be called.
#[cfg(not(feature = "otlp"))]
impl Telemetry {
    /// Records the start of a task.
    pub fn task_started(&self, _: &str) {
        match *self {}
    }

    /// Records the end of a task.
    pub fn task_finished(&self, _: &str) {
        match *self {}
    }

    /// Changes the number of model calls in flight.
    pub fn in_flight(&self, _: &str, _: i64) {
        match *self {}
    }

    /// Records the final result of a sample's model calls.
    pub fn answered(&self, _: &str, _: &crate::AnswerMeasurements, _: bool) {
        match *self {}
    }

    /// Records the end of a sample in the metrics.
    pub fn finished(&self, _: &str, _: &str) {
        match *self {}
    }

    /// Records the end of a sample in the traces.
    pub fn sample(&self, _: &crate::SampleEnd<'_>) {
        match *self {}
    }

    /// Ends the trace, and returns the number of spans that did not arrive.
    pub fn finish(&self, _: std::time::Instant) -> u64 {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::time::Duration;

    #[test]
    fn build_without_opentelemetry_names_the_feature() {
        let settings = TelemetrySettings {
            endpoint: "http://127.0.0.1:4318".to_owned(),
            timeout: Duration::from_secs(10),
            run_id: "r".to_owned(),
            version: "0.1.0".to_owned(),
        };
        let error = Telemetry::start(&settings).expect_err("a refusal").recorded("observing");
        assert!(error.contains("enable the feature `otlp`"), "{error}");
    }
}
