//! The place of a request among those in flight. A request that waits to be sent again is not in flight, and
//! has none meanwhile.

use crate::active::ActiveTask;
use crate::progress::Progress;
use async_trait::async_trait;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// A permit of the sample that a request is for. It is given back when the request waits for the first time, so
/// that another sample can begin.
pub(crate) type Lent = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// What bounds the requests of a role.
pub(crate) struct Rooms {
    /// Bounds those of one task, where it says how many.
    pub(crate) of_task: Option<Semaphore>,
    /// Bounds those of all tasks.
    pub(crate) of_role: Arc<Semaphore>,
    /// Who is told how many of a task are in flight.
    pub(crate) shown: Option<(Arc<dyn Progress>, Arc<ActiveTask>)>,
}

impl Rooms {
    /// For requests that are bounded in all tasks, and that nobody is told of.
    pub(crate) fn of_role(of_role: Arc<Semaphore>) -> Arc<Rooms> {
        Arc::new(Rooms { of_task: None, of_role, shown: None })
    }
}

/// Room for a request, for as long as it lives, but for the time in which it waits.
pub(crate) struct Place {
    rooms: Arc<Rooms>,
    lent: Option<Lent>,
    /// Whether room is taken for it: once at most, however many requests of a sample share it and wait.
    is_taken: AtomicBool,
    /// Held while room is taken.
    taking: tokio::sync::Mutex<()>,
}

impl Place {
    /// Waits for room; whoever is shown requests is told while it is in flight.
    pub(crate) async fn taken(rooms: &Arc<Rooms>, lent: Option<Lent>) -> Arc<Place> {
        let (rooms, is_taken) = (Arc::clone(rooms), AtomicBool::new(false));
        let place = Arc::new(Place { rooms, lent, is_taken, taking: tokio::sync::Mutex::new(()) });
        place.fill().await;
        place
    }

    async fn fill(&self) {
        let _taking = self.taking.lock().await;
        if self.is_taken.load(Ordering::Relaxed) {
            return;
        }
        let Rooms { of_task, of_role, shown } = &*self.rooms;
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
        self.is_taken.store(true, Ordering::Relaxed);
    }

    /// Gives the room back, if it has any.
    fn empty(&self) {
        if !self.is_taken.swap(false, Ordering::Relaxed) {
            return;
        }
        // First, for whoever gets the room counts after this one.
        if let Some((progress, task)) = &self.rooms.shown {
            progress.request_ended(task.id());
        }
        let Rooms { of_task, of_role, .. } = &*self.rooms;
        of_task.iter().chain([&**of_role]).for_each(|room| room.add_permits(1));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.empty();
    }
}

#[async_trait]
impl gage_backend::Place for Place {
    fn leave(&self, invites: bool) {
        self.empty();
        if let Some(lent) = self.lent.as_ref().filter(|_| invites) {
            drop(lent.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    async fn take(&self) {
        self.fill().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_backend::Place as _;

    #[tokio::test]
    async fn whoever_waits_makes_room_and_comes_back_behind_those_who_are_there() {
        let room = Arc::new(Semaphore::new(1));
        let begun = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&begun).acquire_owned().await.expect("room");
        let lent: Lent = Arc::new(Mutex::new(Some(permit)));
        let place = Place::taken(&Rooms::of_role(Arc::clone(&room)), Some(lent)).await;
        assert_eq!((room.available_permits(), begun.available_permits()), (0, 0));
        place.leave(false);
        assert_eq!((room.available_permits(), begun.available_permits()), (1, 0));
        place.leave(true);
        assert_eq!((room.available_permits(), begun.available_permits()), (1, 1));
        let other = Arc::clone(&room).acquire_owned().await.expect("room");
        let back = tokio::spawn({
            let place = Arc::clone(&place);
            async move { place.take().await }
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
        let place = Place::taken(&Rooms::of_role(Arc::clone(&room)), None).await;
        place.leave(false);
        place.leave(false);
        assert_eq!(room.available_permits(), 1);
        tokio::join!(place.take(), place.take(), place.take());
        assert_eq!(room.available_permits(), 0);
        drop(place);
        assert_eq!(room.available_permits(), 1);
    }

    #[tokio::test]
    async fn who_is_given_up_while_it_waits_keeps_no_room() {
        let of_task = Some(Semaphore::new(1));
        let rooms = Arc::new(Rooms { of_task, of_role: Arc::new(Semaphore::new(0)), shown: None });
        tokio::select! {
            biased;
            _ = Place::taken(&rooms, None) => panic!("there is no room"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(rooms.of_task.as_ref().map(Semaphore::available_permits), Some(1));
    }
}
