//! The place of a request among those in flight. A request that waits to be sent again is not in flight, and
//! has none meanwhile.

use crate::pipeline::task_state::TaskState;
use crate::progress::Progress;
use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// A permit of the sample that a request is for. It is given back when the request waits for the first time, so
/// that another sample can begin.
pub(crate) type SampleSlot = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// What bounds the requests of a role.
pub(crate) struct RequestLimits {
    /// Bounds those of one task, where it says how many.
    pub(crate) of_task: Option<Semaphore>,
    /// Bounds those of all tasks.
    pub(crate) of_role: Arc<Semaphore>,
    /// Who is told how many of a task are in flight.
    pub(crate) reporter: Option<(Arc<dyn Progress>, Arc<TaskState>)>,
}

impl RequestLimits {
    /// For requests that are bounded in all tasks, and that nobody is told of.
    pub(crate) fn for_role(of_role: Arc<Semaphore>) -> Arc<RequestLimits> {
        Arc::new(RequestLimits { of_task: None, of_role, reporter: None })
    }
}

/// Room for a request, for as long as it lives, but for the time in which it waits.
pub(crate) struct RequestSlot {
    limits: Arc<RequestLimits>,
    sample_slot: Option<SampleSlot>,
    /// Whether room is taken for it: once at most, however many requests of a sample share it and wait.
    is_acquired: AtomicBool,
    /// Held while room is taken.
    acquiring: tokio::sync::Mutex<()>,
}

impl RequestSlot {
    /// Waits for room; whoever is shown requests is told while it is in flight.
    pub(crate) async fn acquire_new(
        rooms: &Arc<RequestLimits>,
        lent: Option<SampleSlot>,
    ) -> Arc<RequestSlot> {
        let (rooms, is_taken) = (Arc::clone(rooms), AtomicBool::new(false));
        let place = Arc::new(RequestSlot {
            limits: rooms,
            sample_slot: lent,
            is_acquired: is_taken,
            acquiring: tokio::sync::Mutex::new(()),
        });
        place.acquire_permits().await;
        place
    }

    async fn acquire_permits(&self) {
        let _taking = self.acquiring.lock().await;
        if self.is_acquired.load(Ordering::Relaxed) {
            return;
        }
        let RequestLimits { of_task, of_role, reporter: shown } = &*self.limits;
        let of_task = match of_task {
            Some(room) => Some(room.acquire().await),
            None => None,
        };
        let of_role = of_role.acquire().await;
        // The semaphores are never closed. What is forgotten here is given back by `empty`.
        of_task.into_iter().chain([of_role]).flatten().for_each(SemaphorePermit::forget);
        if let Some((progress, task)) = shown {
            progress.request_began(task.id());
        }
        self.is_acquired.store(true, Ordering::Relaxed);
    }

    /// Gives the room back, if it has any.
    fn release_permits(&self) {
        if !self.is_acquired.swap(false, Ordering::Relaxed) {
            return;
        }
        // First, for whoever gets the room counts after this one.
        if let Some((progress, task)) = &self.limits.reporter {
            progress.request_ended(task.id());
        }
        let RequestLimits { of_task, of_role, .. } = &*self.limits;
        of_task.iter().chain([&**of_role]).for_each(|room| room.add_permits(1));
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
        if let Some(lent) = self.sample_slot.as_ref().filter(|_| invites) {
            drop(lent.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    async fn reacquire(&self) {
        self.acquire_permits().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_backend::RequestSlot as _;

    #[tokio::test]
    async fn whoever_waits_makes_room_and_comes_back_behind_those_who_are_there() {
        let room = Arc::new(Semaphore::new(1));
        let begun = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&begun).acquire_owned().await.expect("room");
        let lent: SampleSlot = Arc::new(Mutex::new(Some(permit)));
        let place = RequestSlot::acquire_new(&RequestLimits::for_role(Arc::clone(&room)), Some(lent)).await;
        assert_eq!((room.available_permits(), begun.available_permits()), (0, 0));
        place.release(false);
        assert_eq!((room.available_permits(), begun.available_permits()), (1, 0));
        place.release(true);
        assert_eq!((room.available_permits(), begun.available_permits()), (1, 1));
        let other = Arc::clone(&room).acquire_owned().await.expect("room");
        let back = tokio::spawn({
            let place = Arc::clone(&place);
            async move { place.reacquire().await }
        });
        tokio::task::yield_now().await;
        assert!(!back.is_finished(), "the other one has its place");
        drop(other);
        back.await.expect("no panic");
        assert_eq!((room.available_permits(), begun.available_permits()), (0, 1), "what was lent is gone");
        drop(place);
        assert_eq!(room.available_permits(), 1);
    }

    /// As of the options of a sample, which are asked about at once.
    #[tokio::test]
    async fn several_that_wait_in_one_place_take_it_once() {
        let room = Arc::new(Semaphore::new(1));
        let place = RequestSlot::acquire_new(&RequestLimits::for_role(Arc::clone(&room)), None).await;
        place.release(false);
        place.release(false);
        assert_eq!(room.available_permits(), 1);
        tokio::join!(place.reacquire(), place.reacquire(), place.reacquire());
        assert_eq!(room.available_permits(), 0);
        drop(place);
        assert_eq!(room.available_permits(), 1);
    }

    #[tokio::test]
    async fn who_is_given_up_while_it_waits_keeps_no_room() {
        let of_task = Some(Semaphore::new(1));
        let rooms = Arc::new(RequestLimits { of_task, of_role: Arc::new(Semaphore::new(0)), reporter: None });
        tokio::select! {
            biased;
            _ = RequestSlot::acquire_new(&rooms, None) => panic!("there is no room"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(rooms.of_task.as_ref().map(Semaphore::available_permits), Some(1));
    }
}
