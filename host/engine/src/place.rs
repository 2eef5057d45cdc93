//! The place of a request among those in flight. A request that waits to be sent again is not in flight, and
//! has none meanwhile.

use crate::active::ActiveTask;
use crate::progress::{InFlight, Progress};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit of the sample that a request is for. It is given back when the request waits for the first time, so
/// that another sample can begin.
pub(crate) type Lent = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// Room for a request, for as long as it lives, but for the time in which it waits.
pub(crate) struct Place {
    /// What bounds requests, in the order in which room is taken.
    rooms: Vec<Arc<Semaphore>>,
    shown: Option<(Arc<dyn Progress>, Arc<ActiveTask>)>,
    lent: Option<Lent>,
    taken: Mutex<Option<Taken>>,
}

struct Taken {
    /// Dropped first: whoever gets the room counts after this one.
    _in_flight: Option<InFlight>,
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Place {
    /// Waits for room; what is `shown` is told while the request is in flight.
    pub(crate) async fn taken(
        rooms: Vec<Arc<Semaphore>>,
        shown: Option<(Arc<dyn Progress>, Arc<ActiveTask>)>,
        lent: Option<Lent>,
    ) -> Arc<Place> {
        let place = Arc::new(Place { rooms, shown, lent, taken: Mutex::default() });
        place.fill().await;
        place
    }

    async fn fill(&self) {
        let mut permits = Vec::with_capacity(self.rooms.len());
        for room in &self.rooms {
            // The semaphores are never closed.
            permits.extend(Arc::clone(room).acquire_owned().await);
        }
        let begin = |(progress, task): &(_, _)| InFlight::begin(Arc::clone(progress), Arc::clone(task));
        let taken = Taken { _in_flight: self.shown.as_ref().map(begin), _permits: permits };
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }
}

#[async_trait]
impl gage_backend::Place for Place {
    fn leave(&self, invites: bool) {
        drop(self.taken.lock().unwrap_or_else(PoisonError::into_inner).take());
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
        let place = Place::taken(vec![Arc::clone(&room)], None, Some(lent)).await;
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
}
