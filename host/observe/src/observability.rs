//! All observers of a run: recorders of events, telemetry, logs and counters.

use crate::logs::send_logs_to;
use crate::recorder::{FileRecorder, HttpRecorder, HttpRecorderSettings, Recorder};
use crate::{HttpRecorderError, MemoryRecorder, Meters, Sampling, Telemetry, Trace};
use gage_core::spawn_scoped;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Observers of a run. The default writes `events.jsonl` with all failures and the events that do not concern single
/// samples.
#[derive(Clone)]
pub struct Observability {
    /// Counters of the run.
    pub meters: Meters,
    /// Collector that receives traces and metrics.
    pub telemetry: Option<Arc<Telemetry>>,
    /// True if events of every stage are emitted for each sample that `sampling` keeps.
    pub has_stages: bool,
    /// Samples that get such events, and traces.
    pub sampling: Sampling,
    /// Receives the events instead of a file.
    pub memory: Option<MemoryRecorder>,
    /// Server that also receives the events; the run sets `run_id` and `fallback`.
    pub http: Option<HttpRecorderSettings>,
}

/// Failure to record the events of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// The file cannot be opened.
    #[error("cannot open the file of events: {0}")]
    File(std::io::Error),
    /// Events cannot be posted.
    #[error(transparent)]
    Http(#[from] HttpRecorderError),
    /// The system cannot start another thread.
    #[error("cannot begin to record events: {0}")]
    Thread(std::io::Error),
}

impl Default for Observability {
    fn default() -> Observability {
        Observability {
            meters: Meters::new(env!("CARGO_PKG_VERSION")),
            telemetry: None,
            has_stages: false,
            sampling: Sampling::ALL,
            memory: None,
            http: None,
        }
    }
}

impl std::fmt::Debug for Observability {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Observability")
            .field("has_stages", &self.has_stages)
            .field("sampling", &self.sampling)
            .finish_non_exhaustive()
    }
}

impl Observability {
    /// Starts recording the events of a run, which include logs from now on.
    ///
    /// # Errors
    /// When a file cannot be opened, or no thread can be started.
    pub fn begin(&self, run_id: &str, file: &Path, unsent: &Path) -> Result<Trace, ObserveError> {
        let mut recorders: Vec<Box<dyn Recorder>> = Vec::new();
        let mut first_id = 0;
        match &self.memory {
            Some(memory) => recorders.push(Box::new(memory.clone())),
            None => {
                let file = FileRecorder::open(file).map_err(ObserveError::File)?;
                first_id = file.lines();
                recorders.push(Box::new(file));
            }
        }
        if let Some(http) = &self.http {
            let settings = HttpRecorderSettings {
                run_id: run_id.to_owned(),
                fallback: unsent.to_owned(),
                ..http.clone()
            };
            recorders.push(Box::new(HttpRecorder::start(settings)?));
        }
        let trace = Trace::start(recorders, first_id).map_err(ObserveError::Thread)?;
        send_logs_to(Some(trace.clone()));
        Ok(trace)
    }

    /// Ends what [`Observability::begin`] started, and the traces and metrics of the run. Returns the number of lost
    /// events. Waits for all servers at the same time, for at most `timeout` in total.
    pub fn end(&self, trace: &Trace, timeout: Duration) -> u64 {
        send_logs_to(None);
        let by = Instant::now() + timeout;
        std::thread::scope(|threads| {
            if let Some(telemetry) = self.telemetry.as_deref()
                && spawn_scoped(threads, "telemetry", move || telemetry.finish(by)).is_err()
            {
                // Without another thread, one after the other.
                telemetry.finish(by);
            }
            trace.finish(by)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn file_of_events_that_cannot_be_opened_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let began = Observability::default().begin("r", folder.path(), &folder.path().join("unsent"));
        let error = began.err().unwrap().recorded("observing");
        assert!(error.starts_with("cannot open the file of events: "), "{error}");
    }
}
