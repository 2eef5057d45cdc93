//! Builds the observers of a run from options.

use crate::{HOST_VERSION, RunEvent, RunProgress, RunnerError};
use gage_observe::{
    HttpRecorder, HttpRecorderSettings, MemoryRecorder, Meters, Observability, Sampling, Telemetry,
    TelemetrySettings, serve_metrics,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The recipients of events, counters and traces.
#[derive(Clone, Debug)]
pub struct ObserveOptions {
    /// True to emit an event for every stage of every sample, not only for failures.
    pub has_stages: bool,
    /// Fraction of samples with such events, and with traces.
    pub sampling: Sampling,
    /// True to keep events in memory instead of `events.jsonl`.
    pub in_memory: bool,
    /// A server that also receives the events.
    pub events_http: Option<EventsHttp>,
    /// An OpenTelemetry collector that receives traces and metrics by OTLP over HTTP.
    pub otlp_endpoint: Option<String>,
    /// Timeout of a POST request.
    pub timeout: Duration,
    /// The address that serves Prometheus metrics.
    pub metrics_listen: Option<SocketAddr>,
}

impl Default for ObserveOptions {
    fn default() -> ObserveOptions {
        ObserveOptions {
            has_stages: false,
            sampling: Sampling::default(),
            in_memory: false,
            events_http: None,
            otlp_endpoint: None,
            timeout: Duration::from_secs(10),
            metrics_listen: None,
        }
    }
}

/// A server that receives events as JSON.
#[derive(Clone, Debug)]
pub struct EventsHttp {
    /// The address.
    pub url: String,
    /// Number of events per POST request.
    pub batch: usize,
    /// Percentage of POST requests that may fail before posting stops.
    pub fail_pct: f64,
}

impl ObserveOptions {
    /// Builds the observers of a run, and checks their addresses.
    pub(crate) fn observability(&self, run_id: &str) -> Result<Observability, RunnerError> {
        let http = self.events_http.as_ref().map(|events| HttpRecorderSettings {
            url: events.url.clone(),
            run_id: run_id.to_owned(),
            batch: events.batch,
            fail_pct: events.fail_pct,
            timeout: self.timeout,
            fallback: PathBuf::new(),
        });
        if let Some(settings) = &http {
            HttpRecorder::check(settings).map_err(RunnerError::EventsUrl)?;
        }
        let settings = self.otlp_endpoint.clone().map(|endpoint| TelemetrySettings {
            endpoint,
            timeout: self.timeout,
            run_id: run_id.to_owned(),
            version: HOST_VERSION.to_owned(),
        });
        let telemetry = settings.as_ref().map(Telemetry::start).transpose();
        Ok(Observability {
            meters: Meters::new(HOST_VERSION),
            telemetry: telemetry.map_err(RunnerError::TraceCollector)?.map(Arc::new),
            has_stages: self.has_stages,
            sampling: self.sampling,
            memory: self.in_memory.then(MemoryRecorder::default),
            http,
        })
    }

    /// Serves the metrics, if an address is set, until the current runtime shuts down.
    pub(crate) async fn serve(
        &self,
        observability: &Observability,
        progress: &dyn RunProgress,
    ) -> Result<(), RunnerError> {
        let Some(address) = self.metrics_listen else { return Ok(()) };
        let served = serve_metrics(address, observability.meters.clone()).await;
        let address = served.map_err(|error| RunnerError::MetricsAddress { address, error })?;
        tracing::info!("counters are at http://{address}/metrics");
        progress.on_event(&RunEvent::MetricsServed { address });
        Ok(())
    }
}
