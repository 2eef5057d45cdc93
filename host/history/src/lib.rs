//! History of the runs in a folder: which suites they are of, what came of them, which run is the
//! baseline of a suite, and how much its scores change when nothing else does.
//!
//! - **The run folders are the truth.** The index is a SQLite file beside them that [`History::refresh`] brings up to
//!   date, that any program may delete, and that is built again where it is damaged or of another version. Where the
//!   folder cannot be written the index lives in memory.
//! - **Two processes may look at one folder at once**, and both see what is there.
//! - **The one thing that a person chose is no part of the index**: baselines are a text file of their own.
//!
//! Reads run folders; runs nothing.

mod baseline;
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
pub use flip_rate::FlipRate;
pub use history::{History, UnreadableRun};
pub use index::{INDEX_FILE, INDEX_VERSION};
pub use refresh::RefreshReport;
pub use run::{HistoryFigure, HistoryRun};
pub use suite_list::Suite;
pub use trend::{Trend, TrendPoint};

#[cfg(test)]
mod test_runs;
