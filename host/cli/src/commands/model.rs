//! `gage-host model`: manages model files.

mod bench;
mod fetch;
mod inspect;
mod list;

use crate::arguments::ModelCommand;
use crate::exit_code::ExitCode;

/// Runs a subcommand.
pub(crate) fn execute(command: &ModelCommand) -> anyhow::Result<ExitCode> {
    match command {
        ModelCommand::Inspect(arguments) => inspect::inspect(arguments),
        ModelCommand::Fetch(arguments) => fetch::fetch(arguments),
        ModelCommand::List(arguments) => list::list(arguments),
        ModelCommand::Bench(arguments) => bench::bench(arguments),
    }
}

/// Formats a size in bytes for display.
fn shown_bytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / (1024.0 * 1024.0);
    if mebibytes >= 1024.0 { format!("{:.2} GiB", mebibytes / 1024.0) } else { format!("{mebibytes:.1} MiB") }
}
