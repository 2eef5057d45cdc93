//! The sample loop: rows are taken one after the other, as many at once as are allowed, and each is asked about, judged and
//! handed on.

use crate::limits::budget;
use crate::limits::drainable_semaphore::DrainableSemaphore;
use crate::limits::invalid_rows::InvalidRows;
use crate::limits::permits::SampleSlot;
use crate::pipeline::infer::{InferenceStep, SampleResult};
use crate::pipeline::post_process::PostInferenceSteps;
use crate::pipeline::read::{PreparedRow, RowWork};
use crate::pipeline::result_router::{ResultRouter, RowResult};
use crate::pipeline::score::batches::PendingAnswer;
use crate::plan::PlannedTask;
use crate::run::RunError;
use gage_core::{Outcome, Sample};
use gage_data::{Rejection, RejectionStage};
use gage_record::{ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;

/// Hands every row to the model, as many at once as are allowed.
pub(crate) struct Dispatcher {
    /// Bounds the samples between loading and the journal.
    pub(crate) inflight: DrainableSemaphore,
    pub(crate) context: Arc<WorkerContext>,
}

/// What is done with each row of a task; its samples share it.
pub(crate) struct WorkerContext {
    /// Whoever has it takes the next row and begins it, so that rows begin in their order.
    pub(crate) rows: tokio::sync::Mutex<mpsc::Receiver<RowWork>>,
    /// Bounds the answers that wait for their neighbours, and with them the samples in flight.
    pub(crate) buffered_answers: DrainableSemaphore,
    pub(crate) inference: InferenceStep,
    /// Who is asked about answers.
    pub(crate) post_inference: Option<PostInferenceSteps>,
    /// Counts what turns out to be no Sample when it is to be asked.
    pub(crate) invalid: Arc<InvalidRows>,
    pub(crate) router: ResultRouter,
}

/// What came of the sample loop.
pub(crate) struct DispatchReport {
    pub(crate) spent: Duration,
    pub(crate) begun: u64,
    /// Those of them that an earlier process had asked the model about.
    pub(crate) earlier: u64,
    /// Whether it left a row that it was given.
    pub(crate) is_cut_off: bool,
}

/// A row that was begun, with the room that it takes up.
struct StartedRow {
    row: StartedWork,
    held: OwnedSemaphorePermit,
    permit: OwnedSemaphorePermit,
    /// The batch before it, where that only waited for this row.
    complete: Option<Vec<PendingAnswer>>,
}

enum StartedWork {
    /// It is for the model.
    Sample(u64, String, Arc<Sample>),
    /// It is no Sample; counted already, so that nothing begins behind one that ends the run.
    Rejected(Box<SampleRecord>),
    /// The model has answered it in an earlier process.
    Answered(Box<SampleRecord>),
    /// The same, and its judges are to be asked.
    AwaitingJudges(Box<SampleRecord>),
}

/// How rows ended that were done one after the other.
#[derive(Default)]
struct WorkerReport {
    begun: u64,
    earlier: u64,
    /// Those that have no record.
    left: u64,
}

impl WorkerReport {
    fn add(&mut self, other: WorkerReport) {
        self.begun += other.begun;
        self.earlier += other.earlier;
        self.left += other.left;
    }
}

impl Dispatcher {
    /// Runs until there are no more rows or the task is stopped, and what was begun is recorded.
    pub(crate) async fn run(self) -> Result<DispatchReport, RunError> {
        let began = Instant::now();
        let mut ended = WorkerReport::default();
        let mut tasks: JoinSet<WorkerReport> = JoinSet::new();
        let spread = self.spawn_workers(&mut tasks, &mut ended).await;
        // What is prepared and has no turn any more is left.
        let is_cut_off = {
            let mut rows = self.context.rows.lock().await;
            rows.close();
            rows.recv().await.is_some()
        };
        spread?;
        while let Some(rows) = tasks.join_next().await {
            ended.add(rows.map_err(panicked)?);
        }
        self.context.router.finish().await;
        let spent = began.elapsed();
        self.inflight.drained().await;
        if let Some(unsynced) = &self.context.router.unsynced {
            unsynced.drained().await;
        }
        self.context.buffered_answers.drained().await;
        let WorkerReport { begun, earlier, left } = ended;
        Ok(DispatchReport { spent, begun, earlier, is_cut_off: is_cut_off || left > 0 })
    }

    /// Gives every row to a task of its own, but for those that tasks take themselves; until there are no more, or the task is
    /// stopped.
    async fn spawn_workers(
        &self,
        tasks: &mut JoinSet<WorkerReport>,
        ended: &mut WorkerReport,
    ) -> Result<(), RunError> {
        let mut next = pin!(self.next_row());
        loop {
            tokio::select! {
                biased;
                Some(rows) = tasks.join_next() => ended.add(rows.map_err(panicked)?),
                begun = &mut next => {
                    let Some(begun) = begun else { return Ok(()) };
                    // In a box, or the runtime would move all of it three times.
                    tasks.spawn(Box::pin(Arc::clone(&self.context).run_worker(begun)));
                    next.set(self.next_row());
                }
            }
        }
    }

    /// The next row, with room for it; none when there is no more, the task is stopped, or too many were no Samples.
    async fn next_row(&self) -> Option<StartedRow> {
        let WorkerContext { rows, buffered_answers: held, inference: asking, invalid, .. } = &*self.context;
        // Room before the row: a row that was taken is not lost where the task is stopped.
        let next = async {
            let held = held.acquire().await?;
            let permit = self.inflight.acquire().await?;
            if invalid.ends_inference() {
                return None;
            }
            let mut rows = rows.lock().await;
            let next = rows.recv().await?;
            Some(self.context.start_row(next, held, permit))
        };
        tokio::select! {
            biased;
            () = asking.task.stop.cancelled() => None,
            next = next => next,
        }
    }
}

impl WorkerContext {
    /// Does a row, and then others in the same room for as long as some are there. A task of the runtime for each would cost
    /// more, and find less of what it needs in the caches.
    async fn run_worker(self: Arc<WorkerContext>, mut begun: StartedRow) -> WorkerReport {
        let mut ended = WorkerReport::default();
        loop {
            let RowResult { is_recorded, was_resumed: is_earlier, sample_slot: room } =
                self.run_row(begun).await;
            *if is_recorded { &mut ended.begun } else { &mut ended.left } += 1;
            ended.earlier += u64::from(is_recorded && is_earlier);
            match room.and_then(|room| self.try_next_row(room)) {
                Some(next) => begun = next,
                None => return ended,
            }
        }
    }

    /// The next row, where nobody has to wait for it.
    fn try_next_row(&self, permit: OwnedSemaphorePermit) -> Option<StartedRow> {
        let held = self.buffered_answers.try_acquire()?;
        let mut rows = self.rows.try_lock().ok()?;
        // The row before may have ended the run, of which its holder was the first to know.
        if self.inference.task.stop.is_cancelled() || self.invalid.ends_inference() {
            return None;
        }
        let next = rows.try_recv().ok()?;
        Some(self.start_row(next, held, permit))
    }

    /// Begins a row. Whoever does holds the rows, so that they begin in their order.
    fn start_row(
        &self,
        next: RowWork,
        held: OwnedSemaphorePermit,
        permit: OwnedSemaphorePermit,
    ) -> StartedRow {
        let task = &self.router.task;
        let (index, row) = match next {
            RowWork::Row(PreparedRow { index, row_digest, result: Ok(sample) }) => {
                (index, StartedWork::Sample(index, row_digest, sample))
            }
            RowWork::Row(PreparedRow { index, row_digest, result: Err(rejection) }) => {
                let record = record_of(&task.planned, index, row_digest, *rejection);
                task.on_finished(record.outcome, &record.sample_id);
                (index, StartedWork::Rejected(Box::new(record)))
            }
            RowWork::Answered(record) => (record.index, StartedWork::Answered(record)),
            RowWork::AwaitingJudges(record) => (record.index, StartedWork::AwaitingJudges(record)),
        };
        StartedRow { row, held, permit, complete: self.router.begin_row(index) }
    }

    /// Does a row.
    async fn run_row(&self, begun: StartedRow) -> RowResult {
        let StartedRow { row, held, permit, complete } = begun;
        // What waits here has its room, as all that is begun.
        if !self.router.score(complete, &mut None).await {
            // Nobody scores any more: the run ends.
            return RowResult { is_recorded: false, was_resumed: false, sample_slot: None };
        }
        match row {
            StartedWork::Sample(index, row_digest, sample) => {
                budget::track_usage(self.infer_row(index, row_digest, sample, permit, held)).await
            }
            StartedWork::Rejected(record) => self.router.record_finished(record, false, Some(permit)).await,
            StartedWork::Answered(record) => {
                let inferred = Arc::new(SampleResult::of_record(*record));
                let (index, mut room) = (inferred.index, Some(permit));
                // It is in the journal already.
                let is_recorded =
                    self.router.end_row(index, Some(PendingAnswer { inferred, held }), &mut room).await;
                RowResult { is_recorded, was_resumed: true, sample_slot: room }
            }
            StartedWork::AwaitingJudges(record) => {
                let inferred = Box::new(SampleResult::awaiting_judges(*record));
                Box::pin(budget::track_usage(self.judge_row(inferred, permit, held))).await
            }
        }
    }

    /// Asks the model about a sample, has it judged, and hands it on.
    async fn infer_row(
        &self,
        index: u64,
        row_digest: String,
        sample: Arc<Sample>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowResult {
        let hand = &self.router;
        let permit: SampleSlot = Arc::new(Mutex::new(Some(permit)));
        // Where the task bounds its samples, one that waits is among them.
        let lent = hand.unsynced.is_some().then(|| Arc::clone(&permit));
        let inferred = self.inference.infer(index, row_digest, sample, lent).await;
        let inferred = inferred.map(|inferred| hand.without_secrets(inferred));
        let permit = permit.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_first = index.is_multiple_of(hand.task.planned.spec.repeat.max(1));
        if let Some(wrong) =
            inferred.as_ref().filter(|_| is_first).and_then(|inferred| inferred.invalid_message())
        {
            self.invalid.add_late(wrong);
        }
        let judged = match inferred {
            Some(inferred) => self.run_post_inference(inferred).await,
            None => None,
        };
        hand.row_ended(index, judged, permit, held).await
    }

    /// The same of a sample that the model answered in an earlier process.
    async fn judge_row(
        &self,
        inferred: Box<SampleResult>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowResult {
        let index = inferred.index;
        let judged = self.run_post_inference(inferred).await;
        RowResult { was_resumed: true, ..self.router.row_ended(index, judged, Some(permit), held).await }
    }

    /// Has further models asked about an answer, where the task has some. In a box, so that a sample without such steps has
    /// no room for them.
    async fn run_post_inference(&self, inferred: Box<SampleResult>) -> Option<Box<SampleResult>> {
        match &self.post_inference {
            Some(behind) if inferred.outcome == Outcome::Scored => {
                Box::pin(self.router.run_post_inference(behind, inferred)).await
            }
            _ => Some(inferred),
        }
    }
}

/// What a task ended by that has no end of its own.
fn panicked(_: tokio::task::JoinError) -> RunError {
    RunError::Panicked("request")
}

/// The record of a row that did not become a Sample.
fn record_of(task: &PlannedTask, index: u64, row_digest: String, rejection: Rejection) -> SampleRecord {
    let stage = match rejection.stage {
        RejectionStage::Load => Stage::Load,
        RejectionStage::Preprocess => Stage::Preprocess,
    };
    let clean = |text: String| match task.scoring.blanks_secrets {
        true => gage_core::redact(&text).into_owned(),
        false => text,
    };
    SampleRecord {
        task_id: task.spec.task_id.clone(),
        index,
        sample_id: clean(rejection.id),
        row_digest,
        outcome: rejection.outcome,
        error: Some(ErrorNote {
            stage,
            kind: rejection.kind,
            message: rejection.message,
            pointer: rejection.pointer,
        }),
        sample: Value::Null,
        row: Some(clean(rejection.row.into_string())),
        support_output: None,
        model_output: None,
        judge_output: None,
        metrics: Vec::new(),
        timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..SampleTiming::default() },
        timing_metrics: Vec::new(),
    }
}
