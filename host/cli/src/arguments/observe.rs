//! The flags of logs, progress and observers.

use super::DEFAULT_LOG;
use crate::terminal::ProgressKind;
use clap::{ArgAction, Args};
use gage_observe::{Level, Sampling};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Filter and destination of logs.
#[derive(Args, Debug)]
pub(crate) struct LogArguments {
    /// Logs to show on the standard error stream: warn, info, debug, or by part info,plugin=debug.
    #[arg(long, visible_alias = "log-level", env = "GAGE_HOST_LOG", value_name = "FILTER", default_value = DEFAULT_LOG)]
    pub(crate) log: String,

    /// Also append the logs to this file.
    #[arg(long, env = "GAGE_HOST_LOG_FILE", value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Write logs as JSON, one object per line.
    #[arg(long, env = "GAGE_HOST_LOG_JSON")]
    pub(crate) log_json: bool,
}

/// Form of the progress display.
#[derive(Args, Debug)]
pub(crate) struct ProgressArguments {
    /// Form of the progress on the standard error stream.
    #[arg(long, env = "GAGE_HOST_PROGRESS", value_name = "KIND", default_value = "auto")]
    pub(crate) progress: ProgressKind,
}

/// Destinations of events, traces and counters.
#[derive(Args, Debug)]
#[command(next_help_heading = "Observability")]
pub(crate) struct ObserveArguments {
    /// Write an event for every stage of every sample, not only for failures.
    #[arg(long, env = "GAGE_HOST_OBSERVABILITY")]
    pub(crate) observability: bool,

    /// Share of samples with such events and traces: 0.1, or by stage inference=0.01,scoring=0.1.
    /// Failures are always included.
    #[arg(long, env = "GAGE_HOST_EVENT_SAMPLING", value_name = "RATE", default_value = "1")]
    pub(crate) event_sampling: Sampling,

    /// Keep events in memory instead of events.jsonl.
    #[arg(long)]
    pub(crate) inmemory_trace: bool,

    /// Include logs in the events.
    #[arg(
        long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set,
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub(crate) log_sink: bool,

    /// Minimum level of logs in events: debug, info, warn or error.
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub(crate) log_sink_level: Level,

    /// Also post events to this address, as JSON.
    #[arg(long, env = "GAGE_HOST_REPORT_HTTP_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) report_http_url: Option<String>,

    /// Maximum number of events in one post.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = super::positive)]
    pub(crate) report_http_batch: usize,

    /// Stop posting after this percentage of posts failed; events then go to events-unsent.jsonl.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub(crate) report_http_fail_pct: f64,

    /// Time limit of a post.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) report_http_timeout: f64,

    /// Serve Prometheus counters at this address: 127.0.0.1:9464, or 9464 for this machine only.
    #[arg(long, env = "GAGE_HOST_METRICS_LISTEN", value_name = "ADDRESS", value_parser = address)]
    pub(crate) metrics_listen: Option<SocketAddr>,

    /// Send traces and metrics to this OpenTelemetry collector, by OTLP over HTTP:
    /// http://127.0.0.1:4318.
    #[arg(long, env = "GAGE_HOST_OTLP_ENDPOINT", value_name = "URL", hide_env_values = true)]
    pub(crate) otlp_endpoint: Option<String>,
}

fn level(text: &str) -> Result<Level, String> {
    text.parse().map_err(|_| format!("a level is one of {}", Level::NAMES.join(", ")))
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "a number from 0 to 100 is needed".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('s').trim().parse::<f64>().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 3_600.0);
    number.ok_or_else(|| "a number of seconds above 0 and up to 3600 is needed".to_owned())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from(([127, 0, 0, 1], port))),
        Err(_) => {
            text.parse().map_err(|_| "write it like 127.0.0.1:9464, or as a port from 0 to 65535".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_machine_alone() {
        assert_eq!(address("9464"), Ok(SocketAddr::from(([127, 0, 0, 1], 9464))));
        assert_eq!(address("[::1]:80").map(|address| address.port()), Ok(80));
        for wrong in ["", "65536", "localhost", "127.0.0.1", "127.0.0.1:99999", "-1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!((percent("5%"), percent("0")), (Ok(5.0), Ok(0.0)));
        assert_eq!((seconds("0.5"), seconds("10s")), (Ok(0.5), Ok(10.0)));
        for wrong in ["", "-1", "101", "nan", "inf"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "-1", "nan", "3601"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert!(level("WARN") == Ok(Level::Warn) && level("loud").is_err());
    }
}
