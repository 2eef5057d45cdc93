//! Recorders of events: a file, memory, a server.

mod file;
mod http;
mod memory;

use crate::Event;
pub use file::FileRecorder;
pub use http::{HttpRecorder, HttpRecorderError, HttpRecorderSettings};
pub use memory::MemoryRecorder;
use std::time::Instant;

/// Records events, one after another, on the writing thread. Never fails the run: events that cannot be stored are
/// counted, and reported once.
pub trait Recorder: Send {
    /// Records an event, given with its line of JSON including the line break.
    fn record(&mut self, event: &Event, line: &[u8]);

    /// Passes on buffered events; called a few times a second after recordings.
    fn flush(&mut self) {}

    /// Passes on everything and waits for completion, but not for others after the time `by`. Returns the number of
    /// lost events.
    fn finish(&mut self, _by: Instant) -> u64 {
        0
    }
}
