//! A request to stop, passed down to everything that may go on for long.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Why something is to end before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody asked for it, by a signal.
    Asked,
    /// A budget is used up: which one, in words.
    Budget(String),
    /// A sample failed where the suite says `fail_fast`: which one, in words.
    Failed(String),
    /// The model of a backend is gone, and cannot be had again.
    Lost {
        /// The backend.
        backend_id: String,
        /// What became of it, in words.
        message: String,
    },
    /// A backend refuses every request: what it says.
    Refused {
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
            StopReason::Asked | StopReason::Failed(_) => SOFT,
            StopReason::Budget(_) => SPENT,
            StopReason::Refused { .. } | StopReason::Lost { .. } => HARD,
        }
    }
}

/// Set by whoever wants the run, or one of its tasks, to end early: what is in flight is finished and
/// recorded, nothing new begins. Where a budget is used up, requests in flight are finished, and no further one of the same
/// sample is made. The first reason counts.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: AtomicU8,
    notify: Notify,
    reason: Mutex<Option<StopReason>>,
    /// Those that end with this one.
    children: Mutex<Vec<Weak<Inner>>>,
}

/// What is in flight is finished, with all requests that its samples still need.
const SOFT: u8 = 1;
/// Requests in flight are finished, and no further one is made.
const SPENT: u8 = 2;
/// What is in flight is given up.
const HARD: u8 = 3;

impl Stop {
    /// Asks for the end, because somebody wants it.
    pub fn set(&self) {
        self.set_for(&StopReason::Asked);
    }

    /// Asks for the end.
    pub fn set_for(&self, reason: &StopReason) {
        self.0.set(reason);
    }

    /// One that is set with this one, and can be set alone.
    #[must_use]
    pub fn child(&self) -> Stop {
        let child = Stop::default();
        lock(&self.0.children).push(Arc::downgrade(&child.0));
        // Set in between, it would not have known the child.
        if let Some(reason) = self.reason() {
            child.set_for(&reason);
        }
        child
    }

    /// Whether the end was asked for.
    pub fn is_set(&self) -> bool {
        self.0.state.load(Ordering::SeqCst) >= SOFT
    }

    /// Why, where the end was asked for.
    pub fn reason(&self) -> Option<StopReason> {
        lock(&self.0.reason).clone()
    }

    /// Waits until the end is asked for.
    pub async fn wait(&self) {
        self.0.reach(SOFT).await;
    }

    /// Waits until no further request may be made, not even of a sample that was begun.
    pub(crate) async fn wait_spent(&self) {
        self.0.reach(SPENT).await;
    }

    /// Waits until what is in flight is to be given up.
    pub(crate) async fn wait_hard(&self) {
        self.0.reach(HARD).await;
    }
}

impl Inner {
    fn set(&self, reason: &StopReason) {
        lock(&self.reason).get_or_insert_with(|| reason.clone());
        self.state.fetch_max(reason.state(), Ordering::SeqCst);
        self.notify.notify_waiters();
        let children = lock(&self.children).clone();
        children.iter().filter_map(Weak::upgrade).for_each(|child| child.set(reason));
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
        let run = Stop::default();
        let (first, second) = (run.child(), run.child());
        let failed = StopReason::Failed("q1".to_owned());
        first.set_for(&failed);
        assert!(first.is_set() && !run.is_set() && !second.is_set());
        run.set();
        assert_eq!((first.reason(), second.reason()), (Some(failed), Some(StopReason::Asked)));
        assert!(run.child().is_set());
    }

    #[tokio::test]
    async fn a_budget_allows_less_than_a_signal_and_a_refusal_nothing() {
        let stop = Stop::default();
        let is_over = async |over: &mut (dyn Future<Output = ()> + Unpin)| {
            tokio::select! { biased; () = over => true, () = std::future::ready(()) => false }
        };
        stop.set();
        stop.wait().await;
        let (mut spent, mut hard) = (Box::pin(stop.wait_spent()), Box::pin(stop.wait_hard()));
        assert!(!is_over(&mut spent).await && !is_over(&mut hard).await);
        stop.set_for(&StopReason::Budget("max_cost".to_owned()));
        assert!(is_over(&mut spent).await && !is_over(&mut hard).await);
        stop.set_for(&StopReason::Refused { backend_id: "b".to_owned(), message: "no".to_owned() });
        hard.await;
        assert_eq!(stop.reason(), Some(StopReason::Asked));
    }
}
