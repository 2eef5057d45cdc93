//! The state of a running task, shared by the threads of the run.

use crate::limits::budget::{BudgetTracker, is_failure};
use crate::limits::cancel_token::{CancelToken, StopReason};
use crate::plan::PlannedTask;
use gage_backend::{BackendError, BackendErrorKind};
use gage_config::FailurePolicy;
use gage_core::{Outcome, OutcomeCounts, ShortageWatch};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A running task: its plan, its results so far, and the tokens that end it.
pub(crate) struct TaskState {
    pub(crate) planned: Arc<PlannedTask>,
    /// Its id, and whether it has ended.
    pub(crate) marker: Arc<TaskMarker>,
    /// Ends this task. Cancelled together with the run's token.
    pub(crate) stop: CancelToken,
    /// Ends the run.
    pub(crate) run_stop: CancelToken,
    /// True if senders wait for the threads of the run.
    pub(crate) is_lockstep: bool,
    /// Usage of the run.
    pub(crate) budget: Arc<BudgetTracker>,
    /// True if a sample stays open because its request waits for a batch.
    awaits_batch: AtomicBool,
    /// Shortages of the machine since the run started.
    shortages: ShortageWatch,
    counts: Mutex<OutcomeCounts>,
    evaluation_ns: AtomicU64,
    has_scored_batch: AtomicBool,
}

/// The id of a task, and whether all its samples are recorded.
pub(crate) struct TaskMarker {
    pub(crate) id: Arc<str>,
    has_ended: AtomicBool,
}

impl TaskMarker {
    pub(crate) fn new(id: &str) -> TaskMarker {
        TaskMarker { id: id.into(), has_ended: AtomicBool::new(false) }
    }

    /// Notes that all samples of the task are recorded.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Returns whether all samples of the task are recorded.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

impl TaskState {
    pub(crate) fn new(
        planned: &Arc<PlannedTask>,
        run_stop: &CancelToken,
        budget: &Arc<BudgetTracker>,
        is_lockstep: bool,
        shortages: ShortageWatch,
    ) -> TaskState {
        TaskState {
            planned: Arc::clone(planned),
            marker: Arc::new(TaskMarker::new(&planned.spec.task_id)),
            stop: run_stop.child(),
            run_stop: run_stop.clone(),
            is_lockstep,
            budget: Arc::clone(budget),
            awaits_batch: AtomicBool::new(false),
            shortages,
            counts: Mutex::default(),
            evaluation_ns: AtomicU64::new(0),
            has_scored_batch: AtomicBool::new(false),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.planned.spec.task_id
    }

    /// Counts a sample that is finished and recorded.
    pub(crate) fn on_recorded(&self, outcome: Outcome) {
        self.counts.lock().add(outcome);
    }

    /// Handles a finished sample. A failure counts before it is recorded, because the next samples do not wait for the disk.
    pub(crate) fn on_finished(&self, outcome: Outcome, sample_id: &str) {
        if !is_failure(outcome) {
            return;
        }
        self.budget.add_failure(&self.run_stop);
        if self.planned.spec.failure_policy == FailurePolicy::FailFast {
            let reason = StopReason::FailFast(format!("{}: {sample_id} ended as {outcome}", self.id()));
            if self.planned.ends_run {
                self.run_stop.cancel_for(&reason)
            } else {
                self.stop.cancel_for(&reason)
            }
        }
    }

    /// Awaits `work`, such as a permit for the next request of a sample. `None` if a budget is exhausted first.
    pub(crate) async fn unless_budget_exhausted<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stop.budget_exhausted() => None,
            output = work => Some(output),
        }
    }

    /// Aborts the run if a shortage of the machine was reported. Returns true if so.
    pub(crate) fn aborts_on_shortage(&self) -> bool {
        let is_short = self.shortages.shortage().is_some();
        if is_short {
            self.run_stop.abort();
        }
        is_short
    }

    /// Returns the outcome counts of the recorded samples.
    pub(crate) fn counts(&self) -> OutcomeCounts {
        *self.counts.lock()
    }

    /// Adds time spent on scoring.
    pub(crate) fn add_evaluation_time(&self, spent: Duration) {
        let nanoseconds = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        self.evaluation_ns.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Notes that a batch was scored. Previews of its scores are not needed any more.
    pub(crate) fn on_batch_scored(&self) {
        self.has_scored_batch.store(true, Ordering::Release);
    }

    /// Returns whether this process has scored a batch.
    pub(crate) fn has_scored_batch(&self) -> bool {
        self.has_scored_batch.load(Ordering::Acquire)
    }

    /// Returns the time spent on scoring, summed over all threads.
    pub(crate) fn evaluation_time(&self) -> Duration {
        Duration::from_nanos(self.evaluation_ns.load(Ordering::Relaxed))
    }

    /// Notes that a sample stays open if its request waits for a batch. Returns true if so.
    pub(crate) fn leaves_open(&self, error: &BackendError) -> bool {
        let is_open = error.kind == BackendErrorKind::AwaitsBatch;
        if is_open {
            self.awaits_batch.store(true, Ordering::Release);
        }
        is_open
    }

    /// Returns the reason that the task is cut off: that of its token, or the samples that wait for a batch.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        let awaits_batch = || self.awaits_batch.load(Ordering::Acquire).then_some(StopReason::AwaitsBatch);
        self.stop.reason().or_else(awaits_batch)
    }

    /// Ends the run if an error means that no further request can succeed. Returns true if so.
    pub(crate) fn stops_on(&self, backend_id: &str, error: &BackendError) -> bool {
        if error.kind == BackendErrorKind::RecordingFailed {
            // The recording has the error, and returns it when the run has ended.
            self.run_stop.abort();
        } else if error.kind.stops_run() {
            let (backend_id, message) = (backend_id.to_owned(), error.message.clone());
            self.run_stop.cancel_for(&match error.kind {
                BackendErrorKind::ModelLost => StopReason::ModelLost { backend_id, message },
                BackendErrorKind::ServerLost => StopReason::ServerLost { backend_id, message },
                _ => StopReason::BackendRefused { backend_id, message },
            });
        }
        error.kind.stops_run()
    }
}
