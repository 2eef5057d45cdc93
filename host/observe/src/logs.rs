//! Logs, on the standard error stream.

use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The shape of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends logs to a writer, those that `filter` lets through: `warn`, or
/// `info,llama.cpp=debug`. Called once; a second call changes nothing.
///
/// # Errors
/// When the filter is not valid.
pub fn init_logs<W>(filter: &str, format: LogFormat, writer: W) -> Result<(), String>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("the log filter '{filter}' is not valid: {error}"))?;
    let colour =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(colour)
        .log_internal_errors(false);
    // Fails only where a subscriber is set already.
    let _ = match format {
        LogFormat::Text => builder.without_time().try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    Ok(())
}
