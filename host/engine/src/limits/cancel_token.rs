//! A request to stop, passed down to everything that may go on for long.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Why something is to end before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody asked for it, by a signal.
    Requested,
    /// A budget is used up: which one, in words.
    Budget(String),
    /// A sample failed where the suite says `fail_fast`: which one, in words.
    FailFast(String),
    /// The model of a backend is gone, and cannot be had again.
    ModelLost {
        /// The backend.
        backend_id: String,
        /// What became of it, in words.
        message: String,
    },
    /// A backend refuses every request: what it says.
    BackendRefused {
        /// The backend.
        backend_id: String,
        /// What it says, in words.
        message: String,
    },
}

impl StopReason {
    /// What is still done of what has begun.
    fn state(&self) -> u8 {
        match self {
            StopReason::Requested | StopReason::FailFast(_) => DRAIN,
            StopReason::Budget(_) => BUDGET_EXHAUSTED,
            StopReason::BackendRefused { .. } | StopReason::ModelLost { .. } => ABORT,
        }
    }
}

/// Set by whoever wants the run, or one of its tasks, to end early: what is in flight is finished and
/// recorded, nothing new begins. Where a budget is used up, requests in flight are finished, and no further one of the same
/// sample is made. The first reason counts.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    state: AtomicU8,
    notify: Notify,
    reason: Mutex<Option<StopReason>>,
    /// Those that end with this one.
    children: Mutex<Vec<Weak<CancelState>>>,
}

/// What is in flight is finished, with all requests that its samples still need.
const DRAIN: u8 = 1;
/// Requests in flight are finished, and no further one is made.
const BUDGET_EXHAUSTED: u8 = 2;
/// What is in flight is given up.
const ABORT: u8 = 3;

impl CancelToken {
    /// Asks for the end, because somebody wants it.
    pub fn cancel(&self) {
        self.cancel_for(&StopReason::Requested);
    }

    /// Asks for the end.
    pub fn cancel_for(&self, reason: &StopReason) {
        self.0.cancel(reason);
    }

    /// One that is set with this one, and can be set alone.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        let child = CancelToken::default();
        lock(&self.0.children).push(Arc::downgrade(&child.0));
        // Set in between, it would not have known the child.
        if let Some(reason) = self.reason() {
            child.cancel_for(&reason);
        }
        child
    }

    /// Whether the end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::SeqCst) >= DRAIN
    }

    /// Why, where the end was asked for.
    pub fn reason(&self) -> Option<StopReason> {
        lock(&self.0.reason).clone()
    }

    /// Waits until the end is asked for.
    pub async fn cancelled(&self) {
        self.0.reach(DRAIN).await;
    }

    /// Waits until no further request may be made, not even of a sample that was begun.
    pub(crate) async fn budget_exhausted(&self) {
        self.0.reach(BUDGET_EXHAUSTED).await;
    }

    /// Waits until what is in flight is to be given up.
    pub(crate) async fn aborted(&self) {
        self.0.reach(ABORT).await;
    }
}

impl CancelState {
    fn cancel(&self, reason: &StopReason) {
        lock(&self.reason).get_or_insert_with(|| reason.clone());
        self.state.fetch_max(reason.state(), Ordering::SeqCst);
        self.notify.notify_waiters();
        let children = lock(&self.children).clone();
        children.iter().filter_map(Weak::upgrade).for_each(|child| child.cancel(reason));
    }

    async fn reach(&self, state: u8) {
        loop {
            let notified = self.notify.notified();
            if self.state.load(Ordering::SeqCst) >= state {
                return;
            }
            notified.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_ends_with_its_run_and_not_the_other_way_round() {
        let run = CancelToken::default();
        let (first, second) = (run.child(), run.child());
        let failed = StopReason::FailFast("q1".to_owned());
        first.cancel_for(&failed);
        assert!(first.is_cancelled() && !run.is_cancelled() && !second.is_cancelled());
        run.cancel();
        assert_eq!((first.reason(), second.reason()), (Some(failed), Some(StopReason::Requested)));
        assert!(run.child().is_cancelled());
    }

    #[tokio::test]
    async fn a_budget_allows_less_than_a_signal_and_a_refusal_nothing() {
        let stop = CancelToken::default();
        let is_over = async |over: &mut (dyn Future<Output = ()> + Unpin)| {
            tokio::select! { biased; () = over => true, () = std::future::ready(()) => false }
        };
        stop.cancel();
        stop.cancelled().await;
        let (mut spent, mut hard) = (Box::pin(stop.budget_exhausted()), Box::pin(stop.aborted()));
        assert!(!is_over(&mut spent).await && !is_over(&mut hard).await);
        stop.cancel_for(&StopReason::Budget("max_cost".to_owned()));
        assert!(is_over(&mut spent).await && !is_over(&mut hard).await);
        stop.cancel_for(&StopReason::BackendRefused { backend_id: "b".to_owned(), message: "no".to_owned() });
        hard.await;
        assert_eq!(stop.reason(), Some(StopReason::Requested));
    }
}
