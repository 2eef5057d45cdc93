//! Recorders of events: a file, memory, a server.

mod file;
mod http;
mod memory;

use crate::Event;
pub use file::FileRecorder;
pub use http::{HttpRecorder, HttpRecorderError, HttpRecorderSettings};
pub use memory::MemoryRecorder;
use std::time::Instant;

/// Takes events, one after the other, on the thread that writes them. Never fails the run: what cannot be
/// kept is counted, and said once.
pub trait Recorder: Send {
    /// Takes an event, and its line of JSON with the line break.
    fn record(&mut self, event: &Event, line: &[u8]);

    /// Hands on what is held back; called a few times a second where something was recorded.
    fn flush(&mut self) {}

    /// Hands on everything, and waits for it, but not for others beyond the time `by`. Returns how many events were lost.
    fn finish(&mut self, _by: Instant) -> u64 {
        0
    }
}
