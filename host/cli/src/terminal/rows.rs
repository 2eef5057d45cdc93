//! Progress of reading and downloading datasets.

use gage_data::HubProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::cell::Cell;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Counts rows on the standard error stream. Shows nothing without a terminal, or if the user wants quiet.
pub(crate) struct RowProgress {
    bar: ProgressBar,
    rows: Cell<u64>,
}

/// Number of rows per update of the bar, because each update reads the clock.
const ROWS_A_STEP: u64 = 256;

impl RowProgress {
    pub(crate) fn new(dataset_id: &str, quiet: bool) -> RowProgress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        if let Ok(style) =
            ProgressStyle::with_template("{prefix:.bold} {spinner:.green} {human_pos} rows {per_sec:.dim}")
        {
            bar.set_style(style);
        }
        bar.set_prefix(gage_core::printable_line(dataset_id).into_owned());
        RowProgress { bar, rows: Cell::new(0) }
    }

    /// Counts a row.
    pub(crate) fn row(&self) {
        self.rows.set(self.rows.get() + 1);
        if self.rows.get().is_multiple_of(ROWS_A_STEP) {
            self.bar.inc(ROWS_A_STEP);
        }
    }

    /// Finishes the count.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows downloads: a bar on a terminal, otherwise one line per file.
pub(crate) struct FetchProgress {
    quiet: bool,
    current: Mutex<Option<FetchedFile>>,
}

struct FetchedFile {
    path: String,
    bar: ProgressBar,
}

impl FetchProgress {
    pub(crate) fn new(quiet: bool) -> FetchProgress {
        FetchProgress { quiet, current: Mutex::new(None) }
    }

    fn begin(path: &str, total: Option<u64>) -> FetchedFile {
        let name = gage_core::printable_line(path).into_owned();
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        if std::io::stderr().is_terminal() {
            let template =
                "fetching {prefix:.bold} {bar:24.green/dim} {bytes}/{total_bytes} {bytes_per_sec:.dim}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("━━╌"));
            }
            bar.set_prefix(name);
            bar.enable_steady_tick(Duration::from_millis(200));
        } else {
            super::eprint_line(format_args!("fetching {name}"));
        }
        FetchedFile { path: path.to_owned(), bar }
    }
}

impl HubProgress for FetchProgress {
    fn file(&self, path: &str, done: u64, total: Option<u64>) {
        if self.quiet {
            return;
        }
        let mut current = self.current.lock();
        if current.as_ref().is_none_or(|fetched| fetched.path != path) {
            if let Some(fetched) = current.take() {
                fetched.bar.finish_and_clear();
            }
            *current = Some(FetchProgress::begin(path, total));
        }
        if let Some(fetched) = &*current {
            fetched.bar.set_position(done);
            if total == Some(done) {
                fetched.bar.finish_and_clear();
            }
        }
    }
}
