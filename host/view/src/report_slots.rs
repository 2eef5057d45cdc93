//! Slots in which reports are written: a few at a time, and one for each run.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};

/// Maximum number of reports written at the same time; further ones wait. A report that waits for its reader does not
/// count.
const MAX_CONCURRENT_REPORTS: usize = 4;

/// The slots. A run has one report at a time, so that a run whose report takes long leaves slots to the others.
#[derive(Debug)]
pub(crate) struct ReportSlots {
    permits: Arc<Semaphore>,
    /// Folders of the runs that have a slot or are next in line for one.
    busy: Mutex<HashSet<PathBuf>>,
    freed: Notify,
}

/// Right to write the report of some runs, until it is dropped.
#[derive(Debug)]
pub(crate) struct ReportSlot {
    _permit: OwnedSemaphorePermit,
    _runs: BusyRuns,
}

/// Runs that are busy until this is dropped.
#[derive(Debug)]
struct BusyRuns {
    slots: Arc<ReportSlots>,
    runs: Vec<PathBuf>,
}

impl ReportSlots {
    pub(crate) fn new() -> ReportSlots {
        ReportSlots {
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_REPORTS)),
            busy: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Waits for a slot for the report of some runs. A report that waits for one of its runs does not make others wait.
    pub(crate) async fn acquire(self: &Arc<Self>, runs: &[PathBuf]) -> Result<ReportSlot, AcquireError> {
        let runs = self.busy_runs(runs).await;
        let permit = Arc::clone(&self.permits).acquire_owned().await?;
        Ok(ReportSlot { _permit: permit, _runs: runs })
    }

    /// Waits until none of the runs is busy, and makes all of them busy at once.
    async fn busy_runs(self: &Arc<Self>, runs: &[PathBuf]) -> BusyRuns {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // A run that becomes free after the check is noticed.
            freed.as_mut().enable();
            if self.try_occupy(runs) {
                return BusyRuns { slots: Arc::clone(self), runs: runs.to_vec() };
            }
            freed.await;
        }
    }

    fn try_occupy(&self, runs: &[PathBuf]) -> bool {
        let mut busy = self.busy.lock();
        let are_free = !runs.iter().any(|run| busy.contains(run));
        if are_free {
            busy.extend(runs.iter().cloned());
        }
        are_free
    }
}

impl Drop for BusyRuns {
    fn drop(&mut self) {
        let mut busy = self.slots.busy.lock();
        for run in &self.runs {
            busy.remove(run);
        }
        drop(busy);
        self.slots.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_whose_report_takes_long_leaves_slots_to_others() {
        let slots = Arc::new(ReportSlots::new());
        let (slow, other) = ([PathBuf::from("slow")], [PathBuf::from("other")]);
        let both = [PathBuf::from("other"), PathBuf::from("slow")];
        let first = slots.acquire(&slow).await.expect("a slot");
        let mut waiting: Vec<_> = (0..11).map(|_| Box::pin(slots.acquire(&slow))).collect();
        for report in &mut waiting {
            assert!(futures::poll!(report.as_mut()).is_pending());
        }
        let mut comparison = Box::pin(slots.acquire(&both));
        assert!(futures::poll!(comparison.as_mut()).is_pending());
        let mut of_other = Box::pin(slots.acquire(&other));
        assert!(futures::poll!(of_other.as_mut()).is_ready());
        drop(first);
        assert!(futures::poll!(waiting[0].as_mut()).is_ready());
    }
}
