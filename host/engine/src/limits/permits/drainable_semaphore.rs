//! A semaphore that can wait until every permit is returned.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A semaphore with a fixed number of permits, all eventually returned.
pub(crate) struct DrainableSemaphore {
    permits: Arc<Semaphore>,
    size: u32,
}

impl DrainableSemaphore {
    pub(crate) fn new(size: usize) -> DrainableSemaphore {
        let size = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        DrainableSemaphore { permits: Arc::new(Semaphore::new(size as usize)), size }
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Waits for some permits, at most all.
    pub(crate) async fn acquire_many(&self, count: usize) -> Option<OwnedSemaphorePermit> {
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(self.size);
        Arc::clone(&self.permits).acquire_many_owned(count).await.ok()
    }

    /// Takes a permit if one is available immediately.
    pub(crate) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }

    /// Waits until every permit is returned.
    pub(crate) async fn drained(&self) {
        drop(self.permits.acquire_many(self.size).await);
    }

    #[cfg(test)]
    pub(crate) fn available(&self) -> usize {
        self.permits.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn no_more_permits_are_awaited_than_there_are() {
        let semaphore = DrainableSemaphore::new(3);
        let two = semaphore.acquire_many(2).await;
        assert!(semaphore.acquire_many(2).now_or_never().is_none());
        drop(two);
        assert!(semaphore.acquire_many(usize::MAX).now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn draining_waits_for_the_last_permit() {
        let semaphore = DrainableSemaphore::new(2);
        let (first, second) = (semaphore.acquire().await, semaphore.try_acquire());
        assert!(first.is_some() && second.is_some());
        assert!(semaphore.try_acquire().is_none(), "both permits are taken");
        drop(first);
        assert!(semaphore.drained().now_or_never().is_none());
        drop(second);
        assert!(semaphore.drained().now_or_never().is_some());
        assert_eq!(semaphore.available(), 2, "draining keeps no permit");
    }
}
