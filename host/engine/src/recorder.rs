//! The thread that writes the journal: what waits is written together and made safe on the
//! disk once, before any of it counts as done.

use crate::events::Events;
use crate::inference::Inferred;
use crate::progress::{Finished, Progress};
use gage_core::OutcomeCounts;
use gage_record::{JournalEntry, JournalWriter, RecordError, SampleRecord, ScoresEntry};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Most entries that are written together.
const BATCH: usize = 256;

/// What is to be recorded.
pub(crate) struct ToRecord {
    pub(crate) what: What,
    /// Given back when it is recorded.
    pub(crate) permit: OwnedSemaphorePermit,
}

pub(crate) enum What {
    /// An answer that awaits its scores.
    Answer(Arc<Inferred>),
    /// The scores of an answer that was recorded before.
    Scores(Box<ScoresEntry>),
    /// A sample that is finished without scores.
    Whole(Box<SampleRecord>),
}

impl What {
    fn entry<'a>(&'a self, task_id: &'a str) -> JournalEntry<'a> {
        match self {
            What::Answer(inferred) => JournalEntry::Answer(inferred.entry(task_id)),
            What::Scores(entry) => JournalEntry::Scores(entry),
            What::Whole(record) => JournalEntry::Whole(record),
        }
    }

    /// The sample, where it is finished with this.
    fn finished(&self) -> Option<Finished<'_>> {
        match self {
            What::Answer(_) => None,
            What::Scores(entry) => Some(Finished::of_scores(entry)),
            What::Whole(record) => Some(Finished::of_record(record)),
        }
    }
}

/// Records until every sender is gone. Returns how the samples ended.
pub(crate) fn work(
    task_id: &str,
    writer: &mut JournalWriter,
    waiting: &mut mpsc::Receiver<ToRecord>,
    progress: &dyn Progress,
    events: &Events,
) -> Result<OutcomeCounts, RecordError> {
    let mut counts = OutcomeCounts::default();
    let mut batch = Vec::with_capacity(BATCH);
    while waiting.blocking_recv_many(&mut batch, BATCH) > 0 {
        let entries: Vec<JournalEntry<'_>> =
            batch.iter().map(|one: &ToRecord| one.what.entry(task_id)).collect();
        writer.append_batch(&entries)?;
        for ToRecord { what, permit } in batch.drain(..) {
            drop(permit);
            events.recorded(task_id, &what);
            match what.finished() {
                None => progress.sample_answered(task_id),
                Some(finished) => {
                    counts.add(finished.outcome);
                    progress.sample_finished(&finished);
                }
            }
        }
    }
    Ok(counts)
}
