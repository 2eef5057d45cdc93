//! The cancellation of a run or of one of its tasks, with its reason. `tokio_util` supplies the tokens; this module adds the
//! reason and the three stages that a reason reaches.

use parking_lot::Mutex;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The reason a run or a task ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A signal requested cancellation.
    Requested,
    /// A budget is exhausted. Describes which one.
    Budget(String),
    /// A sample failed and the suite sets `fail_fast`. Describes which one.
    FailFast(String),
    /// Requests wait for the results of their batch. The other samples were finished.
    AwaitsBatch,
    /// The model of a backend is gone and cannot be reloaded.
    ModelLost {
        /// The backend.
        backend_id: String,
        /// Description of the failure.
        message: String,
    },
    /// The server of a backend answers nothing, and may answer later.
    ServerLost {
        /// The backend.
        backend_id: String,
        /// Description of the failure.
        message: String,
    },
    /// A backend refuses every request.
    BackendRefused {
        /// The backend.
        backend_id: String,
        /// The backend's message.
        message: String,
    },
}

/// Ends a run, or one of its tasks, early. Samples in flight are finished and recorded, and no new one starts. When a budget
/// is exhausted, requests in flight are finished, but their samples make no further request. Requests that only wait are
/// dropped, as are those of a model that shows no sign of life (`gage_backend::cancellable`). The first reason is kept.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    /// Samples in flight are finished, including all requests they still need.
    drain: CancellationToken,
    /// Requests in flight are finished, and no further request is made.
    budget_exhausted: CancellationToken,
    /// Requests in flight are aborted.
    abort: CancellationToken,
    reason: Mutex<Option<StopReason>>,
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// Cancels because a signal requested it.
    pub fn cancel(&self) {
        self.cancel_for(&StopReason::Requested);
    }

    /// Cancels because nothing can be recorded any more. Requests in flight are aborted.
    pub(crate) fn abort(&self) {
        self.0.keep_reason(&StopReason::Requested);
        let CancelState { drain, budget_exhausted, abort, .. } = &*self.0;
        [abort, budget_exhausted, drain].iter().for_each(|stage| stage.cancel());
    }

    /// Cancels for a reason. An earlier reason is kept, but a later one may still reach a later stage.
    pub fn cancel_for(&self, reason: &StopReason) {
        self.0.keep_reason(reason);
        let CancelState { drain, budget_exhausted, abort, .. } = &*self.0;
        let stages: &[&CancellationToken] = match reason {
            StopReason::Requested | StopReason::FailFast(_) | StopReason::AwaitsBatch => &[drain],
            StopReason::Budget(_) => &[budget_exhausted, drain],
            StopReason::BackendRefused { .. }
            | StopReason::ModelLost { .. }
            | StopReason::ServerLost { .. } => &[abort, budget_exhausted, drain],
        };
        // The last stage comes first, because code that sees an early stage may check for a later one.
        stages.iter().for_each(|stage| stage.cancel());
    }

    /// Returns a token that is cancelled together with this one, and can also be cancelled alone.
    #[must_use]
    pub fn child(&self) -> CancelToken {
        CancelToken(Arc::new(CancelState {
            drain: self.0.drain.child_token(),
            budget_exhausted: self.0.budget_exhausted.child_token(),
            abort: self.0.abort.child_token(),
            reason: Mutex::default(),
            parent: Some(self.clone()),
        }))
    }

    /// Returns true if cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.drain.is_cancelled()
    }

    /// Returns the reason for the cancellation.
    pub fn reason(&self) -> Option<StopReason> {
        self.0.reason()
    }

    /// Waits until cancellation is requested.
    pub async fn cancelled(&self) {
        self.0.drain.cancelled().await;
    }

    /// Waits until no further request may be made, not even for a sample in flight.
    pub(crate) async fn budget_exhausted(&self) {
        self.0.budget_exhausted.cancelled().await;
    }

    /// Waits until requests in flight are to be aborted.
    pub(crate) async fn aborted(&self) {
        self.0.abort.cancelled().await;
    }
}

impl CancelState {
    /// Returns the token's own reason, or its parent's.
    fn reason(&self) -> Option<StopReason> {
        let own = self.reason.lock().clone();
        own.or_else(|| self.parent.as_ref()?.reason())
    }

    fn keep_reason(&self, reason: &StopReason) {
        let mut own = self.reason.lock();
        let first = || self.parent.as_ref().and_then(CancelToken::reason).unwrap_or_else(|| reason.clone());
        own.get_or_insert_with(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn fail_fast() -> StopReason {
        StopReason::FailFast("q1".to_owned())
    }

    fn refused() -> StopReason {
        StopReason::BackendRefused { backend_id: "b".to_owned(), message: "no".to_owned() }
    }

    /// Returns whether each stage has been reached: drain, budget exhausted, abort.
    fn stages(token: &CancelToken) -> [bool; 3] {
        let drain = token.cancelled().now_or_never().is_some();
        assert_eq!(drain, token.is_cancelled());
        [drain, token.budget_exhausted().now_or_never().is_some(), token.aborted().now_or_never().is_some()]
    }

    #[test]
    fn a_task_ends_with_its_run_but_not_the_run_with_its_task() {
        let run = CancelToken::default();
        let (first, second) = (run.child(), run.child());
        first.cancel_for(&fail_fast());
        assert!(first.is_cancelled() && !run.is_cancelled() && !second.is_cancelled());
        run.cancel();
        assert_eq!((first.reason(), second.reason()), (Some(fail_fast()), Some(StopReason::Requested)));
        assert_eq!(run.child().reason(), Some(StopReason::Requested), "also one that is made afterwards");
    }

    #[test]
    fn each_reason_reaches_its_stage_in_a_run_and_its_tasks() {
        let lost = StopReason::ModelLost { backend_id: "b".to_owned(), message: "gone".to_owned() };
        for (reason, expected) in [
            (StopReason::Requested, [true, false, false]),
            (fail_fast(), [true, false, false]),
            (StopReason::Budget("max_cost".to_owned()), [true, true, false]),
            (lost, [true, true, true]),
            (StopReason::ServerLost { backend_id: "b".to_owned(), message: "gone".to_owned() }, [true; 3]),
            (refused(), [true, true, true]),
        ] {
            let run = CancelToken::default();
            let task = run.child();
            assert_eq!((stages(&run), run.reason()), ([false; 3], None));
            run.cancel_for(&reason);
            for token in [&run, &task, &run.child()] {
                assert_eq!((stages(token), token.reason()), (expected, Some(reason.clone())));
            }
        }
    }

    #[test]
    fn a_later_reason_reaches_its_stage_and_leaves_the_first_reason() {
        let token = CancelToken::default();
        token.cancel();
        token.cancel_for(&StopReason::Budget("max_cost".to_owned()));
        assert_eq!(stages(&token), [true, true, false]);
        token.cancel_for(&refused());
        assert_eq!((stages(&token), token.reason()), ([true; 3], Some(StopReason::Requested)));
    }

    #[test]
    fn abort_reaches_every_stage_and_keeps_the_first_reason() {
        let token = CancelToken::default();
        let task = token.child();
        token.abort();
        assert_eq!((stages(&task), task.reason()), ([true; 3], Some(StopReason::Requested)));
        let token = CancelToken::default();
        token.cancel_for(&StopReason::Budget("max_cost".to_owned()));
        token.abort();
        let reason = StopReason::Budget("max_cost".to_owned());
        assert_eq!((stages(&token), token.reason()), ([true; 3], Some(reason)));
    }

    #[test]
    fn a_task_of_a_cancelled_run_keeps_the_reason_of_the_run() {
        let run = CancelToken::default();
        let task = run.child();
        run.cancel();
        task.cancel_for(&refused());
        assert_eq!((stages(&task), task.reason()), ([true; 3], Some(StopReason::Requested)));
        assert_eq!(stages(&run), [true, false, false], "the run goes on draining");
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_token_is_cancelled() {
        let token = CancelToken::default();
        let waiting = tokio::spawn({
            let token = token.child();
            async move { token.aborted().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        token.cancel_for(&refused());
        waiting.await.expect("no panic");
    }
}
