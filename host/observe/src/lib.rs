//! What a run says about itself while it goes on: the events of a run, one a line, and the
//! set-up of logs.
//!
//! Imports nothing of the workspace; used by the engine, which writes events, and by the
//! program, which sets up logs.

mod events;
mod logs;

pub use events::EventLog;
pub use logs::{LogFormat, init_logs};
