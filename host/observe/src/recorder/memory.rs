//! Events in memory, for tests and for programs that use the host as a library.

use super::Recorder;
use crate::Event;
use parking_lot::Mutex;
use std::sync::Arc;

/// Keeps every event; clones share them. Memory grows with the events.
#[derive(Clone, Debug, Default)]
pub struct MemoryRecorder(Arc<Mutex<Vec<Event>>>);

impl MemoryRecorder {
    /// Returns the events so far.
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().clone()
    }
}

impl Recorder for MemoryRecorder {
    fn record(&mut self, event: &Event, _line: &[u8]) {
        self.0.lock().push(event.clone());
    }
}
