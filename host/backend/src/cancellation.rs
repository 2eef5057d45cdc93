//! Cancellation of requests that are only waiting, so that stopping a run need not wait for them.
//!
//! A backend marks the time in which a request is not in flight: a pause before a retry, a place in a queue, or the
//! silence of a model that may hang. During that time the driver of the request can cancel it without losing anything.
//! During a pause, other requests can use its slot.
//!
//! `tokio-util`'s `CancellationToken` cancels a request at any await point. Here a request must be cancelled only while
//! it waits, and lend its slot in the meantime.

use async_trait::async_trait;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

tokio::task_local! {
    /// Number of waits that the request is in.
    static WAITS: Cell<u32>;
    /// Slot that the request holds while in flight.
    static SLOT: Arc<dyn RequestSlot>;
}

/// Slot of a request among those in flight.
#[async_trait]
pub trait RequestSlot: Send + Sync {
    /// Frees the slot for requests that have already started and, if `invites`, also for new ones.
    fn release(&self, invites: bool);

    /// Waits until a slot is free again.
    async fn reacquire(&self);

    /// Returns true if an earlier process recorded that the backend failed on this request.
    fn has_failed_before(&self) -> bool {
        false
    }
}

/// Drives a request that holds a slot.
pub fn with_slot<F: Future>(slot: Arc<dyn RequestSlot>, request: F) -> impl Future<Output = F::Output> {
    SLOT.scope(slot, request)
}

/// Awaits a pause before a retry. The slot is free during the pause and reacquired afterwards.
///
/// `invites` is true if a new request may start in the slot, and false if it would be refused as well.
pub async fn retry_pause<P: Future>(pause: P, invites: bool) -> P::Output {
    let _mark = WaitGuard::set();
    // Outside of a run, a request has no slot.
    let slot = SLOT.try_with(Arc::clone).ok();
    if let Some(slot) = &slot {
        slot.release(invites);
    }
    let output = pause.await;
    if let Some(slot) = slot {
        slot.reacquire().await;
    }
    output
}

/// Returns true if an earlier process recorded that the backend failed on the current request.
pub(crate) fn has_failed_before() -> bool {
    SLOT.try_with(|slot| slot.has_failed_before()).unwrap_or(false)
}

/// Guard that marks the request of this task as waiting while it lives.
struct WaitGuard;

impl WaitGuard {
    fn set() -> WaitGuard {
        change_waits(1);
        WaitGuard
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        change_waits(-1);
    }
}

/// Adjusts the number of waits. Does nothing outside of a request.
fn change_waits(change: i32) {
    let _ = WAITS.try_with(|waits| waits.set(waits.get().saturating_add_signed(change)));
}

/// Awaits a future during which the request is not in flight.
pub async fn waiting<F: Future>(future: F) -> F::Output {
    let _mark = WaitGuard::set();
    future.await
}

/// Lets the driver of the request cancel it, even if no wait follows.
pub(crate) async fn cancellation_point() {
    waiting(tokio::task::yield_now()).await;
}

/// Drives a request to completion unless it is cancelled, which returns `None`.
///
/// Once `stopping` completes, the request is cancelled as soon as it only waits. Once `stopped` completes too, it is
/// cancelled wherever it is.
pub fn cancellable<F: Future>(
    request: F,
    stopping: impl Future<Output = ()>,
    stopped: impl Future<Output = ()>,
) -> impl Future<Output = Option<F::Output>> {
    // Boxed, because otherwise the future would hold it twice: as the argument and as the pinned value.
    let mut request = Box::pin(request);
    let driven = async move {
        let (mut stopping, mut stopped) = (pin!(stopping), pin!(stopped));
        let mut is_stopping = false;
        poll_fn(|context| {
            if let Poll::Ready(output) = request.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            is_stopping = is_stopping || stopping.as_mut().poll(context).is_ready();
            if !is_stopping {
                return Poll::Pending;
            }
            let waits = WAITS.with(Cell::get) > 0;
            if waits || stopped.as_mut().poll(context).is_ready() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    };
    WAITS.scope(Cell::new(0), driven)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::sync::Mutex;
    use std::time::Duration;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_only_waits_is_given_up_and_what_is_in_flight_is_not() {
        let waits = waiting(pending::<()>());
        assert_eq!(cancellable(waits, ready(()), pending()).await, None);

        let (sender, receiver) = oneshot::channel::<u8>();
        let in_flight = async {
            waiting(ready(())).await;
            sender.send(7).ok();
            receiver.await.ok()
        };
        assert_eq!(cancellable(in_flight, ready(()), pending()).await, Some(Some(7)));
        assert_eq!(cancellable(pending::<()>(), ready(()), ready(())).await, None);
        assert_eq!(cancellable(ready(1), pending(), pending()).await, Some(1));
    }

    /// Counts how often the slot was released and reacquired.
    #[derive(Default)]
    struct CountedSlot(Mutex<Vec<&'static str>>);

    #[async_trait]
    impl RequestSlot for CountedSlot {
        fn release(&self, invites: bool) {
            self.0.lock().expect("no panic").push(if invites { "left" } else { "lent" });
        }

        async fn reacquire(&self) {
            self.0.lock().expect("no panic").push("taken");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn others_have_the_place_of_a_request_that_pauses() {
        let slot = Arc::new(CountedSlot::default());
        let request = with_slot(Arc::clone(&slot) as Arc<dyn RequestSlot>, async {
            waiting(ready(())).await;
            retry_pause(tokio::time::sleep(Duration::from_secs(1)), true).await;
            7
        });
        assert_eq!(cancellable(request, pending(), pending()).await, Some(7));
        assert_eq!(*slot.0.lock().expect("no panic"), ["left", "taken"]);
        let given_up = with_slot(
            Arc::clone(&slot) as Arc<dyn RequestSlot>,
            retry_pause(tokio::time::sleep(Duration::from_secs(1)), false),
        );
        assert_eq!(cancellable(given_up, ready(()), pending()).await, None);
        assert_eq!(*slot.0.lock().expect("no panic"), ["left", "taken", "lent"]);
        retry_pause(tokio::time::sleep(Duration::from_secs(1)), true).await;
    }

    #[tokio::test]
    async fn cancellation_point_needs_no_wait() {
        let request = async {
            waiting(ready(())).await;
            cancellation_point().await;
            7
        };
        assert_eq!(cancellable(request, ready(()), pending()).await, None);
        assert_eq!(cancellable(cancellation_point(), pending(), pending()).await, Some(()));
    }

    #[tokio::test]
    async fn a_request_that_begins_to_wait_after_the_stop_is_given_up_too() {
        let (sender, receiver) = oneshot::channel::<()>();
        let request = async {
            receiver.await.ok();
            waiting(pending::<()>()).await;
        };
        let driven = tokio::spawn(cancellable(request, ready(()), pending()));
        sender.send(()).expect("it is awaited");
        assert_eq!(driven.await.expect("no panic"), None);
    }
}
