//! Coalescer of component calls: batches the calls that arrive while the component is busy, and runs them off the async
//! runtime.

use gage_observe::{SampleScope, in_sample_scope};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Maximum number of items in one call.
const MAX_BATCH_CALLS: usize = 64;

/// Coalesces the calls of one component function. A caller that is dropped leaves the others undisturbed.
pub struct CallCoalescer<T, R> {
    shared: Arc<CoalescerState<T, R>>,
}

struct CoalescerState<T, R> {
    call: Box<dyn Fn(&[T]) -> Vec<R> + Send + Sync>,
    /// Maximum number of concurrent calls.
    max_running: usize,
    queue: Mutex<CallQueue<T, R>>,
}

/// An item waiting for its call, with the scope of its sample.
struct PendingCall<T, R> {
    item: T,
    reply: oneshot::Sender<R>,
    scope: Option<SampleScope>,
}

struct CallQueue<T, R> {
    waiting: Vec<PendingCall<T, R>>,
    running: usize,
}

impl<T: Send + 'static, R: Send + 'static> CallCoalescer<T, R> {
    /// Makes at most `max_running` calls at a time. `call` returns a result for each item, in order. Each result must
    /// depend on its item alone.
    pub fn new(
        max_running: usize,
        call: impl Fn(&[T]) -> Vec<R> + Send + Sync + 'static,
    ) -> CallCoalescer<T, R> {
        let queue = Mutex::new(CallQueue { waiting: Vec::new(), running: 0 });
        CallCoalescer { shared: Arc::new(CoalescerState { call: Box::new(call), max_running, queue }) }
    }

    /// Returns the result for an item, or `None` if the call panicked. Must be called within a tokio runtime.
    pub async fn call(&self, item: T) -> Option<R> {
        let (sender, receiver) = oneshot::channel();
        let starts_worker = {
            let mut queue = self.shared.queue.lock();
            queue.waiting.push(PendingCall { item, reply: sender, scope: SampleScope::current() });
            let starts_worker = queue.running < self.shared.max_running.max(1);
            queue.running += usize::from(starts_worker);
            starts_worker
        };
        if starts_worker {
            let shared = Arc::clone(&self.shared);
            tokio::task::spawn_blocking(move || shared.run_calls());
        }
        receiver.await.ok()
    }
}

impl<T, R> CoalescerState<T, R> {
    /// Makes calls until the queue is empty.
    fn run_calls(&self) {
        loop {
            let calls: Vec<PendingCall<T, R>> = {
                let mut queue = self.queue.lock();
                let count = queue.waiting.len().min(MAX_BATCH_CALLS);
                if count == 0 {
                    // Update the count while the queue is locked, so that no call is missed.
                    queue.running = queue.running.saturating_sub(1);
                    return;
                }
                queue.waiting.drain(..count).collect()
            };
            // A call for several samples is logged in the scope of the first.
            let scope = calls.first().and_then(|first| first.scope.clone());
            let (items, senders): (Vec<T>, Vec<oneshot::Sender<R>>) =
                calls.into_iter().map(|call| (call.item, call.reply)).unzip();
            // If a call panics, dropping its senders notifies its callers. The remaining calls still run.
            let results = catch_unwind(AssertUnwindSafe(|| in_sample_scope(scope, || (self.call)(&items))))
                .unwrap_or_default();
            for (sender, result) in senders.into_iter().zip(results) {
                // A caller that no longer waits was stopped.
                drop(sender.send(result));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn each_item_gets_its_own_result_from_a_bounded_number_of_calls() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
        let coalescer = Arc::new(CallCoalescer::new(2, move |items: &[usize]| {
            assert!(items.len() <= MAX_BATCH_CALLS);
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let results = items.iter().map(|item| item * 2).collect();
            now.fetch_sub(1, Ordering::SeqCst);
            results
        }));
        let calls = (0..5_000).map(|item| {
            let coalescer = Arc::clone(&coalescer);
            tokio::spawn(async move { (item, coalescer.call(item).await) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (item, result) = call.await.expect("it ends");
            assert_eq!(result, Some(item * 2));
        }
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(running.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn calls_during_a_busy_component_are_coalesced() {
        let (began, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let coalescer = CallCoalescer::new(1, move |items: &[usize]| {
            began.send(items.len()).expect("the test listens");
            released.lock().recv().expect("the test releases every call");
            items.to_vec()
        });
        let mut first = pin!(coalescer.call(0));
        assert!(futures::poll!(first.as_mut()).is_pending());
        assert_eq!(has_begun.recv(), Ok(1));
        let mut others = pin!(join_all((1..=MAX_BATCH_CALLS + 8).map(|item| coalescer.call(item))));
        assert!(futures::poll!(others.as_mut()).is_pending());
        (0..3).for_each(|_| release.send(()).expect("the component waits"));
        assert_eq!(first.await, Some(0));
        let results: Vec<usize> = others.await.into_iter().flatten().collect();
        assert_eq!(results, (1..=MAX_BATCH_CALLS + 8).collect::<Vec<_>>());
        assert_eq!(has_begun.iter().take(2).collect::<Vec<_>>(), [MAX_BATCH_CALLS, 8]);
    }

    #[tokio::test]
    async fn a_component_that_gives_too_few_results_keeps_no_call_waiting() {
        let coalescer = CallCoalescer::new(1, |items: &[usize]| items.iter().skip(1).copied().collect());
        assert_eq!(coalescer.call(1).await, None);
    }

    #[tokio::test]
    async fn a_call_that_panics_keeps_no_call_waiting() {
        let coalescer = CallCoalescer::new(1, |items: &[usize]| {
            assert!(!items.contains(&7), "seven");
            items.to_vec()
        });
        assert_eq!(coalescer.call(7).await, None);
        assert_eq!(coalescer.call(1).await, Some(1));
    }
}
