//! Logs and observers from the command line.

use crate::arguments::{LogArguments, ObserveArguments};
use crate::exit_code::ExitCode;
use crate::terminal::{stderr_around_view, usage_error};
use gage_observe::{LogError, LogFormat, LogSettings, init_logs};
use gage_runner::{EventsHttp, ObserveOptions};
use std::time::Duration;

/// Sends logs to the destination from the command line, and to the events of the run.
///
/// # Errors
/// Fails if the filter is invalid, or the file cannot be opened.
pub(crate) fn logs(arguments: &LogArguments, observe: Option<&ObserveArguments>) -> Result<(), ExitCode> {
    let settings = LogSettings {
        filter: arguments.log.clone(),
        format: if arguments.log_json { LogFormat::Json } else { LogFormat::Text },
        file: arguments.log_file.clone(),
        sink: observe.filter(|observe| observe.log_sink).map(|observe| observe.log_sink_level),
    };
    init_logs(&settings, stderr_around_view).map_err(|error| {
        let help = match &error {
            LogError::Filter { .. } => "write a filter like info, or warn,plugin=debug",
            LogError::File { .. } => "name a file in a folder that exists and can be written to",
        };
        usage_error(&error.to_string(), Some(help))
    })
}

/// Returns the recipients of events, counters and traces from the command line.
pub(crate) fn options(arguments: &ObserveArguments) -> ObserveOptions {
    ObserveOptions {
        has_stages: arguments.observability,
        sampling: arguments.event_sampling,
        in_memory: arguments.inmemory_trace,
        events_http: arguments.report_http_url.clone().map(|url| EventsHttp {
            url,
            batch: arguments.report_http_batch,
            fail_pct: arguments.report_http_fail_pct,
        }),
        otlp_endpoint: arguments.otlp_endpoint.clone(),
        timeout: Duration::try_from_secs_f64(arguments.report_http_timeout).unwrap_or_default(),
        metrics_listen: arguments.metrics_listen,
    }
}
