//! The thread that writes the journal. Waiting entries are written together and synced to disk once, before any of them
//! counts as done. About once a second, it checks that the run folder is still there.

mod check_timer;
pub(crate) mod events;
pub(crate) mod journal_item;
pub(crate) mod ordered_records;

use crate::limits::cancel_token::CancelToken;
use crate::progress::Progress;
use crate::run_error::RunError;
use check_timer::CheckTimer;
use events::Events;
use gage_core::ShortageWatch;
use gage_record::JournalWriter;
use journal_item::{JournalItem, RecordRequest};
use ordered_records::OrderedRecords;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Maximum number of entries written together. A sync of a busy disk takes tens of milliseconds, during which thousands of
/// answers arrive.
const MAX_BATCH_ENTRIES: usize = 4_096;

/// Minimum time between syncs of the journal. Under load, many entries share one sync, and senders do not wake this
/// thread for each entry.
const SYNC_INTERVAL: Duration = Duration::from_millis(4);

/// Minimum time between syncs while batches have at least `BUSY_BATCH_ENTRIES` entries, none of which is awaited.
const BUSY_SYNC_INTERVAL: Duration = Duration::from_millis(8);
const BUSY_BATCH_ENTRIES: usize = 64;

/// The queue of the recorder, and the runtime that wakes it.
pub(crate) struct RecordQueue<'q> {
    pub(crate) entries: &'q mut mpsc::Receiver<RecordRequest>,
    pub(crate) runtime: &'q Handle,
    /// True if senders wait for the recorder.
    pub(crate) is_lockstep: bool,
    /// Shortages of the machine. After one, only items that it has not changed are recorded.
    pub(crate) shortages: ShortageWatch,
}

impl RecordQueue<'_> {
    /// Waits for entries, up to a time limit. Returns the number of entries received, which is 0 if every sender is gone.
    /// `None` if the limit is reached.
    fn receive(&mut self, batch: &mut Vec<RecordRequest>, limit: Duration) -> Option<usize> {
        let RecordQueue { entries, runtime, is_lockstep, .. } = self;
        if *is_lockstep {
            // The limit would be in virtual time.
            return Some(entries.blocking_recv_many(batch, MAX_BATCH_ENTRIES));
        }
        // The timer needs the runtime when it is created.
        runtime.block_on(async { timeout(limit, entries.recv_many(batch, MAX_BATCH_ENTRIES)).await.ok() })
    }
}

/// Records the samples of all tasks until every sender is gone. Must not be called from within the async runtime.
///
/// # Errors
/// If the journal cannot be written, the run folder was deleted or replaced, or the machine has too little of a resource. After
/// the report of a shortage, answers that it has not changed are still recorded, because they were paid for.
pub(crate) fn run(
    writer: &mut JournalWriter,
    mut queue: RecordQueue<'_>,
    progress: &dyn Progress,
    events: &Events,
    mut records: OrderedRecords<'_>,
    stop: &CancelToken,
) -> Result<(), RunError> {
    let mut batch = Vec::with_capacity(MAX_BATCH_ENTRIES);
    let mut permits = Vec::with_capacity(MAX_BATCH_ENTRIES);
    let mut marks = Vec::new();
    let (mut synced, mut pace): (Option<Instant>, Duration) = (None, SYNC_INTERVAL);
    let mut folder_checks = CheckTimer::new(Instant::now());
    loop {
        let received = queue.receive(&mut batch, folder_checks.time_left(Instant::now()));
        if folder_checks.is_due(Instant::now()) {
            writer.check_folder().inspect_err(|_| stop.abort())?;
        }
        // The queue closes once the requests in flight are aborted.
        if queue.shortages.shortage().is_some() {
            stop.abort();
        }
        match received {
            None => continue,
            Some(0) => break,
            Some(_) => {}
        }
        let early = synced.and_then(|synced| pace.checked_sub(synced.elapsed()));
        if let Some(early) = early.filter(|_| !queue.is_lockstep) {
            std::thread::sleep(early);
            while batch.len() < MAX_BATCH_ENTRIES
                && let Ok(more) = queue.entries.try_recv()
            {
                batch.push(more);
            }
        }
        batch.retain(|one| !one.may_follow_from_shortage());
        let entries = batch.iter().map(|one: &RecordRequest| one.item.entry(one.task.id()));
        // The run is stopped before the senders of this batch go on.
        writer.append_batch(entries).inspect_err(|_| stop.abort())?;
        synced = Some(Instant::now());
        let is_awaited = batch.len() < BUSY_BATCH_ENTRIES || batch.iter().any(|one| one.is_awaited);
        pace = if is_awaited { SYNC_INTERVAL } else { BUSY_SYNC_INTERVAL };
        for RecordRequest { task, item, permit, mark, .. } in batch.drain(..) {
            events.recorded(task.id(), &item);
            match item.finished_sample() {
                None if matches!(item, JournalItem::AnswerAwaitingPostInference(_)) => {}
                None => progress.sample_answered(task.id()),
                Some(finished) => {
                    task.on_recorded(finished.outcome);
                    progress.sample_finished(&finished);
                }
            }
            permits.extend(permit);
            marks.extend(mark);
            if let Some((index, record)) = item.into_record() {
                records.add(&task.marker, index, record);
            }
        }
        // A task's last permit is released only after everything is reported. Releasing all permits at once wakes a waiter
        // once, not for each.
        permits.clear();
        marks.clear();
    }
    if let Some(shortage) = queue.shortages.shortage() {
        return Err(RunError::Shortage(shortage));
    }
    records.finish();
    // The reports would be written to a folder that is gone.
    Ok(writer.check_folder()?)
}
