//! The thread that writes the journal: what waits is written together and made safe on the
//! disk once, before any of it counts as done.

use crate::events::Events;
use crate::progress::Progress;
use gage_core::{Outcome, OutcomeCounts};
use gage_record::{JournalWriter, RecordError, SampleRecord};
use std::sync::mpsc::Receiver;
use tokio::sync::OwnedSemaphorePermit;

/// Most records that are written together.
const BATCH: usize = 256;

/// A finished sample. Its permit is given back when it is recorded.
pub(crate) struct Finished {
    pub(crate) record: SampleRecord,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Records until every sender is gone. Returns how the samples ended.
pub(crate) fn work(
    writer: &mut JournalWriter,
    finished: &Receiver<Finished>,
    progress: &dyn Progress,
    events: &Events,
) -> Result<OutcomeCounts, RecordError> {
    let mut counts = OutcomeCounts::default();
    while let Ok(first) = finished.recv() {
        let (mut records, mut permits) = (vec![first.record], vec![first.permit]);
        while records.len() < BATCH {
            match finished.try_recv() {
                Ok(next) => {
                    records.push(next.record);
                    permits.push(next.permit);
                }
                Err(_) => break,
            }
        }
        writer.append_batch(&records)?;
        drop(permits);
        for record in &records {
            counts.add(record.outcome);
            progress.sample_finished(record);
            if record.outcome != Outcome::Scored {
                events.sample_failed(record);
            }
        }
    }
    Ok(counts)
}
