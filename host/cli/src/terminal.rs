//! What people see: problems, progress.

mod compiling;
mod progress;
mod rows;

use crate::exit_code::ExitCode;
use anyhow::Context as _;
pub(crate) use compiling::CompilingLine;
use gage_config::Problems;
pub(crate) use progress::{ProgressKind, TerminalProgress, stderr_around_view};
pub(crate) use rows::{FetchProgress, RowProgress};
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
    progress::say_around_view(&line);
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

/// The same for numbers of rows, with thousands apart.
pub(crate) fn count_of(number: u64, what: &str) -> String {
    let digits = indicatif::HumanCount(number);
    if number == 1 { format!("1 {what}") } else { format!("{digits} {what}s") }
}

/// How texts are set off from one another.
pub(crate) struct Style {
    has_colour: bool,
}

impl Style {
    /// For the standard output stream.
    pub(crate) fn of_stdout() -> Style {
        Style { has_colour: colour_on_stdout() }
    }

    /// A heading.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.set(anstyle::Style::new().bold(), text)
    }

    /// What explains, and is not read twice.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.set(anstyle::Style::new().dimmed(), text)
    }

    fn set(&self, style: anstyle::Style, text: &str) -> String {
        if self.has_colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Breaks a line into lines of at most so many columns.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in line.chars() {
        let columns = unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if used + columns > width {
            lines.push(String::new());
            used = 0;
        }
        used += columns;
        if let Some(last) = lines.last_mut() {
            last.push(character);
        }
    }
    lines
}

/// A text of at most so many characters: what is longer loses its middle.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let kept = longest.saturating_sub(1);
    let (begin, end) = (kept.div_ceil(2), kept / 2);
    let begin: String = text.chars().take(begin).collect();
    let end: String = text.chars().skip(count - end).collect();
    format!("{begin}…{end}")
}

/// A table without lines: each column as wide as it must be, two blanks between them.
pub(crate) fn columns<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let width_of = |text: &str| unicode_width::UnicodeWidthStr::width(text);
    let mut widths = headings.map(width_of);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(width_of(cell));
        }
    }
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| {
            let blanks = " ".repeat(width.saturating_sub(width_of(cell)));
            format!("{cell}{blanks}")
        });
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let heading = line(headings);
    let rows = rows.iter().map(|row| line(std::array::from_fn(|column| row[column].as_str())));
    std::iter::once(heading).chain(rows).collect::<Vec<_>>().join("\n")
}

/// Columns of the terminal; 100 where it is none.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    columns
        .or_else(|| console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)))
        .unwrap_or(100)
}
