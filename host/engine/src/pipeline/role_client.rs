//! The client of a role: acquires the permits of a request, asks the backend, accounts for the reply's usage, and ends the
//! run on fatal errors. Every request of the engine goes through it. A component asks through its grant of `llm`
//! (`gage_backend::RoleModels`).

use super::task_state::TaskState;
use crate::limits::permits::{RequestPermits, RequestSlot, RolePermits, SampleSlot};
use crate::sample::failure::StepError;
use crate::session::Session;
use gage_backend::{Backend, BackendError, EmbedOutput, Reply, RequestTiming, cancellable, with_slot};
use gage_config::RoleAdapterSpec;
use gage_core::{ModelOutput, Usage};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A role with its backend and its request permits.
pub(crate) struct RoleClient {
    backend_id: String,
    backend: Arc<dyn Backend>,
    permits: Arc<RequestPermits>,
}

/// The reply to a request of a role.
pub(crate) struct RoleReply<T> {
    pub(crate) output: T,
    pub(crate) timing: RequestTiming,
    /// The time since the permits were acquired.
    pub(crate) spent: Duration,
}

/// The reason a request has no reply.
pub(crate) enum RoleError {
    /// The run is stopped, or the request waits for a batch. The sample gets no record.
    Stopped,
    /// The backend failed, after all attempts.
    Failed(BackendError),
}

impl From<RoleError> for StepError {
    fn from(error: RoleError) -> StepError {
        match error {
            RoleError::Stopped => StepError::Stopped,
            RoleError::Failed(error) => StepError::Failed(error.into()),
        }
    }
}

/// An output that carries its usage.
pub(crate) trait ReportsUsage {
    fn usage(&self) -> Option<Usage>;
}

impl ReportsUsage for ModelOutput {
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl ReportsUsage for EmbedOutput {
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl RoleClient {
    /// Creates the client of a role without a per-task bound on requests. `None` if the role has no backend.
    pub(crate) fn for_role(
        role: &RoleAdapterSpec,
        session: &Session,
        permits: &RolePermits,
    ) -> Option<RoleClient> {
        let backend = Arc::clone(session.backend(&role.backend_id)?);
        let permits = RequestPermits::for_role(permits.semaphore_of(role, backend.as_ref()));
        Some(RoleClient::new(role, backend, permits))
    }

    pub(crate) fn new(
        role: &RoleAdapterSpec,
        backend: Arc<dyn Backend>,
        permits: Arc<RequestPermits>,
    ) -> RoleClient {
        RoleClient { backend_id: role.backend_id.clone(), backend, permits }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }

    /// Waits for the permits of a sample's first request. `None` if the task is stopped first.
    pub(crate) async fn first_slot(
        &self,
        task: &TaskState,
        sample_slot: Option<SampleSlot>,
        has_failed_before: bool,
    ) -> Option<Arc<RequestSlot>> {
        tokio::select! {
            biased;
            () = task.stop.cancelled() => None,
            slot = RequestSlot::acquire_new(&self.permits, sample_slot, has_failed_before) => Some(slot),
        }
    }

    /// Drives a backend request to its reply, in `slot` or in a slot of its own.
    pub(crate) async fn ask<T: ReportsUsage>(
        &self,
        task: &TaskState,
        slot: Option<Arc<RequestSlot>>,
        request: impl Future<Output = Result<Reply<T>, BackendError>>,
    ) -> Result<RoleReply<T>, RoleError> {
        let (reply, spent, slot) = self.send_request(task, slot, request).await?;
        let reply = self.finish_reply(task, reply, spent);
        // Release the slot only after the usage is counted, so that no request starts after a budget is exhausted.
        drop(slot);
        reply
    }

    /// Like `ask`, but with a time limit that starts when the permits are acquired. `None` if the limit is reached.
    pub(crate) async fn ask_within<T: ReportsUsage>(
        &self,
        task: &TaskState,
        slot: Option<Arc<RequestSlot>>,
        limit: Option<Duration>,
        request: impl Future<Output = Result<Reply<T>, BackendError>>,
    ) -> Result<Option<RoleReply<T>>, RoleError> {
        let (reply, spent, slot) = self.send_request(task, slot, within(limit, request)).await?;
        let reply = reply.map(|reply| self.finish_reply(task, reply, spent)).transpose();
        drop(slot);
        reply
    }

    /// Sends a request and waits for its reply. A stopped run waits only for requests that are in flight. It drops those
    /// that await a retry, and those to a model that shows no sign of life.
    async fn send_request<F: Future>(
        &self,
        task: &TaskState,
        slot: Option<Arc<RequestSlot>>,
        request: F,
    ) -> Result<(F::Output, Duration, Arc<RequestSlot>), RoleError> {
        let sent = async {
            let slot = match slot {
                Some(slot) => slot,
                // The sample already has paid answers, so a signal does not end this wait.
                None => {
                    task.unless_budget_exhausted(RequestSlot::acquire_new(&self.permits, None, false)).await?
                }
            };
            // After a shortage of the machine, the run ends, and no answer is paid for.
            if task.aborts_on_shortage() {
                return None;
            }
            let began = Instant::now();
            let reply = with_slot(Arc::clone(&slot) as _, request).await;
            Some((reply, began.elapsed(), slot))
        };
        let sent = cancellable(sent, task.stop.cancelled(), task.stop.aborted()).await;
        sent.flatten().ok_or(RoleError::Stopped)
    }

    /// Accounts for a reply. An error that would affect every further request ends the run.
    fn finish_reply<T: ReportsUsage>(
        &self,
        task: &TaskState,
        reply: Result<Reply<T>, BackendError>,
        spent: Duration,
    ) -> Result<RoleReply<T>, RoleError> {
        match reply {
            Ok(Reply { output, timing }) => {
                // A reply from a cache costs nothing.
                if timing.attempts > 0 {
                    task.budget.add_usage(&self.backend_id, output.usage(), &task.run_stop);
                }
                Ok(RoleReply { output, timing, spent })
            }
            // The shortage may be the reason, so the failure is no result of the sample.
            Err(_) if task.aborts_on_shortage() => Err(RoleError::Stopped),
            Err(error) if task.leaves_open(&error) => Err(RoleError::Stopped),
            Err(error) if task.stops_on(&self.backend_id, &error) => Err(RoleError::Stopped),
            Err(error) => Err(RoleError::Failed(error)),
        }
    }
}

/// Returns the output of `work`, or `None` if the time limit is reached.
pub(crate) async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}
