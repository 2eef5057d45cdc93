//! A request to stop, passed down to everything that may go on for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Set once, by whoever wants the run to end early: what is in flight is finished and
/// recorded, nothing new begins.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_set: AtomicBool,
    notify: Notify,
}

impl Stop {
    /// Asks for the end.
    pub fn set(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Whether the end was asked for.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    /// Waits until the end is asked for.
    pub async fn wait(&self) {
        loop {
            let notified = self.0.notify.notified();
            if self.is_set() {
                return;
            }
            notified.await;
        }
    }
}
