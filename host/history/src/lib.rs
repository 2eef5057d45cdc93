//! History of the runs in a folder: suites, figures and baselines, and how much scores vary by chance.
//!
//! - **Run folders are the source of truth.** The index is a SQLite file next to them, which
//!   [`History::refresh`] brings up to date. Any program may delete it; a damaged or outdated index is rebuilt.
//!   If the folder is not writable, the index is kept in memory.
//! - **Two processes may use one folder at once**, and both see current data.
//! - **Baselines are not part of the index**: a user chose them, so they have their own text file.
//!
//! This crate reads run folders; it runs nothing.

mod baseline;
mod checksum;
mod describe;
mod error;
mod flip_rate;
mod history;
mod index;
mod refresh;
mod run;
mod scan;
mod suite;
mod suite_list;
mod trend;

pub use baseline::{BASELINES_FILE, BASELINES_VERSION, Baseline, BaselineState};
pub use error::HistoryError;
pub use flip_rate::{FlipRate, RunPairs};
pub use history::{History, UnreadableRun};
pub use index::{INDEX_FILE, INDEX_VERSION};
pub use refresh::{ChangedRuns, RefreshReport, RunUpdate};
pub use run::{HistoryFigure, HistoryRun};
pub use suite_list::Suite;
pub use trend::{Trend, TrendPoint};

#[cfg(test)]
mod test_runs;
