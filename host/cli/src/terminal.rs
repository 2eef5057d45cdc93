//! What people see: problems, progress.

mod compiling;
mod progress;

use crate::exit_code::ExitCode;
use anyhow::Context as _;
pub(crate) use compiling::CompilingLine;
use gage_config::Problems;
pub(crate) use progress::TerminalProgress;
use std::io::{IsTerminal as _, Write as _};

/// Whether the standard error stream takes colours.
pub(crate) fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && wants_colour()
}

/// Whether the standard output stream takes colours.
pub(crate) fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && wants_colour()
}

fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Shows problems, and how many there are, on the standard error stream.
pub(crate) fn show_problems(problems: &Problems) {
    let (errors, warnings) = problems.counts();
    if errors + warnings == 0 {
        return;
    }
    say(problems.render(colour_on_stderr()));
    match (errors, warnings) {
        (0, _) => {}
        (_, 0) => say(count(errors, "error")),
        _ => say(format_args!("{}, {}", count(errors, "error"), count(warnings, "warning"))),
    }
}

/// Writes a line to the standard error stream. That nobody reads it is no reason to fail.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Says what the user did wrong and what to do, and gives the exit code for it.
pub(crate) fn refuse(message: &str, help: Option<&str>) -> ExitCode {
    // What a file or a component is called may hold anything.
    let message = gage_core::printable(message);
    match help {
        Some(help) => say(format_args!("error: {message}\n  help: {}", help.replace('\n', "\n        "))),
        None => say(format_args!("error: {message}")),
    }
    ExitCode::Configuration
}

/// Writes what was asked for to the standard output stream.
///
/// # Errors
/// When it cannot be written, except to a reader that has gone away.
pub(crate) fn answer(text: impl std::fmt::Display) -> anyhow::Result<()> {
    match writeln!(anstream::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output stream")
        }
        _ => Ok(()),
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Columns of the terminal; 100 where it is none.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    columns
        .or_else(|| console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)))
        .unwrap_or(100)
}
