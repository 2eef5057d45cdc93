//! The thread that writes the journal. Waiting entries are written together and synced to disk once, before any of them
//! counts as done.

pub(crate) mod events;
pub(crate) mod journal_item;
pub(crate) mod ordered_records;

use crate::progress::Progress;
use events::Events;
use gage_record::{JournalWriter, RecordError};
use journal_item::{JournalItem, RecordRequest};
use ordered_records::OrderedRecords;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Maximum number of entries written together. A sync of a busy disk takes tens of milliseconds, during which thousands of
/// answers arrive.
const MAX_BATCH_ENTRIES: usize = 4_096;

/// Minimum time between syncs of the journal. Under load, many entries share one sync, and senders do not wake this
/// thread for each entry.
const SYNC_INTERVAL: Duration = Duration::from_millis(4);

/// Minimum time between syncs while batches have at least `BUSY_BATCH_ENTRIES` entries, none of which is awaited.
const BUSY_SYNC_INTERVAL: Duration = Duration::from_millis(8);
const BUSY_BATCH_ENTRIES: usize = 64;

/// Records the samples of all tasks until every sender is gone.
pub(crate) fn run(
    writer: &mut JournalWriter,
    waiting: &mut mpsc::Receiver<RecordRequest>,
    progress: &dyn Progress,
    events: &Events,
    mut records: OrderedRecords<'_>,
) -> Result<(), RecordError> {
    let mut batch = Vec::with_capacity(MAX_BATCH_ENTRIES);
    let mut permits = Vec::with_capacity(MAX_BATCH_ENTRIES);
    let (mut synced, mut pace): (Option<Instant>, Duration) = (None, SYNC_INTERVAL);
    while waiting.blocking_recv_many(&mut batch, MAX_BATCH_ENTRIES) > 0 {
        if let Some(early) = synced.and_then(|synced| pace.checked_sub(synced.elapsed())) {
            std::thread::sleep(early);
            while batch.len() < MAX_BATCH_ENTRIES
                && let Ok(more) = waiting.try_recv()
            {
                batch.push(more);
            }
        }
        writer.append_batch(batch.iter().map(|one: &RecordRequest| one.item.entry(one.task.id())))?;
        synced = Some(Instant::now());
        let is_awaited = batch.len() < BUSY_BATCH_ENTRIES || batch.iter().any(|one| one.is_awaited);
        pace = if is_awaited { SYNC_INTERVAL } else { BUSY_SYNC_INTERVAL };
        for RecordRequest { task, item, permit, .. } in batch.drain(..) {
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
            if let Some((index, record)) = item.into_record() {
                records.add(&task.marker, index, record);
            }
        }
        // A task's last permit is released only after everything is reported. Releasing all permits at once wakes a waiter
        // once, not for each.
        permits.clear();
    }
    records.finish();
    Ok(())
}
