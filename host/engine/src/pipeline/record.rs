//! The thread that writes the journal: what waits is written together and made safe on the
//! disk once, before any of it counts as done.

pub(crate) mod events;
pub(crate) mod journal_item;

use crate::progress::Progress;
use events::Events;
use gage_record::{JournalWriter, RecordError};
use journal_item::{JournalItem, RecordRequest};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Most entries that are written together. A busy disk takes tens of milliseconds for a sync, in which thousands of
/// answers come.
const MAX_BATCH_ENTRIES: usize = 4_096;

/// The journal is made safe at most once in this time, so that under load many entries share one sync, and
/// whoever hands them over does not wake this thread for each.
const SYNC_INTERVAL: Duration = Duration::from_millis(4);

/// The same while so many entries or more are written together, and no sample waits for one of them to begin.
const BUSY_SYNC_INTERVAL: Duration = Duration::from_millis(8);
const BUSY_BATCH_ENTRIES: usize = 64;

/// Records the samples of all tasks until every sender is gone.
pub(crate) fn run(
    writer: &mut JournalWriter,
    waiting: &mut mpsc::Receiver<RecordRequest>,
    progress: &dyn Progress,
    events: &Events,
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
        }
        // With the last permit of a task everything of it is told. All at once, so that whoever waits for room is
        // woken once, and not for each.
        permits.clear();
    }
    Ok(())
}
