//! Bounds of what is on its way.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many permits, all of which come back in the end.
pub(crate) struct Room {
    permits: Arc<Semaphore>,
    all: u32,
}

impl Room {
    pub(crate) fn new(size: usize) -> Room {
        let all = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Room { permits: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Waits for a permit.
    pub(crate) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// A permit, if there is one at once.
    pub(crate) fn try_take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Waits until everybody has given back what was taken.
    pub(crate) async fn is_empty(&self) {
        drop(self.permits.acquire_many(self.all).await);
    }
}
