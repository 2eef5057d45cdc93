//! Calls of a component by samples that do not wait for each other: those that come while it is busy are made
//! together, off the async runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Most items of one call.
const MAX_BATCH_CALLS: usize = 32;

/// Gathers the calls of one function of a component.
pub(crate) struct CallCoalescer<T, R> {
    shared: Arc<CoalescerState<T, R>>,
}

struct CoalescerState<T, R> {
    call: Box<dyn Fn(&[T]) -> Vec<R> + Send + Sync>,
    /// Most calls at the same time.
    most_running: usize,
    queue: Mutex<CallQueue<T, R>>,
}

struct CallQueue<T, R> {
    waiting: Vec<(T, oneshot::Sender<R>)>,
    running: usize,
}

impl<T: Send + 'static, R: Send + 'static> CallCoalescer<T, R> {
    /// `call` gives a result for each item, in order, and a result depends on its item alone.
    pub(crate) fn new(
        most_running: usize,
        call: impl Fn(&[T]) -> Vec<R> + Send + Sync + 'static,
    ) -> CallCoalescer<T, R> {
        let queue = Mutex::new(CallQueue { waiting: Vec::new(), running: 0 });
        CallCoalescer { shared: Arc::new(CoalescerState { call: Box::new(call), most_running, queue }) }
    }

    /// The result for an item; none where the call panicked.
    pub(crate) async fn call(&self, item: T) -> Option<R> {
        let (sender, receiver) = oneshot::channel();
        let begins = {
            let mut queue = self.shared.lock();
            queue.waiting.push((item, sender));
            let begins = queue.running < self.shared.most_running.max(1);
            queue.running += usize::from(begins);
            begins
        };
        if begins {
            let shared = Arc::clone(&self.shared);
            tokio::task::spawn_blocking(move || shared.work());
        }
        receiver.await.ok()
    }
}

impl<T, R> CoalescerState<T, R> {
    fn lock(&self) -> std::sync::MutexGuard<'_, CallQueue<T, R>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes calls until nobody waits.
    fn work(&self) {
        loop {
            let (items, senders): (Vec<T>, Vec<oneshot::Sender<R>>) = {
                let mut queue = self.lock();
                let count = queue.waiting.len().min(MAX_BATCH_CALLS);
                if count == 0 {
                    // In one with the look at the queue, so that nobody is left behind.
                    queue.running = queue.running.saturating_sub(1);
                    return;
                }
                queue.waiting.drain(..count).unzip()
            };
            // Those of a call that panics are told so by their senders' end; the others have their turn.
            let results = catch_unwind(AssertUnwindSafe(|| (self.call)(&items))).unwrap_or_default();
            for (sender, result) in senders.into_iter().zip(results) {
                // Who does not wait any more was stopped.
                drop(sender.send(result));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn each_item_gets_its_own_result_and_few_calls_are_made_at_once() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
        let gathering = Arc::new(CallCoalescer::new(2, move |items: &[usize]| {
            assert!(items.len() <= MAX_BATCH_CALLS);
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let results = items.iter().map(|item| item * 2).collect();
            now.fetch_sub(1, Ordering::SeqCst);
            results
        }));
        let calls = (0..5_000).map(|item| {
            let gathering = Arc::clone(&gathering);
            tokio::spawn(async move { (item, gathering.call(item).await) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (item, result) = call.await.expect("it ends");
            assert_eq!(result, Some(item * 2));
        }
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(running.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_call_that_panics_keeps_nobody_waiting() {
        let gathering = CallCoalescer::new(1, |items: &[usize]| {
            assert!(!items.contains(&7), "seven");
            items.to_vec()
        });
        assert_eq!(gathering.call(7).await, None);
        assert_eq!(gathering.call(1).await, Some(1));
    }
}
