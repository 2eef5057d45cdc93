//! The thread that writes the journal: what waits is written together and made safe on the
//! disk once, before any of it counts as done.

pub(crate) mod events;

use crate::pipeline::infer::SampleResult;
use crate::pipeline::record::events::Events;
use crate::pipeline::task_state::TaskState;
use crate::progress::{FinishedSample, Progress};
use gage_record::{AnswerEntry, JournalEntry, JournalWriter, RecordError, SampleRecord, ScoresEntry};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Most entries that are written together. A busy disk takes tens of milliseconds for a sync, in which thousands of
/// answers come.
const MAX_BATCH_ENTRIES: usize = 4_096;

/// The journal is made safe at most once in this time, so that under load many entries share one sync, and
/// whoever hands them over does not wake this thread for each.
const SYNC_INTERVAL: Duration = Duration::from_millis(4);

/// The same while so many entries or more are written together, and no sample waits for one of them to begin.
const BUSY_SYNC_INTERVAL: Duration = Duration::from_millis(8);
const BUSY_BATCH_ENTRIES: usize = 64;

/// What is to be recorded.
pub(crate) struct RecordRequest {
    pub(crate) task: Arc<TaskState>,
    pub(crate) what: JournalItem,
    /// Given back when it is recorded; none of what has more to come before its sample makes room.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// Whether another sample may begin only when it is recorded.
    pub(crate) is_awaited: bool,
}

pub(crate) enum JournalItem {
    /// An answer of which judges are asked.
    AnswerAwaitingJudges(Arc<SampleResult>),
    /// An answer that awaits its scores.
    Answer(Arc<SampleResult>),
    /// The scores of an answer that was recorded before.
    Scores(Box<ScoresEntry>),
    /// A sample that is finished without scores, and whether it was an earlier process that asked the model.
    Whole(Box<SampleRecord>, bool),
}

impl JournalItem {
    fn entry<'a>(&'a self, task_id: &'a str) -> JournalEntry<'a> {
        match self {
            JournalItem::AnswerAwaitingJudges(inferred) => {
                JournalEntry::Answer(AnswerEntry { awaits_judges: true, ..inferred.entry(task_id) })
            }
            JournalItem::Answer(inferred) => JournalEntry::Answer(inferred.entry(task_id)),
            JournalItem::Scores(entry) => JournalEntry::Scores(entry),
            JournalItem::Whole(record, _) => JournalEntry::Whole(record),
        }
    }

    /// The sample, where it is finished with this.
    fn finished_sample(&self) -> Option<FinishedSample<'_>> {
        match self {
            JournalItem::AnswerAwaitingJudges(_) | JournalItem::Answer(_) => None,
            JournalItem::Scores(entry) => Some(FinishedSample::of_scores(entry)),
            JournalItem::Whole(record, _) => Some(FinishedSample::of_record(record)),
        }
    }
}

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
        writer.append_batch(batch.iter().map(|one: &RecordRequest| one.what.entry(one.task.id())))?;
        synced = Some(Instant::now());
        let is_awaited = batch.len() < BUSY_BATCH_ENTRIES || batch.iter().any(|one| one.is_awaited);
        pace = if is_awaited { SYNC_INTERVAL } else { BUSY_SYNC_INTERVAL };
        for RecordRequest { task, what, permit, .. } in batch.drain(..) {
            events.recorded(task.id(), &what);
            match what.finished_sample() {
                None if matches!(what, JournalItem::AnswerAwaitingJudges(_)) => {}
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
