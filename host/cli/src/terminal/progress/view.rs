//! Fixed lines at the bottom of the terminal, and other output above them.

use crate::terminal::words::for_stderr;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::io::{self, IsTerminal as _, Write};

/// Maximum number of tasks with their own line; a last line counts the rest.
pub(super) const MAX_LINES: usize = 8;
/// Maximum number of redraws per second.
const REDRAWS: u8 = 10;

/// The current view, if any.
static SHOWN: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Returns true if fixed lines are possible: on a terminal that supports cursor movement.
pub(super) fn is_possible() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A view of fixed lines.
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

    /// Replaces the lines.
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

/// Writes a line to the standard error stream, above the view. A closed stream is not an error.
pub(crate) fn print_around_view(line: &dyn std::fmt::Display) {
    around(|| {
        let _ = writeln!(anstream::stderr(), "{line}");
    });
}

/// Returns a writer for the standard error stream that writes above the view.
pub(crate) fn stderr_around_view() -> impl Write {
    Stderr
}

struct Stderr;

impl Write for Stderr {
    // A closed stream is not an error: a logger could not report it elsewhere.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wrapped = for_stderr(&String::from_utf8_lossy(bytes));
        let _ = around(|| io::stderr().write_all(wrapped.as_bytes()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

fn around<T>(write: impl FnOnce() -> T) -> T {
    let lines = SHOWN.lock().clone();
    match lines {
        // A terminal that is gone cannot clear lines, and the view would panic.
        Some(lines) if io::stderr().is_terminal() => lines.suspend(write),
        _ => write(),
    }
}
