//! The permits of a run: every semaphore of the engine that bounds samples or requests, and the order in which code
//! acquires them.
//!
//! | permit | bounds | acquired by | released |
//! | --- | --- | --- | --- |
//! | `unscored` | samples of a task whose scores are not in the journal yet | the dispatcher, before it takes a row | when the scores are in the journal, or the row ended without an answer |
//! | `in_flight` | samples of a task between the reader and the journal | the dispatcher, after `unscored` | on handover to the next row, at the request's first wait, before a wait for a full queue, or when the sample is in the journal |
//! | `of_task` | requests in flight of the role under test, in one task | `RequestSlot`, for each request | when the reply is accounted for; during every wait for a retry |
//! | `of_role` | requests in flight of a role, in all tasks of the run | `RequestSlot`, after `of_task` | together with `of_task` |
//! | `unsynced` | samples of a task that only wait for the disk; a long answer takes several | the result router, before it hands an item to the recorder | when the recorder has synced the journal |
//!
//! A sample acquires them in this order, and never waits for one while it holds a later one, so waits cannot form a
//! cycle. `docs/contributing/scheduler.md` explains each permit and its size. `RequestSlot` releases request permits,
//! `ResultRouter` those held at full queues, and the recorder those of synced items. Backends also bound requests per HTTP
//! host (`host_limiter`), and per role that components ask (`gage_backend::RoleModels`).

mod drainable_semaphore;
mod request_slot;

pub(crate) use drainable_semaphore::DrainableSemaphore;
pub(crate) use request_slot::{RequestSlot, SampleSlot};

use crate::progress::Progress;
use gage_backend::Backend;
use gage_config::{LoopMode, RoleAdapterSpec};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Answers that may wait for a slow neighbour, per request in flight. A hanging request takes as long as hundreds of
/// others, and one in a hundred is enough to delay every third batch.
const UNSCORED_PER_REQUEST: usize = 16;
/// Bounds of that number for a task with few or very many requests in flight. The lower bound is 16 batches.
const UNSCORED_RANGE: RangeInclusive<usize> = 512..=8_192;

/// The permits of the samples of one task.
pub(crate) struct SamplePermits {
    /// Bounds the samples between the reader and the journal.
    pub(crate) in_flight: DrainableSemaphore,
    /// Bounds the samples whose scores are not in the journal yet. A whole batch fits, because rows start in order.
    pub(crate) unscored: DrainableSemaphore,
    /// Bounds the samples that only wait for the disk. `None` if the task bounds its samples in flight: each sample then keeps
    /// its `in_flight` permit until it is in the journal.
    pub(crate) unsynced: Option<DrainableSemaphore>,
}

impl SamplePermits {
    /// Creates the permits of a task with `concurrency` requests in flight. The suite sets the task's mode and `max_inflight`.
    pub(crate) fn new(mode: LoopMode, max_inflight: Option<usize>, concurrency: usize) -> SamplePermits {
        let in_flight = match mode {
            LoopMode::Sequential => 1,
            LoopMode::FireAndForget => max_inflight.unwrap_or(concurrency.saturating_mul(2)).max(1),
        };
        let is_bounded = mode == LoopMode::Sequential || max_inflight.is_some();
        let waiting = concurrency
            .saturating_mul(UNSCORED_PER_REQUEST)
            .clamp(*UNSCORED_RANGE.start(), *UNSCORED_RANGE.end());
        SamplePermits {
            in_flight: DrainableSemaphore::new(in_flight),
            unscored: DrainableSemaphore::new(in_flight.saturating_add(waiting)),
            unsynced: (!is_bounded).then(|| DrainableSemaphore::new(waiting)),
        }
    }

    /// Waits until every permit is returned: by then, all of the task is in the journal.
    pub(crate) async fn drained(&self) {
        self.in_flight.drained().await;
        if let Some(unsynced) = &self.unsynced {
            unsynced.drained().await;
        }
        self.unscored.drained().await;
    }
}

/// The request permits of every role, shared by all tasks.
pub(crate) struct RolePermits {
    concurrency: usize,
    by_role: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl RolePermits {
    pub(crate) fn new(concurrency: usize) -> RolePermits {
        RolePermits { concurrency, by_role: Mutex::default() }
    }

    /// Returns the permits of a role: the minimum of the run's, the backend's and the role's limits.
    pub(crate) fn semaphore_of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> Arc<Semaphore> {
        let size = self.concurrency_of(role, backend);
        let mut by_role = self.by_role.lock();
        let permits = by_role.entry(role.adapter_id.clone());
        Arc::clone(permits.or_insert_with(|| Arc::new(Semaphore::new(size))))
    }

    /// Returns the maximum number of requests of a role in flight.
    pub(crate) fn concurrency_of(&self, role: &RoleAdapterSpec, backend: &dyn Backend) -> usize {
        let most = self.concurrency.min(backend.info().max_concurrency);
        most.min(role.pool_size.unwrap_or(usize::MAX)).max(1)
    }
}

/// The permits that a request of a role needs.
pub(crate) struct RequestPermits {
    /// Bounds the requests of one task, if the task has a bound.
    pub(crate) of_task: Option<Semaphore>,
    /// Bounds the requests of all tasks.
    pub(crate) of_role: Arc<Semaphore>,
    /// The reporter of a task's requests in flight, and the task's id.
    pub(crate) reporter: Option<(Arc<dyn Progress>, String)>,
}

impl RequestPermits {
    /// Creates the permits of a role without a per-task bound, whose requests are not reported.
    pub(crate) fn for_role(of_role: Arc<Semaphore>) -> Arc<RequestPermits> {
        Arc::new(RequestPermits { of_task: None, of_role, reporter: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_permits_follow_the_mode_and_the_bounds() {
        for (mode, max_inflight, concurrency, in_flight, unscored, unsynced) in [
            (LoopMode::Sequential, None, 8, 1, 1 + 512, None),
            (LoopMode::Sequential, Some(4), 8, 1, 1 + 512, None),
            (LoopMode::FireAndForget, None, 8, 16, 16 + 512, Some(512)),
            (LoopMode::FireAndForget, None, 64, 128, 128 + 1_024, Some(1_024)),
            (LoopMode::FireAndForget, None, 10_000, 20_000, 20_000 + 8_192, Some(8_192)),
            (LoopMode::FireAndForget, Some(5), 8, 5, 5 + 512, None),
            (LoopMode::FireAndForget, Some(0), 8, 1, 1 + 512, None),
        ] {
            let permits = SamplePermits::new(mode, max_inflight, concurrency);
            let sizes = (
                permits.in_flight.available(),
                permits.unscored.available(),
                permits.unsynced.as_ref().map(DrainableSemaphore::available),
            );
            assert_eq!(sizes, (in_flight, unscored, unsynced), "{mode:?} {max_inflight:?} {concurrency}");
        }
    }
}
