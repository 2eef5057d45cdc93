//! `gage-host model`: model files.

mod bench;
mod fetch;
mod inspect;
mod list;

use super::setup;
use crate::arguments::{ModelCommand, ServeModelArguments};
use crate::exit_code::ExitCode;
use anyhow::Context as _;
use gage_observe::{LogFormat, LogSettings, init_logs};

/// Runs one of the subcommands.
pub(crate) fn execute(command: &ModelCommand) -> anyhow::Result<ExitCode> {
    match command {
        ModelCommand::Inspect(arguments) => inspect::inspect(arguments),
        ModelCommand::Fetch(arguments) => fetch::fetch(arguments),
        ModelCommand::List(arguments) => list::list(arguments),
        ModelCommand::Bench(arguments) => bench::bench(arguments),
    }
}

/// Runs a model for another process of this program.
pub(crate) fn serve(arguments: &ServeModelArguments) -> anyhow::Result<ExitCode> {
    let settings =
        LogSettings { filter: arguments.log.clone(), format: LogFormat::Json, ..LogSettings::default() };
    if init_logs(&settings, std::io::stderr).is_err() {
        // The process that asked refuses such a filter itself.
        let _ = setup::logs("warn");
    }
    gage_backend::serve_model().context("cannot run the model")?;
    Ok(ExitCode::Done)
}

/// Bytes as a person reads them.
fn shown_bytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / (1024.0 * 1024.0);
    if mebibytes >= 1024.0 { format!("{:.2} GiB", mebibytes / 1024.0) } else { format!("{mebibytes:.1} MiB") }
}
