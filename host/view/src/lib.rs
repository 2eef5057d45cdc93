//! A folder of runs in a browser: their list, the report of each, comparisons, runs that go on, and how the
//! figures of a suite changed over time.
//!
//! - **Only reads.** No request changes a file, and none reads one outside of the folder.
//! - **Pages ask nobody but this server**, by a policy in each; text of others is only ever text.
//! - **Requests by a name that is not this machine's are refused**, so that no page of others reaches the
//!   server through a name of its own (DNS rebinding).
//! - **Nothing waits on the async runtime**: files are read on threads for it.
//! - **Memory does not grow with the texts of a run**: reports are streamed. Of a run that goes on there are
//!   some numbers for each sample.

mod dns_rebinding_guard;
mod error;
mod handlers;
mod listing;
mod live;
mod pages;
mod refusal;
mod reporting;
mod root;
mod server;

pub use error::ViewError;
pub use root::RunsRoot;
pub use server::{Viewer, ViewerOptions};
