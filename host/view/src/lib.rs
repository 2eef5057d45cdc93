//! A folder of runs in a browser: their list, the report of each, comparisons, a live view of runs in progress, and
//! the figures of a suite over time.
//!
//! - **Only notes and page folders are written.** No request changes anything but the notes of a run, and only a page of this
//!   server can save one. A run with many samples gets the blocks of its page if it has none. No request reads a file outside
//!   of the folder.
//! - **Pages contact only this server**, enforced by a policy in each; foreign text is only ever displayed as text.
//! - **Requests by a foreign host name are refused**, so that no foreign page reaches the server through its own
//!   domain name (DNS rebinding).
//! - **The async runtime never blocks**: files are read on separate threads.
//! - **Clients cannot block one another**: connections are limited in number, unfinished requests and readers that take
//!   nothing are closed, and a slow reader does not hold back the reports of others. A run has one report at a time, so
//!   that a run whose report takes long does not hold back the others.
//! - **Memory does not grow with the texts of a run**: reports and searches are streamed, and pages of many samples ask for
//!   blocks. For a run in progress, a few numbers are kept per sample.

mod dns_rebinding_guard;
mod error;
mod handlers;
mod listing;
mod live;
mod notes;
mod opened_runs;
mod pages;
mod paging;
mod refusal;
mod report_slots;
mod reporting;
mod root;
mod search;
mod server;
mod shards;
mod write_timeout;

pub use error::ViewError;
pub use reporting::RequestFinder;
pub use root::RunsRoot;
pub use server::{Viewer, ViewerOptions};
