//! The thread that writes the journal: what waits is written together and made safe on the
//! disk once, before any of it counts as done.

use crate::active::ActiveTask;
use crate::events::Events;
use crate::inference::Inferred;
use crate::progress::{Finished, Progress};
use gage_record::{AnswerEntry, JournalEntry, JournalWriter, RecordError, SampleRecord, ScoresEntry};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Most entries that are written together. A busy disk takes tens of milliseconds for a sync, in which thousands of
/// answers come.
const BATCH: usize = 4_096;

/// The journal is made safe at most once in this time, so that under load many entries share one sync, and
/// whoever hands them over does not wake this thread for each.
const PACE: Duration = Duration::from_millis(4);

/// The same while so many entries or more are written together, and no sample waits for one of them to begin.
const BUSY_PACE: Duration = Duration::from_millis(8);
const BUSY: usize = 64;

/// What is to be recorded.
pub(crate) struct ToRecord {
    pub(crate) task: Arc<ActiveTask>,
    pub(crate) what: What,
    /// Given back when it is recorded; none of what has more to come before its sample makes room.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// Whether another sample may begin only when it is recorded.
    pub(crate) is_awaited: bool,
}

pub(crate) enum What {
    /// An answer of which judges are asked.
    Unjudged(Arc<Inferred>),
    /// An answer that awaits its scores.
    Answer(Arc<Inferred>),
    /// The scores of an answer that was recorded before.
    Scores(Box<ScoresEntry>),
    /// A sample that is finished without scores, and whether it was an earlier process that asked the model.
    Whole(Box<SampleRecord>, bool),
}

impl What {
    fn entry<'a>(&'a self, task_id: &'a str) -> JournalEntry<'a> {
        match self {
            What::Unjudged(inferred) => {
                JournalEntry::Answer(AnswerEntry { awaits_judges: true, ..inferred.entry(task_id) })
            }
            What::Answer(inferred) => JournalEntry::Answer(inferred.entry(task_id)),
            What::Scores(entry) => JournalEntry::Scores(entry),
            What::Whole(record, _) => JournalEntry::Whole(record),
        }
    }

    /// The sample, where it is finished with this.
    fn finished(&self) -> Option<Finished<'_>> {
        match self {
            What::Unjudged(_) | What::Answer(_) => None,
            What::Scores(entry) => Some(Finished::of_scores(entry)),
            What::Whole(record, _) => Some(Finished::of_record(record)),
        }
    }
}

/// Records the samples of all tasks until every sender is gone.
pub(crate) fn work(
    writer: &mut JournalWriter,
    waiting: &mut mpsc::Receiver<ToRecord>,
    progress: &dyn Progress,
    events: &Events,
) -> Result<(), RecordError> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut permits = Vec::with_capacity(BATCH);
    let (mut synced, mut pace): (Option<Instant>, Duration) = (None, PACE);
    while waiting.blocking_recv_many(&mut batch, BATCH) > 0 {
        if let Some(early) = synced.and_then(|synced| pace.checked_sub(synced.elapsed())) {
            std::thread::sleep(early);
            while batch.len() < BATCH
                && let Ok(more) = waiting.try_recv()
            {
                batch.push(more);
            }
        }
        writer.append_batch(batch.iter().map(|one: &ToRecord| one.what.entry(one.task.id())))?;
        synced = Some(Instant::now());
        let is_awaited = batch.len() < BUSY || batch.iter().any(|one| one.is_awaited);
        pace = if is_awaited { PACE } else { BUSY_PACE };
        for ToRecord { task, what, permit, .. } in batch.drain(..) {
            events.recorded(task.id(), &what);
            match what.finished() {
                None if matches!(what, What::Unjudged(_)) => {}
                None => progress.sample_answered(task.id()),
                Some(finished) => {
                    task.recorded(finished.outcome);
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
