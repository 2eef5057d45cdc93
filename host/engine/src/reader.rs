//! The thread that loads rows and prepares Samples.

use crate::stop::Stop;
use gage_data::{DataError, JsonlRows, Prepared, Preparer};
use gage_record::JournalIndex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Rows that are converted in one call.
const BATCH: usize = 64;

/// Why reading ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("row {row} has changed since the run began; resume with the data as it was, or begin a new run")]
    Changed { row: u64 },
}

/// What an earlier process has done already.
pub(crate) struct Done {
    pub(crate) index: Arc<JournalIndex>,
    pub(crate) task_id: String,
}

impl Done {
    /// Whether a row needs no more work; an error when it is not the row that was recorded.
    fn contains(&self, prepared: &Prepared) -> Result<bool, ReadError> {
        match self.index.get(&self.task_id, prepared.index) {
            None => Ok(false),
            Some(recorded) if !recorded.is_of_row(&prepared.row_digest) => {
                Err(ReadError::Changed { row: prepared.index })
            }
            Some(recorded) => Ok(recorded.is_done(&prepared.row_digest)),
        }
    }
}

/// Reads rows in batches, prepares them, and hands on those that still need work. Returns how
/// long reading and preparing took, without the time that it waited for the receiver.
pub(crate) fn read(
    mut rows: JsonlRows,
    mut preparer: Preparer,
    done: Option<&Done>,
    sender: &mpsc::Sender<Prepared>,
    stop: &Stop,
) -> Result<Duration, ReadError> {
    let mut spent = Duration::ZERO;
    loop {
        let began = Instant::now();
        let batch: Vec<_> = rows.by_ref().take(BATCH).collect::<Result<_, _>>()?;
        if batch.is_empty() || stop.is_set() {
            return Ok(spent);
        }
        let prepared = preparer.prepare(batch);
        spent += began.elapsed();
        for one in prepared {
            if let Some(done) = done
                && done.contains(&one)?
            {
                continue;
            }
            if stop.is_set() || sender.blocking_send(one).is_err() {
                return Ok(spent);
            }
        }
    }
}
