//! What becomes of a row when it has ended: its batch, its scorers, the journal.

use crate::limits::budget;
use crate::limits::drainable_semaphore::DrainableSemaphore;
use crate::pipeline::infer::SampleResult;
use crate::pipeline::post_process::PostInferenceSteps;
use crate::pipeline::record::{JournalItem, RecordRequest};
use crate::pipeline::score::ScoreRequest;
use crate::pipeline::score::batches::{Batches, PendingAnswer};
use crate::pipeline::task_state::TaskState;
use gage_core::Outcome;
use gage_record::SampleRecord;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How a row that was begun ended.
pub(crate) struct RowResult {
    /// Whether it has a record; else the run was stopped.
    pub(crate) is_recorded: bool,
    /// Whether an earlier process had asked the model.
    pub(crate) was_resumed: bool,
    /// Room for another row, where the row had it to its end and that need not wait for the disk.
    pub(crate) sample_slot: Option<OwnedSemaphorePermit>,
}

/// Hands on what came of a row.
pub(crate) struct ResultRouter {
    pub(crate) task: Arc<TaskState>,
    /// Bounds the samples that only wait for the disk; where the task bounds those in flight, they are among these.
    pub(crate) unsynced: Option<DrainableSemaphore>,
    pub(crate) batches: Mutex<Batches>,
    pub(crate) scorers: mpsc::Sender<ScoreRequest>,
    pub(crate) recorder: mpsc::Sender<RecordRequest>,
}

impl ResultRouter {
    /// A row is on its way. Returns the batch before it, where that only waited for this.
    pub(crate) fn begin_row(&self, index: u64) -> Option<Vec<PendingAnswer>> {
        self.lock_batches().begin(index)
    }

    /// Has further models asked about an answer; it is in the journal before they are. Nothing where the run is stopped
    /// before they have replied.
    pub(crate) async fn run_post_inference(
        &self,
        behind: &PostInferenceSteps,
        inferred: Box<SampleResult>,
    ) -> Option<Box<SampleResult>> {
        let inferred: Arc<SampleResult> = Arc::from(inferred);
        if !inferred.was_resumed {
            let (task, what) =
                (Arc::clone(&self.task), JournalItem::AnswerAwaitingJudges(Arc::clone(&inferred)));
            // Where the journal cannot be written the run is stopped by its recorder.
            let _ = self.recorder.send(RecordRequest { task, what, permit: None, is_awaited: false }).await;
            budget::commit_usage();
        }
        // The recorder has long let go of it.
        let judged = behind.run(&self.task, inferred).await?;
        Some(self.without_secrets(Box::new(judged)))
    }

    /// What is scored and recorded of an answer: where secrets of the suite could have come into it, none. Before it is judged
    /// and scored, so that the same comes out of what was recorded.
    pub(crate) fn without_secrets(&self, mut inferred: Box<SampleResult>) -> Box<SampleResult> {
        if self.task.planned.scoring.blanks_secrets {
            inferred.blank_secrets();
        }
        inferred
    }

    /// Hands on what came of a row; nothing did where the run is stopped.
    pub(crate) async fn row_ended(
        &self,
        index: u64,
        inferred: Option<Box<SampleResult>>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> RowResult {
        match &inferred {
            Some(_) => budget::commit_usage(),
            None => self.task.spending.keep_pending_usage(),
        }
        match inferred {
            Some(inferred) if inferred.outcome == Outcome::Scored => {
                self.record_answer(inferred, permit, held).await
            }
            Some(inferred) => {
                let is_earlier = inferred.was_resumed;
                let record = Box::new(inferred.into_record(self.task.id()));
                self.task.on_finished(record.outcome, &record.sample_id);
                self.record_finished(record, is_earlier, permit).await
            }
            None => {
                let mut room = permit;
                self.end_row(index, None, &mut room).await;
                RowResult { is_recorded: false, was_resumed: false, sample_slot: room }
            }
        }
    }

    /// An answer goes to the journal at once, and to the scorers with its neighbours.
    async fn record_answer(
        &self,
        inferred: Box<SampleResult>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> RowResult {
        let inferred: Arc<SampleResult> = Arc::from(inferred);
        let (is_recorded, mut room) = self.record(JournalItem::Answer(Arc::clone(&inferred)), permit).await;
        let index = inferred.index;
        let is_recorded =
            self.end_row(index, Some(PendingAnswer { inferred, held }), &mut room).await && is_recorded;
        RowResult { is_recorded, was_resumed: false, sample_slot: room }
    }

    /// A sample that needs no scores, and that is counted, goes to the journal.
    pub(crate) async fn record_finished(
        &self,
        record: Box<SampleRecord>,
        is_earlier: bool,
        permit: Option<OwnedSemaphorePermit>,
    ) -> RowResult {
        let index = record.index;
        let (is_recorded, mut room) = self.record(JournalItem::Whole(record, is_earlier), permit).await;
        let is_recorded = self.end_row(index, None, &mut room).await && is_recorded;
        RowResult { is_recorded, was_resumed: false, sample_slot: room }
    }

    /// Hands something to the journal. Says whether it is there, and gives back the room that the next sample can have, unless
    /// that was given to another one while this waited.
    async fn record(
        &self,
        what: JournalItem,
        permit: Option<OwnedSemaphorePermit>,
    ) -> (bool, Option<OwnedSemaphorePermit>) {
        let (place, mut room) = match &self.unsynced {
            Some(unsynced) => (unsynced.acquire().await, permit),
            None => (permit, None),
        };
        // Rooms are never closed.
        let Some(permit) = place else { return (false, room) };
        let (task, is_awaited) = (Arc::clone(&self.task), self.unsynced.is_none());
        let entry = RecordRequest { task, what, permit: Some(permit), is_awaited };
        (send(&self.recorder, entry, &mut room).await, room)
    }

    /// A row has ended; its batch is scored where it was the last. `room` is given back where that has to wait.
    pub(crate) async fn end_row(
        &self,
        index: u64,
        answer: Option<PendingAnswer>,
        room: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        let complete = self.lock_batches().end(index, answer);
        self.score(complete, room).await
    }

    /// No more rows come.
    pub(crate) async fn finish(&self) {
        let batches = self.lock_batches().finish();
        for batch in batches {
            self.score(Some(batch), &mut None).await;
        }
    }

    /// Hands a batch to the scorers, where there is one; whether they are there to take it.
    pub(crate) async fn score(
        &self,
        batch: Option<Vec<PendingAnswer>>,
        room: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        match batch {
            Some(batch) => {
                send(&self.scorers, ScoreRequest { task: Arc::clone(&self.task), batch }, room).await
            }
            None => true,
        }
    }

    fn lock_batches(&self) -> std::sync::MutexGuard<'_, Batches> {
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
