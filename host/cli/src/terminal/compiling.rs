//! Shows that a large component is being compiled, which happens once.

use gage_plugin::CompileProgress;
use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Minimum duration of a compilation that is shown.
const MIN_SHOWN_DURATION: Duration = Duration::from_secs(1);

/// Shows compilations on the standard error stream.
#[derive(Default)]
pub(crate) struct CompilingLine {
    shown: Mutex<Option<ShownLine>>,
}

enum ShownLine {
    /// A line that counts seconds.
    Live(ProgressBar),
    /// A line that was written without a terminal.
    Said,
}

impl CompilingLine {
    /// Records the progress of a compilation.
    pub(crate) fn note(&self, progress: CompileProgress<'_>) {
        let mut shown = self.shown.lock();
        match (&*shown, progress.is_over) {
            (None, false) if progress.elapsed >= MIN_SHOWN_DURATION => *shown = Some(begin(&progress)),
            (None, _) | (Some(_), false) => {}
            (Some(ShownLine::Live(line)), true) => {
                line.finish_and_clear();
                *shown = None;
            }
            (Some(ShownLine::Said), true) => *shown = None,
        }
    }
}

fn begin(progress: &CompileProgress<'_>) -> ShownLine {
    let name = gage_core::printable_line(progress.name);
    // Sizes stay far below 2^53.
    let size = progress.bytes as f64 / f64::from(1 << 20);
    let text = format!("compiling the plugin {name} ({size:.1} MiB); this is done once");
    if !std::io::stderr().is_terminal() {
        super::eprint_line(text);
        return ShownLine::Said;
    }
    let line = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner:.green} {msg} {elapsed:.dim}") {
        line.set_style(style);
    }
    line.set_message(text);
    line.enable_steady_tick(Duration::from_millis(100));
    ShownLine::Live(line)
}
