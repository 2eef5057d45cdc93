//! The slot of a request among those in flight. A request that waits for a retry is not in flight and holds no permit.

use super::RequestPermits;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

/// The `in_flight` permit of a request's sample. The request releases it at its first wait, so that another sample can start.
pub(crate) type SampleSlot = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// The request permits of one sample, held for the lifetime of this value except while its request waits.
pub(crate) struct RequestSlot {
    permits: Arc<RequestPermits>,
    sample_slot: Option<SampleSlot>,
    has_failed_before: bool,
    /// True if the permits are held. They are held once, even if several requests of a sample share the slot and wait.
    is_held: AtomicBool,
    /// Locked while the permits are acquired.
    acquiring: tokio::sync::Mutex<()>,
}

impl RequestSlot {
    /// Waits for the permits, and reports the request as in flight.
    pub(crate) async fn acquire_new(
        permits: &Arc<RequestPermits>,
        sample_slot: Option<SampleSlot>,
        has_failed_before: bool,
    ) -> Arc<RequestSlot> {
        let slot = Arc::new(RequestSlot {
            permits: Arc::clone(permits),
            sample_slot,
            has_failed_before,
            is_held: AtomicBool::new(false),
            acquiring: tokio::sync::Mutex::new(()),
        });
        slot.acquire_permits().await;
        slot
    }

    async fn acquire_permits(&self) {
        let _acquiring = self.acquiring.lock().await;
        if self.is_held.load(Ordering::Relaxed) {
            return;
        }
        let RequestPermits { of_task, of_role, reporter } = &*self.permits;
        let of_task = match of_task {
            Some(semaphore) => Some(semaphore.acquire().await),
            None => None,
        };
        let of_role = of_role.acquire().await;
        // The semaphores are never closed. `release_permits` returns the permits that are forgotten here.
        of_task.into_iter().chain([of_role]).flatten().for_each(SemaphorePermit::forget);
        if let Some((progress, task_id)) = reporter {
            progress.request_began(task_id);
        }
        self.is_held.store(true, Ordering::Relaxed);
    }

    /// Releases the permits, if they are held.
    fn release_permits(&self) {
        if !self.is_held.swap(false, Ordering::Relaxed) {
            return;
        }
        // Report before releasing, so that the request that gets the permits is counted after this one.
        if let Some((progress, task_id)) = &self.permits.reporter {
            progress.request_ended(task_id);
        }
        let RequestPermits { of_task, of_role, .. } = &*self.permits;
        of_task.iter().chain([&**of_role]).for_each(|semaphore| semaphore.add_permits(1));
    }
}

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.release_permits();
    }
}

#[async_trait]
impl gage_backend::RequestSlot for RequestSlot {
    fn release(&self, invites: bool) {
        self.release_permits();
        if let Some(sample_slot) = self.sample_slot.as_ref().filter(|_| invites) {
            drop(sample_slot.lock().take());
        }
    }

    async fn reacquire(&self) {
        self.acquire_permits().await;
    }

    fn has_failed_before(&self) -> bool {
        self.has_failed_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use gage_backend::RequestSlot as _;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn waiting_request_releases_its_permits_and_reacquires_them() {
        let of_role = Arc::new(Semaphore::new(1));
        let in_flight = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&in_flight).acquire_owned().await.expect("a permit");
        let sample_slot: SampleSlot = Arc::new(Mutex::new(Some(permit)));
        let permits = RequestPermits::for_role(Arc::clone(&of_role));
        let slot = RequestSlot::acquire_new(&permits, Some(sample_slot), false).await;
        let available = || (of_role.available_permits(), in_flight.available_permits());
        assert_eq!(available(), (0, 0));
        slot.release(false);
        assert_eq!(available(), (1, 0));
        slot.release(true);
        assert_eq!(available(), (1, 1));
        let other = Arc::clone(&of_role).acquire_owned().await.expect("a permit");
        let back = tokio::spawn({
            let slot = Arc::clone(&slot);
            async move { slot.reacquire().await }
        });
        tokio::task::yield_now().await;
        assert!(!back.is_finished(), "the other request has the permit");
        drop(other);
        back.await.expect("no panic");
        assert_eq!(available(), (0, 1), "the sample does not get its permit back");
        drop(slot);
        assert_eq!(of_role.available_permits(), 1);
    }

    /// As for the options of a sample, which are requested concurrently.
    #[tokio::test]
    async fn requests_that_share_a_slot_acquire_its_permits_once() {
        let of_role = Arc::new(Semaphore::new(1));
        let slot =
            RequestSlot::acquire_new(&RequestPermits::for_role(Arc::clone(&of_role)), None, false).await;
        slot.release(false);
        slot.release(false);
        assert_eq!(of_role.available_permits(), 1);
        tokio::join!(slot.reacquire(), slot.reacquire(), slot.reacquire());
        assert_eq!(of_role.available_permits(), 0);
        drop(slot);
        assert_eq!(of_role.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_while_it_waits_keeps_no_permit() {
        let of_task = Some(Semaphore::new(1));
        let of_role = Arc::new(Semaphore::new(0));
        let permits = Arc::new(RequestPermits { of_task, of_role, reporter: None });
        assert!(
            RequestSlot::acquire_new(&permits, None, false).now_or_never().is_none(),
            "the role has no permit"
        );
        assert_eq!(permits.of_task.as_ref().map(Semaphore::available_permits), Some(1));
    }

    #[tokio::test]
    async fn a_slot_needs_both_the_permit_of_its_task_and_of_its_role() {
        for (of_task, of_role, is_acquired) in [(1, 1, true), (0, 1, false), (1, 0, false)] {
            let (of_task, of_role) = (Some(Semaphore::new(of_task)), Arc::new(Semaphore::new(of_role)));
            let permits = Arc::new(RequestPermits { of_task, of_role, reporter: None });
            assert_eq!(RequestSlot::acquire_new(&permits, None, false).now_or_never().is_some(), is_acquired);
        }
    }

    /// Collects the requests that are reported as in flight.
    #[derive(Default)]
    struct InFlight(Mutex<Vec<(bool, String)>>);

    impl crate::progress::Progress for InFlight {
        fn task_started(&self, _: &str, _: Option<u64>, _: u64, _: Option<crate::progress::MeanMetric<'_>>) {}
        fn request_began(&self, task_id: &str) {
            self.0.lock().push((true, task_id.to_owned()));
        }
        fn request_ended(&self, task_id: &str) {
            self.0.lock().push((false, task_id.to_owned()));
        }
        fn sample_answered(&self, _: &str) {}
        fn usage_counted(&self, _: &crate::progress::RunUsage) {}
        fn sample_finished(&self, _: &crate::progress::FinishedSample<'_>) {}
        fn task_finished(&self, _: &str) {}
    }

    #[tokio::test]
    async fn a_request_is_reported_while_it_holds_its_permits() {
        let progress = Arc::new(InFlight::default());
        let reporter: (Arc<dyn crate::progress::Progress>, String) =
            (Arc::clone(&progress) as _, "t".to_owned());
        let permits =
            RequestPermits { of_task: None, of_role: Arc::new(Semaphore::new(1)), reporter: Some(reporter) };
        let slot = RequestSlot::acquire_new(&Arc::new(permits), None, false).await;
        slot.release(false);
        slot.reacquire().await;
        drop(slot);
        let reported: Vec<bool> = progress.0.lock().iter().map(|(is_begun, _)| *is_begun).collect();
        assert_eq!(reported, [true, false, true, false]);
    }
}
