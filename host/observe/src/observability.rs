//! The observers of a run, put together: recorders of events, telemetry, logs and counters.

use crate::logs::send_logs_to;
use crate::recorder::{FileRecorder, HttpRecorder, HttpRecorderSettings, Recorder};
use crate::{HttpRecorderError, MemoryRecorder, Meters, Sampling, Telemetry, Trace};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a run tells about itself beyond its results, and whom. The default writes `events.jsonl` with what
/// is not about single samples, and with every failure.
#[derive(Clone)]
pub struct Observability {
    /// The counters of the run.
    pub meters: Meters,
    /// A collector that gets traces and metrics.
    pub telemetry: Option<Arc<Telemetry>>,
    /// Whether there are events of every stage of every sample that `sampling` keeps.
    pub has_stages: bool,
    /// Of which samples there are such events, and traces.
    pub sampling: Sampling,
    /// Events go here rather than into a file.
    pub memory: Option<MemoryRecorder>,
    /// A server that gets the events as well; `run_id` and `fallback` are set by the run.
    pub http: Option<HttpRecorderSettings>,
}

/// Why the events of a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// The file cannot be opened.
    #[error("cannot open the file of events: {0}")]
    File(std::io::Error),
    /// No event can be posted.
    #[error("cannot post events: {0}")]
    Http(#[from] HttpRecorderError),
    /// The machine has no thread left.
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
    /// Begins to record the events of a run. Logs are among them from now on.
    ///
    /// # Errors
    /// When a file cannot be opened, or there is no thread left.
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

    /// Ends what [`Observability::begin`] began, and the traces and metrics of the run; returns how many events were lost. All
    /// servers are waited for at the same time, and no longer than `timeout` together.
    pub fn end(&self, trace: &Trace, timeout: Duration) -> u64 {
        send_logs_to(None);
        let by = Instant::now() + timeout;
        std::thread::scope(|threads| {
            if let Some(telemetry) = &self.telemetry {
                threads.spawn(move || telemetry.finish(by));
            }
            trace.finish(by)
        })
    }
}
