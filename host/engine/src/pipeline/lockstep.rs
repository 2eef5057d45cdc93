//! Lockstep of the threads of a run, for simulations: a sender waits until the thread has processed its item. So the
//! order of events depends only on the runtime's clock, and no virtual time passes while a thread works.

use std::sync::mpsc::{Receiver, Sender, channel};

/// Part of an item that another thread processes. Its drop ends the sender's wait.
#[derive(Debug)]
pub(crate) struct LockstepMark(#[expect(dead_code, reason = "only its drop counts")] Sender<()>);

/// Wait of the sender.
#[derive(Debug)]
pub(crate) struct LockstepWait(Receiver<()>);

/// Returns both sides; `None` if the run is not in lockstep.
pub(crate) fn lockstep(is_lockstep: bool) -> (Option<LockstepMark>, Option<LockstepWait>) {
    if !is_lockstep {
        return (None, None);
    }
    let (sender, receiver) = channel();
    (Some(LockstepMark(sender)), Some(LockstepWait(receiver)))
}

impl LockstepWait {
    /// Blocks until the item is processed, or dropped because its thread is gone.
    pub(crate) fn wait(self) {
        // The mark sends nothing, so this ends with its drop.
        let _ = self.0.recv();
    }
}
