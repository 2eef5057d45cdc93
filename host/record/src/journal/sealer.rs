//! The thread that seals segments while the next one is written.

use super::sealed::seal;
use crate::RecordError;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// Seals segments one after another. Its thread starts with the first one.
#[derive(Debug, Default)]
pub(super) struct Sealer {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    sender: mpsc::Sender<PathBuf>,
    thread: JoinHandle<Result<(), RecordError>>,
}

impl Sealer {
    /// Seals a segment later. If the thread ended, because an earlier segment could not be sealed, the segment stays as it is.
    pub(super) fn add(&mut self, segment: PathBuf) {
        let running = self.running.get_or_insert_with(|| {
            let (sender, segments) = mpsc::channel::<PathBuf>();
            let thread = thread::spawn(move || segments.iter().try_for_each(|segment| seal(&segment)));
            Running { sender, thread }
        });
        let _ = running.sender.send(segment);
    }

    /// Waits until every segment is sealed.
    ///
    /// # Errors
    /// The error of the first segment that could not be sealed. It and the later ones are still whole.
    pub(super) fn finish(&mut self) -> Result<(), RecordError> {
        let Some(Running { sender, thread }) = self.running.take() else { return Ok(()) };
        drop(sender);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Sealer {
    fn drop(&mut self) {
        // A segment that could not be sealed is read as it is.
        let _ = self.finish();
    }
}
