//! The router of results, which sends a finished row to its scoring batch, the scorers and the journal.

use super::lockstep::{LockstepWait, lockstep};
use super::post_process::PostInferenceSteps;
use super::record::journal_item::{JournalItem, RecordRequest};
use super::score::batches::{Batches, PendingAnswer};
use super::score::preview::{PreviewRequest, run_previews};
use super::score::{ScoreBatch, ScoreRequest};
use super::task_state::TaskState;
use crate::limits::budget;
use crate::limits::permits::SamplePermits;
use crate::sample::result::SampleResult;
use gage_core::Outcome;
use gage_record::SampleRecord;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// End of a started row.
pub(crate) struct RowResult {
    /// True if it has a record. It has none if the run was stopped.
    pub(crate) is_recorded: bool,
    /// True if the model answered in an earlier process.
    pub(crate) was_resumed: bool,
    /// The permit for another row, if this row kept it to its end and need not wait for the disk.
    pub(crate) in_flight: Option<OwnedSemaphorePermit>,
}

/// The queues to the threads of the run that score answers and record results.
#[derive(Clone)]
pub(crate) struct Sinks {
    pub(crate) scorers: mpsc::Sender<ScoreRequest>,
    pub(crate) recorder: mpsc::Sender<RecordRequest>,
}

/// Sends rows that the dispatcher has finished to the threads of the run.
pub(crate) struct ResultRouter {
    pub(crate) task: Arc<TaskState>,
    pub(crate) permits: Arc<SamplePermits>,
    pub(crate) batches: Mutex<Batches>,
    pub(crate) sinks: Sinks,
}

impl ResultRouter {
    /// Marks a row as started. Returns the previous batch, if this completes it.
    pub(crate) fn begin_row(&self, index: u64) -> Option<Vec<PendingAnswer>> {
        self.batches.lock().begin(index)
    }

    /// Sends an answer to the journal and runs its post-inference steps. `None` if the run is stopped before they have replied.
    pub(crate) async fn run_post_inference(
        &self,
        steps: &PostInferenceSteps,
        result: Box<SampleResult>,
    ) -> Option<Box<SampleResult>> {
        let result: Arc<SampleResult> = Arc::from(result);
        if !result.was_resumed {
            let (mark, wait) = lockstep(self.task.is_lockstep);
            let request = RecordRequest {
                mark,
                task: Arc::clone(&self.task),
                item: JournalItem::AnswerAwaitingPostInference(Arc::clone(&result)),
                permit: None,
                is_awaited: false,
                follows_shortage: self.task.aborts_on_shortage(),
            };
            // If the journal cannot be written, its recorder stops the run.
            let _ = self.sinks.recorder.send(request).await;
            wait.into_iter().for_each(LockstepWait::wait);
            budget::commit_usage();
        }
        // The recorder has released its reference by the time the steps have replied.
        let judged = steps.run(&self.task, result).await?;
        Some(self.without_secrets(Box::new(judged)))
    }

    /// Redacts the suite's secrets in a result that may contain them. Runs before judging and scoring, so that the recorded
    /// answer gets the same scores.
    pub(crate) fn without_secrets(&self, mut result: Box<SampleResult>) -> Box<SampleResult> {
        if self.task.planned.scoring.redacts_secrets {
            result.redact_secrets();
        }
        result
    }

    /// Routes the result of a row. The row has none if the run is stopped.
    pub(crate) async fn row_ended(
        &self,
        index: u64,
        result: Option<Box<SampleResult>>,
        in_flight: Option<OwnedSemaphorePermit>,
        unscored: OwnedSemaphorePermit,
    ) -> RowResult {
        match &result {
            Some(_) => budget::commit_usage(),
            None => self.task.budget.keep_pending_usage(),
        }
        match result {
            Some(result) if result.outcome == Outcome::Scored => {
                self.record_answer(result, in_flight, unscored).await
            }
            Some(result) => {
                let was_resumed = result.was_resumed;
                let record = Box::new(result.into_record(self.task.id()));
                self.task.on_finished(record.outcome, &record.sample_id);
                self.record_finished(record, was_resumed, in_flight).await
            }
            None => {
                let mut in_flight = in_flight;
                self.end_row(index, None, &mut in_flight).await;
                RowResult { is_recorded: false, was_resumed: false, in_flight }
            }
        }
    }

    /// Sends an answer to the journal immediately, and to the scorers together with its neighbours.
    async fn record_answer(
        &self,
        result: Box<SampleResult>,
        in_flight: Option<OwnedSemaphorePermit>,
        unscored: OwnedSemaphorePermit,
    ) -> RowResult {
        let answer: Arc<SampleResult> = Arc::from(result);
        let (is_recorded, mut in_flight) =
            self.record(JournalItem::Answer(Arc::clone(&answer)), in_flight).await;
        let index = answer.index;
        let pending = PendingAnswer { answer, unscored };
        let is_recorded = self.end_row(index, Some(pending), &mut in_flight).await && is_recorded;
        RowResult { is_recorded, was_resumed: false, in_flight }
    }

    /// Sends a sample that needs no scores, and is already counted, to the journal.
    pub(crate) async fn record_finished(
        &self,
        record: Box<SampleRecord>,
        was_resumed: bool,
        in_flight: Option<OwnedSemaphorePermit>,
    ) -> RowResult {
        let index = record.index;
        let (is_recorded, mut in_flight) =
            self.record(JournalItem::FinishedWithoutScores { record, was_resumed }, in_flight).await;
        let is_recorded = self.end_row(index, None, &mut in_flight).await && is_recorded;
        RowResult { is_recorded, was_resumed: false, in_flight }
    }

    /// Sends an item to the recorder. Returns true if the recorder took it. Also returns the `in_flight` permit if it is free for
    /// the next sample and no other sample got it meanwhile.
    async fn record(
        &self,
        item: JournalItem,
        in_flight: Option<OwnedSemaphorePermit>,
    ) -> (bool, Option<OwnedSemaphorePermit>) {
        let (permit, mut in_flight) = match &self.permits.unsynced {
            Some(unsynced) => (unsynced.acquire_many(item.permit_count()).await, in_flight),
            None => (in_flight, None),
        };
        // The semaphores are never closed.
        let Some(permit) = permit else { return (false, in_flight) };
        let (task, is_awaited) = (Arc::clone(&self.task), self.permits.unsynced.is_none());
        let (mark, wait) = lockstep(self.task.is_lockstep);
        let follows_shortage = task.aborts_on_shortage();
        let request = RecordRequest { task, item, permit: Some(permit), is_awaited, follows_shortage, mark };
        let is_sent = send(&self.sinks.recorder, request, &mut in_flight).await;
        wait.into_iter().for_each(LockstepWait::wait);
        (is_sent, in_flight)
    }

    /// Marks a row as ended, and scores its batch if this completes it. Releases `in_flight` if that has to wait.
    pub(crate) async fn end_row(
        &self,
        index: u64,
        answer: Option<PendingAnswer>,
        in_flight: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        let complete = self.batches.lock().end(index, answer);
        self.score(complete, in_flight).await
    }

    /// Scores the incomplete batches, because no more rows follow.
    pub(crate) async fn finish(&self) {
        let batches = self.batches.lock().finish();
        for batch in batches {
            self.score(Some(batch), &mut None).await;
        }
    }

    /// Sends copies of the answers of incomplete batches to the scorers, so that their figures are displayed, until a batch was
    /// scored.
    pub(crate) async fn run_previews(&self) {
        // In lockstep, the order of all work is fixed.
        if self.task.is_lockstep {
            return;
        }
        let answers = || (!self.task.has_scored_batch()).then(|| self.batches.lock().answers_so_far());
        let (task, scorers) = (&self.task, &self.sinks.scorers);
        let preview = move |answers: Vec<Arc<SampleResult>>| async move {
            let (done, spent) = oneshot::channel();
            let request = PreviewRequest { task: Arc::clone(task), answers, done };
            // A full queue has batches, whose scores are recorded.
            scorers.try_send(ScoreRequest::Preview(request)).ok()?;
            spent.await.ok()
        };
        run_previews(answers, preview).await;
    }

    /// Sends a batch, if any, to the scorers. Returns false if they are gone.
    pub(crate) async fn score(
        &self,
        batch: Option<Vec<PendingAnswer>>,
        in_flight: &mut Option<OwnedSemaphorePermit>,
    ) -> bool {
        match batch {
            Some(batch) => {
                let (mark, wait) = lockstep(self.task.is_lockstep);
                let request = ScoreRequest::Batch(ScoreBatch { task: Arc::clone(&self.task), batch, mark });
                let is_sent = send(&self.sinks.scorers, request, in_flight).await;
                wait.into_iter().for_each(LockstepWait::wait);
                is_sent
            }
            None => true,
        }
    }
}

/// Sends an item to one of the threads of the run. Returns false if the thread is gone. If the queue is full, first releases
/// the `in_flight` permit to another sample, so that the model need not wait for later threads.
async fn send<T>(thread: &mpsc::Sender<T>, item: T, in_flight: &mut Option<OwnedSemaphorePermit>) -> bool {
    match thread.try_send(item) {
        Ok(()) => true,
        Err(TrySendError::Closed(_)) => false,
        Err(TrySendError::Full(item)) => {
            drop(in_flight.take());
            thread.send(item).await.is_ok()
        }
    }
}
