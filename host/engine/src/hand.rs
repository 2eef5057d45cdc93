//! What becomes of a row when it has ended: its batch, its scorers, the journal.

use crate::active::ActiveTask;
use crate::batches::{Batches, Waiting};
use crate::behind::Behind;
use crate::inference::Inferred;
use crate::recorder::{ToRecord, What};
use crate::room::Room;
use crate::scoring::ToScore;
use crate::spending;
use gage_core::Outcome;
use gage_record::SampleRecord;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How a row that was begun ended.
pub(crate) struct RowEnd {
    /// Whether it has a record; else the run was stopped.
    pub(crate) is_recorded: bool,
    /// Whether an earlier process had asked the model.
    pub(crate) is_earlier: bool,
    /// Room for another row, where the row had it to its end and that need not wait for the disk.
    pub(crate) room: Option<OwnedSemaphorePermit>,
}

/// Hands on what came of a row.
pub(crate) struct Hand {
    pub(crate) task: Arc<ActiveTask>,
    /// Bounds the samples that only wait for the disk; where the task bounds those in flight, they are among these.
    pub(crate) unsynced: Option<Room>,
    pub(crate) batches: Mutex<Batches>,
    pub(crate) scorers: mpsc::Sender<ToScore>,
    pub(crate) recorder: mpsc::Sender<ToRecord>,
}

impl Hand {
    /// A row is on its way. Returns the batch before it, where that only waited for this.
    pub(crate) fn begin(&self, index: u64) -> Option<Vec<Waiting>> {
        self.open().begin(index)
    }

    /// Has further models asked about an answer; it is in the journal before they are. Nothing where the run is stopped
    /// before they have replied.
    pub(crate) async fn asked(&self, behind: &Behind, inferred: Box<Inferred>) -> Option<Box<Inferred>> {
        let inferred: Arc<Inferred> = Arc::from(inferred);
        if !inferred.is_earlier {
            let (task, what) = (Arc::clone(&self.task), What::Unjudged(Arc::clone(&inferred)));
            // Where the journal cannot be written the run is stopped by its recorder.
            let _ = self.recorder.send(ToRecord { task, what, permit: None, is_awaited: false }).await;
            spending::recorded();
        }
        // The recorder has long let go of it.
        let judged = behind.ask(&self.task, inferred).await?;
        Some(self.without_secrets(Box::new(judged)))
    }

    /// What is scored and recorded of an answer: where secrets of the suite could have come into it, none. Before it is judged
    /// and scored, so that the same comes out of what was recorded.
    pub(crate) fn without_secrets(&self, mut inferred: Box<Inferred>) -> Box<Inferred> {
        if self.task.planned.scoring.blanks_secrets {
            inferred.blank_secrets();
        }
        inferred
    }

    /// Hands on what came of a row; nothing did where the run is stopped.
    pub(crate) async fn ended(
        &self,
        index: u64,
        inferred: Option<Box<Inferred>>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        match &inferred {
            Some(_) => spending::recorded(),
            None => self.task.spending.unrecorded(),
        }
        match inferred {
            Some(inferred) if inferred.outcome == Outcome::Scored => {
                self.answered(inferred, permit, held).await
            }
            Some(inferred) => {
                let is_earlier = inferred.is_earlier;
                let record = Box::new(inferred.into_record(self.task.id()));
                self.task.finished(record.outcome, &record.sample_id);
                self.finished(record, is_earlier, permit).await
            }
            None => {
                let mut room = permit;
                self.end(index, None, &mut room).await;
                RowEnd { is_recorded: false, is_earlier: false, room }
            }
        }
    }

    /// An answer goes to the journal at once, and to the scorers with its neighbours.
    async fn answered(
        &self,
        inferred: Box<Inferred>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        let inferred: Arc<Inferred> = Arc::from(inferred);
        let (is_recorded, mut room) = self.record(What::Answer(Arc::clone(&inferred)), permit).await;
        let index = inferred.index;
        let is_recorded = self.end(index, Some(Waiting { inferred, held }), &mut room).await && is_recorded;
        RowEnd { is_recorded, is_earlier: false, room }
    }

    /// A sample that needs no scores, and that is counted, goes to the journal.
    pub(crate) async fn finished(
        &self,
        record: Box<SampleRecord>,
        is_earlier: bool,
        permit: Option<OwnedSemaphorePermit>,
    ) -> RowEnd {
        let index = record.index;
        let (is_recorded, mut room) = self.record(What::Whole(record, is_earlier), permit).await;
        let is_recorded = self.end(index, None, &mut room).await && is_recorded;
        RowEnd { is_recorded, is_earlier: false, room }
    }

    /// Hands something to the journal. Says whether it is there, and gives back the room that the next sample can have, unless
    /// that was given to another one while this waited.
    async fn record(
        &self,
        what: What,
        permit: Option<OwnedSemaphorePermit>,
    ) -> (bool, Option<OwnedSemaphorePermit>) {
        let (place, mut room) = match &self.unsynced {
            Some(unsynced) => (unsynced.take().await, permit),
            None => (permit, None),
        };
        // Rooms are never closed.
        let Some(permit) = place else { return (false, room) };
        let (task, is_awaited) = (Arc::clone(&self.task), self.unsynced.is_none());
        let entry = ToRecord { task, what, permit: Some(permit), is_awaited };
        (send(&self.recorder, entry, &mut room).await, room)
    }

    /// A row has ended; its batch is scored where it was the last. `room` is given back where that has to wait.
    pub(crate) async fn end(
        &self,
        index: u64,
        answer: Option<Waiting>,
        room: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        let complete = self.open().end(index, answer);
        self.score(complete, room).await
    }

    /// No more rows come.
    pub(crate) async fn finish(&self) {
        let batches = self.open().finish();
        for batch in batches {
            self.score(Some(batch), &mut None).await;
        }
    }

    /// Hands a batch to the scorers, where there is one; whether they are there to take it.
    pub(crate) async fn score(
        &self,
        batch: Option<Vec<Waiting>>,
        room: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        match batch {
            Some(batch) => send(&self.scorers, ToScore { task: Arc::clone(&self.task), batch }, room).await,
            None => true,
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends something to one of the threads of the run; whether it is there to take it. Where that has to wait, `room` is given
/// to another sample first: the model need not wait for what comes behind it.
async fn send<T>(thread: &mpsc::Sender<T>, what: T, room: &mut Option<OwnedSemaphorePermit>) -> bool {
    match thread.try_send(what) {
        Ok(()) => true,
        Err(TrySendError::Closed(_)) => false,
        Err(TrySendError::Full(what)) => {
            drop(room.take());
            thread.send(what).await.is_ok()
        }
    }
}
