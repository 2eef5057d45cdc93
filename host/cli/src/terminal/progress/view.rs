//! The lines that stay in their place at the end of the terminal, and how others write around them.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::io::{self, IsTerminal as _, Write};

/// Tasks that have a line of their own; more are counted in a last one.
pub(super) const MAX_LINES: usize = 8;
/// Redraws a second, at most.
const REDRAWS: u8 = 10;

/// The view that is shown, where one is.
static SHOWN: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Returns whether lines can stay in their place: on a terminal that can move its cursor.
pub(super) fn is_possible() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Lines in their place.
pub(super) struct View {
    lines: MultiProgress,
    bars: Vec<ProgressBar>,
}

impl View {
    pub(super) fn open() -> View {
        let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(REDRAWS));
        *SHOWN.lock() = Some(lines.clone());
        View { lines, bars: Vec::new() }
    }

    /// Shows these lines rather than the last ones.
    pub(super) fn show(&mut self, lines: &[String]) {
        while self.bars.len() > lines.len() {
            if let Some(bar) = self.bars.pop() {
                bar.finish_and_clear();
                self.lines.remove(&bar);
            }
        }
        while self.bars.len() < lines.len() {
            let bar = self.lines.add(ProgressBar::no_length());
            if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
                bar.set_style(style);
            }
            self.bars.push(bar);
        }
        for (bar, line) in self.bars.iter().zip(lines) {
            bar.set_message(line.clone());
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.show(&[]);
        *SHOWN.lock() = None;
    }
}

/// Columns of the terminal that the view is on.
pub(super) fn columns() -> usize {
    console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

/// Writes a line to the standard error stream, above the view. That nobody reads it is no reason to fail.
pub(crate) fn print_around_view(line: &dyn std::fmt::Display) {
    around(|| {
        let _ = writeln!(anstream::stderr(), "{line}");
    });
}

/// The standard error stream, for lines that are written above the view.
pub(crate) fn stderr_around_view() -> impl Write {
    Stderr
}

struct Stderr;

impl Write for Stderr {
    // That nobody reads it is no reason to fail, and whoever logs could say it nowhere else.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(around(|| io::stderr().write(bytes)).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

fn around<T>(write: impl FnOnce() -> T) -> T {
    let lines = SHOWN.lock().clone();
    match lines {
        // A terminal that is gone takes no lines away, and the view would panic for it.
        Some(lines) if io::stderr().is_terminal() => lines.suspend(write),
        _ => write(),
    }
}
