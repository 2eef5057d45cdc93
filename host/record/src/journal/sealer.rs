//! The thread that seals segments while the next one is written.

use super::sealed::seal;
use crate::RecordError;
use gage_core::spawn_thread;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

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
    /// Seals a segment later. The segment stays as it is if no thread can be started, or if the thread ended because an earlier
    /// segment could not be sealed.
    pub(super) fn add(&mut self, segment: PathBuf) {
        if self.running.is_none() {
            let (sender, segments) = mpsc::channel::<PathBuf>();
            let work = move || segments.iter().try_for_each(|segment| seal(&segment));
            self.running = spawn_thread("sealer", work).ok().map(|thread| Running { sender, thread });
        }
        if let Some(running) = &self.running {
            let _ = running.sender.send(segment);
        }
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
