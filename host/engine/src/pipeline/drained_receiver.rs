//! A receiver that leaves nothing in its queue.

use std::ops::{Deref, DerefMut};
use tokio::sync::mpsc::Receiver;

/// The receiver of a thread. When it is dropped, all items in its queue are dropped too, and further ones are returned to
/// their senders.
///
/// A plain receiver may leave an item in the queue: one whose sender has reserved its place, and sends it after the drop. It
/// stays there until the last sender is gone, which may wait for a permit in this item.
pub(crate) struct DrainedReceiver<T>(pub(crate) Receiver<T>);

impl<T> Deref for DrainedReceiver<T> {
    type Target = Receiver<T>;

    fn deref(&self) -> &Receiver<T> {
        &self.0
    }
}

impl<T> DerefMut for DrainedReceiver<T> {
    fn deref_mut(&mut self) -> &mut Receiver<T> {
        &mut self.0
    }
}

impl<T> Drop for DrainedReceiver<T> {
    /// Must run outside of the async runtime.
    fn drop(&mut self) {
        self.0.close();
        // Waits for senders that have reserved a place.
        while self.0.blocking_recv().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::mpsc::channel;

    #[test]
    fn item_that_is_sent_after_the_end_is_dropped() {
        let (sender, receiver) = channel::<Arc<()>>(2);
        let (sent, reserved) = (Arc::new(()), Arc::new(()));
        sender.try_send(Arc::clone(&sent)).expect("a place");
        let place = sender.try_reserve().expect("a place");
        std::thread::scope(|threads| {
            let receiver = DrainedReceiver(receiver);
            threads.spawn(move || drop(receiver));
            while !sender.is_closed() {
                std::thread::yield_now();
            }
            place.send(Arc::clone(&reserved));
        });
        assert_eq!((Arc::strong_count(&sent), Arc::strong_count(&reserved)), (1, 1));
        assert!(sender.try_send(sent).is_err());
    }
}
