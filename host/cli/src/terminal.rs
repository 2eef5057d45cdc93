//! Terminal output: problems, messages, tables, progress.

mod compiling;
mod progress;
mod rows;
mod safe_text;
mod words;

use crate::exit_code::ExitCode;
use anyhow::Context as _;
pub(crate) use compiling::CompilingLine;
use gage_config::Problems;
use gage_core::{printable, printable_line};
use gage_secrets::redact;
pub(crate) use progress::{ProgressKind, TerminalProgress, stderr_around_view};
pub(crate) use rows::{FetchProgress, RowProgress};
use safe_text::{json_with_escapes, printable_with_styles};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr as _;
pub(crate) use words::wrap_words;

/// Returns true if the standard error stream supports colors.
pub(crate) fn colour_on_stderr() -> bool {
    std::io::stderr().is_terminal() && wants_colour()
}

/// Returns true if the standard output stream supports colors.
pub(crate) fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && wants_colour()
}

fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints problems, and their number, to the standard error stream.
pub(crate) fn show_problems(problems: &Problems) {
    let (errors, warnings) = problems.counts();
    if errors + warnings == 0 {
        return;
    }
    eprint_line(problems.render(colour_on_stderr()));
    match (errors, warnings) {
        (0, _) => {}
        (_, 0) => eprint_line(count(errors, "error")),
        _ => eprint_line(format_args!("{}, {}", count(errors, "error"), count(warnings, "warning"))),
    }
}

/// Writes a text to the standard error stream, wrapped between words on a terminal. Names from outside may be in it, so only
/// line breaks, tabs and colours reach the terminal. A closed stream is not an error.
pub(crate) fn eprint_line(line: impl std::fmt::Display) {
    let text = printable_with_styles(&redact(&line.to_string()));
    progress::print_around_view(&words::for_stderr(&text));
}

/// Prints an error with its causes, all on one line.
pub(crate) fn eprint_error(error: &anyhow::Error) {
    let causes = error.chain().map(|cause| printable_line(&redact(&cause.to_string())).into_owned());
    eprint_line(format_args!("error: {}", causes.collect::<Vec<_>>().join(": ")));
}

/// Maximum length of a message, and of a hint, in characters.
const MAX_MESSAGE_CHARS: usize = 64 << 10;

/// Prints a usage error with a hint, and returns its exit code.
pub(crate) fn usage_error(message: &str, help: Option<&str>) -> ExitCode {
    // Names of files and components may contain any characters, and be of any length. Half a secret would not be found.
    let shown = |text: &str| printable(&shortened(&redact(text), MAX_MESSAGE_CHARS)).into_owned();
    let message = shown(message);
    match help.map(shown) {
        Some(help) => {
            eprint_line(format_args!("error: {message}\n  help: {}", help.replace('\n', "\n        ")))
        }
        None => eprint_line(format_args!("error: {message}")),
    }
    ExitCode::Configuration
}

/// True if the terminal hung up.
static IS_HUNG_UP: AtomicBool = AtomicBool::new(false);

/// Records that the terminal hung up.
pub(crate) fn hung_up() {
    IS_HUNG_UP.store(true, Ordering::SeqCst);
}

/// Writes requested text to the standard output stream. As for [`eprint_line`], only line breaks, tabs and colours reach the
/// terminal.
///
/// # Errors
/// Fails if it cannot be written, unless the reader or the terminal has gone away.
pub(crate) fn print_line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    write_to_stdout(&printable_with_styles(&redact(&text.to_string())))
}

/// Clears the screen, if the standard output stream is a terminal.
pub(crate) fn clear_screen() {
    if std::io::stdout().is_terminal() {
        // What follows is printed anyway.
        let _ = write!(std::io::stdout(), "\u{1b}[2J\u{1b}[H");
    }
}

/// Returns true if lines of the standard output stream can be replaced: on a terminal that supports cursor movement.
pub(crate) fn can_replace_lines() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Deletes the last lines on the terminal at the standard output stream.
pub(crate) fn delete_lines(count: usize) {
    if count > 0 && can_replace_lines() {
        // What follows is printed anyway.
        let _ = write!(std::io::stdout(), "\u{1b}[{count}A\u{1b}[J");
    }
}

/// Returns the height of the terminal at the standard output in lines, or `None` if it is not a terminal.
pub(crate) fn terminal_height() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(rows, _)| usize::from(rows))
}

/// Writes requested JSON to the standard output stream. What would steer a terminal is escaped as JSON allows.
///
/// # Errors
/// Same as for [`print_line`].
pub(crate) fn print_json(json: impl std::fmt::Display) -> anyhow::Result<()> {
    write_to_stdout(&json_with_escapes(&redact(&json.to_string())))
}

/// Writes a document for other programs to the standard output stream: as it is, unless the stream is a terminal.
///
/// # Errors
/// Same as for [`print_line`].
pub(crate) fn print_document(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().is_terminal() {
        true => print_line(text),
        false => write_to_stdout(&redact(text)),
    }
}

fn write_to_stdout(text: &str) -> anyhow::Result<()> {
    match writeln!(anstream::stdout(), "{text}") {
        Err(error)
            if error.kind() != std::io::ErrorKind::BrokenPipe && !IS_HUNG_UP.load(Ordering::SeqCst) =>
        {
            Err(error).context("cannot write to the standard output stream")
        }
        _ => Ok(()),
    }
}

/// Formats a word of a command for a shell, quoted if necessary.
pub(crate) fn shell_word(text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    let is_plain = |one: char| one.is_alphanumeric() || "_-./:=@%+,".contains(one);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Formats a count: `1 error`, `2 errors`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Formats a count of rows, with separated thousands.
pub(crate) fn count_of(number: u64, what: &str) -> String {
    let digits = indicatif::HumanCount(number);
    if number == 1 { format!("1 {what}") } else { format!("{digits} {what}s") }
}

/// Text styles.
pub(crate) struct Style {
    has_colour: bool,
}

impl Style {
    /// Returns the style for the standard output stream.
    pub(crate) fn of_stdout() -> Style {
        Style { has_colour: colour_on_stdout() }
    }

    /// Formats a heading.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.set(anstyle::Style::new().bold(), text)
    }

    /// Formats secondary text.
    pub(crate) fn dim(&self, text: &str) -> String {
        self.set(anstyle::Style::new().dimmed(), text)
    }

    fn set(&self, style: anstyle::Style, text: &str) -> String {
        if self.has_colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Wraps a line at a maximum width in columns, between words if possible. The parts together are the line. A part may end in
/// a space beyond the width.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    loop {
        let end = end_within(rest, width);
        if end == rest.len() {
            parts.push(rest.to_owned());
            return parts;
        }
        let next_is_space = rest[end..].starts_with(' ');
        let cut = match rest[..end].rfind(' ') {
            _ if next_is_space => end + 1,
            Some(space) if !rest[..space].trim().is_empty() => space + 1,
            _ => end,
        };
        let (part, after) = rest.split_at(cut);
        parts.push(part.to_owned());
        rest = after;
    }
}

/// Returns the number of bytes of the beginning of a text that fits a width, at least one character.
fn end_within(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (place, character) in text.char_indices() {
        used += unicode_width::UnicodeWidthChar::width(character).unwrap_or(0);
        if used > width && place > 0 {
            return place;
        }
    }
    text.len()
}

/// Shortens a text to a maximum number of characters by cutting its middle.
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

/// Formats a table without lines: each column at its natural width, separated by two spaces.
pub(crate) fn columns<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    draw(headings, rows, widths(headings, rows).map(Some))
}

/// Formats a table. In columns with a width, longer texts lose their middle.
fn draw<const N: usize>(headings: [&str; N], rows: &[[String; N]], widths: [Option<usize>; N]) -> String {
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).filter_map(|(cell, width)| Some(padded(cell, width?)));
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let rows = rows.iter().map(|row| line(std::array::from_fn(|column| row[column].as_str())));
    std::iter::once(line(headings)).chain(rows).collect::<Vec<_>>().join("\n")
}

fn padded(text: &str, width: usize) -> String {
    let (mut text, mut longest) = (text.to_owned(), width);
    // Some characters are two columns wide.
    while text.width() > width && longest > 0 {
        text = shortened(&text, longest);
        longest -= 1;
    }
    let blanks = width.saturating_sub(text.width());
    text + &" ".repeat(blanks)
}

/// Returns the width of each column.
fn widths<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> [usize; N] {
    let mut widths = headings.map(str::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    widths
}

/// A table for the terminal.
pub(crate) struct Table<const N: usize> {
    /// Headings of the columns.
    pub(crate) headings: [&'static str; N],
    /// Columns whose texts may be shortened.
    pub(crate) flexible: &'static [usize],
    /// Columns to omit one by one if the terminal is too narrow.
    pub(crate) spare: &'static [usize],
}

/// Minimum width of flexible columns while a spare one remains.
const MIN_COLUMN_WIDTH: usize = 10;

impl<const N: usize> Table<N> {
    /// Formats rows. On a terminal, spare columns are omitted and texts are shortened to fit. Elsewhere, everything
    /// is included.
    pub(crate) fn draw(&self, rows: &[[String; N]]) -> String {
        match terminal_width() {
            Some(width) => self.within(rows, width),
            None => columns(self.headings, rows),
        }
    }

    fn within(&self, rows: &[[String; N]], width: usize) -> String {
        let mut widths = widths(self.headings, rows);
        let headings = self.headings.map(str::width);
        let mut is_shown = [true; N];
        let needed = |widths: &[usize; N], is_shown: &[bool; N]| {
            let shown = widths.iter().zip(is_shown).filter(|(_, is_shown)| **is_shown);
            shown.map(|(width, _)| width + 2).sum::<usize>()
        };
        let least = |widths: &[usize; N]| {
            let mut least = *widths;
            self.flexible.iter().for_each(|column| {
                least[*column] = least[*column].min(MIN_COLUMN_WIDTH.max(headings[*column]));
            });
            least
        };
        for column in self.spare {
            if needed(&least(&widths), &is_shown) > width {
                is_shown[*column] = false;
            }
        }
        while needed(&widths, &is_shown) > width {
            let shown = self.flexible.iter().filter(|column| is_shown[**column]);
            // Headings are shortened last.
            let priority = |column: &&usize| (widths[**column] > headings[**column], widths[**column]);
            match shown.max_by_key(priority) {
                Some(widest) if widths[*widest] > 2 => widths[*widest] -= 1,
                _ => break,
            }
        }
        let shown = std::array::from_fn(|column| is_shown[column].then_some(widths[column]));
        draw(self.headings, rows, shown)
    }
}

/// Wraps lines between words if the standard output is a terminal. Continuation lines are indented by `indent`.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    let Some(width) = terminal_width() else { return text.to_owned() };
    text.lines().map(|line| wrap_words(line, width, indent)).collect::<Vec<_>>().join("\n")
}

/// Formats a text beside a name of a fixed width, or below it on a terminal that is too narrow.
pub(crate) fn beside(name: &str, text: &str) -> String {
    words::beside(name, text, terminal_width())
}

/// Returns the width of the terminal at the standard output, or `None` if it is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    std::io::stdout().is_terminal().then(width)
}

/// Returns the width of the terminal in columns, or 100 without a terminal.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    columns
        .or_else(|| console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)))
        .unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_would_break_them() {
        for (word, quoted) in [
            ("a/b-c_1.yaml", "a/b-c_1.yaml"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$x;&", "'$x;&'"),
            ("", "''"),
            ("é.yaml", "é.yaml"),
            ("~", "'~'"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        for (line, width, expected) in [
            ("a farmers' market", 12, vec!["a farmers' ", "market"]),
            ("exactly here now", 12, vec!["exactly here ", "now"]),
            ("  indented_and_long", 8, vec!["  indent", "ed_and_l", "ong"]),
            ("模型模型", 5, vec!["模型", "模型"]),
            ("", 5, vec![""]),
            ("ab", 0, vec!["a", "b"]),
        ] {
            let parts = wrap(line, width);
            assert_eq!(parts, expected, "{line:?} in {width} columns");
            assert_eq!(parts.concat(), line);
        }
    }

    #[test]
    fn columns_are_left_out_before_headings_are_shortened() {
        let table = Table { headings: ["first figure", "value", "started"], flexible: &[0], spare: &[2] };
        let rows = [["rows exact_match and more", "0.5", "2026-01-01"].map(str::to_owned)];
        let text = table.within(&rows, 24);
        assert!(text.contains("first figure") && !text.contains("started"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 24), "{text}");
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let table = Table { headings: ["run", "model", "started", "value"], flexible: &[0, 1], spare: &[2] };
        let row = |run: &str, model: &str| [run, model, "2026-01-01 00:00", "0.1234"].map(str::to_owned);
        let rows = [row(&"r".repeat(60), "small"), row("b", &"模型".repeat(30))];
        for width in [40, 60, 80, 300] {
            let text = table.within(&rows, width);
            let widest = text.lines().map(|line| line.width()).max();
            assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
            assert_eq!(text.contains("started"), width > 48, "{text}");
            assert!(text.lines().all(|line| line.ends_with("0.1234") || line.ends_with("value")), "{text}");
        }
        assert_eq!(table.within(&rows, 300), columns(table.headings, &rows));
    }
}
