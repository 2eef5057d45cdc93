//! Who is told of what happens in a run, as the command line says.

use crate::arguments::{LogArguments, ObserveArguments};
use crate::terminal::{TerminalProgress, stderr_around_view};
use gage_engine::{FinishedSample, Progress};
use gage_observe::{
    HttpRecorder, HttpRecorderSettings, LogFormat, LogSettings, MemoryRecorder, Meters, Observability,
    Telemetry, TelemetrySettings, init_logs, serve_metrics,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Sends logs where the command line says, and among the events of the run.
///
/// # Errors
/// When the filter is not valid, or the file cannot be opened.
pub(crate) fn logs(arguments: &LogArguments, observe: Option<&ObserveArguments>) -> Result<(), String> {
    let settings = LogSettings {
        filter: arguments.log.clone(),
        format: if arguments.log_json { LogFormat::Json } else { LogFormat::Text },
        file: arguments.log_file.clone(),
        sink: observe.filter(|observe| observe.log_sink).map(|observe| observe.log_sink_level),
    };
    init_logs(&settings, stderr_around_view)
}

/// Prepares the observers; what the addresses say is looked at here.
///
/// # Errors
/// What is wrong with the command line.
pub(crate) fn observability(arguments: &ObserveArguments, run_id: &str) -> Result<Observability, String> {
    let version = env!("CARGO_PKG_VERSION");
    let timeout = Duration::try_from_secs_f64(arguments.report_http_timeout).unwrap_or_default();
    let http = arguments.report_http_url.clone().map(|url| HttpRecorderSettings {
        url,
        run_id: run_id.to_owned(),
        batch: arguments.report_http_batch,
        fail_pct: arguments.report_http_fail_pct,
        timeout,
        fallback: PathBuf::new(),
    });
    if let Some(settings) = &http {
        HttpRecorder::check(settings).map_err(|error| format!("--report-http-url: {error}"))?;
    }
    let settings = arguments.otlp_endpoint.clone().map(|endpoint| TelemetrySettings {
        endpoint,
        timeout,
        run_id: run_id.to_owned(),
        version: version.to_owned(),
    });
    let telemetry = settings.as_ref().map(Telemetry::start).transpose();
    Ok(Observability {
        meters: Meters::new(version),
        telemetry: telemetry.map_err(|error| format!("--otlp-endpoint: {error}"))?.map(Arc::new),
        has_stages: arguments.observability,
        sampling: arguments.event_sampling,
        memory: arguments.inmemory_trace.then(MemoryRecorder::default),
        http,
    })
}

/// Serves the counters where the command line says so.
///
/// # Errors
/// When nobody can listen at the address.
pub(crate) async fn serve(arguments: &ObserveArguments, observability: &Observability) -> Result<(), String> {
    let Some(address) = arguments.metrics_listen else { return Ok(()) };
    match serve_metrics(address, observability.meters.clone()).await {
        Ok(address) => {
            tracing::info!("counters are at http://{address}/metrics");
            // With port 0 nobody else knows which it is.
            if arguments.metrics_listen.is_some_and(|asked| asked.port() == 0) {
                crate::terminal::eprint_line(format_args!("counters are at http://{address}/metrics"));
            }
            Ok(())
        }
        Err(error) => Err(format!("cannot serve counters at {address}: {error}")),
    }
}

/// Tells the terminal and the counters how a run goes on.
pub(crate) struct RunObserver {
    terminal: Arc<TerminalProgress>,
    observability: Observability,
}

impl RunObserver {
    pub(crate) fn new(terminal: Arc<TerminalProgress>, observability: Observability) -> RunObserver {
        RunObserver { terminal, observability }
    }
}

impl Progress for RunObserver {
    fn task_started(&self, task_id: &str, total: Option<u64>, done: u64, mean: Option<&str>) {
        self.observability.meters.task_started(task_id, total);
        self.terminal.task_started(task_id, total, done, mean);
    }

    fn request_began(&self, task_id: &str) {
        self.observability.meters.request_began(task_id);
        if let Some(telemetry) = &self.observability.telemetry {
            telemetry.in_flight(task_id, 1);
        }
        self.terminal.request_began(task_id);
    }

    fn request_ended(&self, task_id: &str) {
        self.observability.meters.request_ended(task_id);
        if let Some(telemetry) = &self.observability.telemetry {
            telemetry.in_flight(task_id, -1);
        }
        self.terminal.request_ended(task_id);
    }

    fn sample_answered(&self, task_id: &str) {
        self.terminal.sample_answered(task_id);
    }

    fn sample_finished(&self, finished: &FinishedSample<'_>) {
        self.terminal.sample_finished(finished);
    }

    fn task_finished(&self, task_id: &str) {
        self.terminal.task_finished(task_id);
    }
}
