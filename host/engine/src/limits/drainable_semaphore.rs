//! Bounds of what is on its way.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many permits, all of which come back in the end.
pub(crate) struct DrainableSemaphore {
    permits: Arc<Semaphore>,
    all: u32,
}

impl DrainableSemaphore {
    pub(crate) fn new(size: usize) -> DrainableSemaphore {
        let all = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        DrainableSemaphore { permits: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// A permit, if there is one at once.
    pub(crate) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Waits until everybody has given back what was taken.
    pub(crate) async fn drained(&self) {
        drop(self.permits.acquire_many(self.all).await);
    }
}
