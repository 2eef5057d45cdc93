//! The dispatcher of a task: starts rows in order, as many at once as the permits allow. Workers ask the model, run the
//! post-inference steps and route the result.

use super::infer::{InferenceStep, SampleRequest};
use super::post_process::PostInferenceSteps;
use super::reply_media::ReplyMediaStore;
use super::result_router::{ResultRouter, RowResult};
use super::score::batches::PendingAnswer;
use crate::limits::budget;
use crate::limits::invalid_rows::InvalidRows;
use crate::limits::permits::{SamplePermits, SampleSlot};
use crate::plan::PlannedTask;
use crate::resume::row_work::{PreparedRow, RowWork};
use crate::run_error::RunError;
use crate::sample::result::SampleResult;
use gage_core::{Outcome, RecordedSample};
use gage_data::{Rejection, RejectionStage};
use gage_observe::SampleScope;
use gage_record::{ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;

/// Starts every row of a task. Shared by its workers.
pub(crate) struct Dispatcher {
    /// Locked while a row is taken and started, so that rows start in order.
    pub(crate) rows: tokio::sync::Mutex<mpsc::Receiver<RowWork>>,
    pub(crate) permits: Arc<SamplePermits>,
    pub(crate) inference: InferenceStep,
    pub(crate) post_inference: Option<PostInferenceSteps>,
    pub(crate) reply_media: Arc<ReplyMediaStore>,
    /// Counts samples that turn out to be invalid at inference.
    pub(crate) invalid: Arc<InvalidRows>,
    pub(crate) router: ResultRouter,
}

/// The report of the dispatcher.
pub(crate) struct DispatchReport {
    pub(crate) spent: Duration,
    pub(crate) begun: u64,
    /// Number of started rows that the model had answered in an earlier process.
    pub(crate) resumed: u64,
    /// True if a row was left unprocessed.
    pub(crate) is_cut_off: bool,
}

/// A started row, with its permits.
struct StartedRow {
    work: StartedWork,
    unscored: OwnedSemaphorePermit,
    in_flight: OwnedSemaphorePermit,
    /// The previous batch, if the start of this row completes it.
    completed_batch: Option<Vec<PendingAnswer>>,
}

enum StartedWork {
    /// A Sample for the model.
    Sample(SampleRequest),
    /// An invalid row. It is already counted, so that no row starts after one that ends the run.
    Rejected(Box<SampleRecord>),
    /// A sample that the model answered in an earlier process.
    Answered(Box<SampleRecord>),
    /// A sample that the model answered in an earlier process, and that still needs its judges.
    AwaitingJudges(Box<SampleRecord>),
}

impl StartedWork {
    fn sample_id(&self) -> &str {
        match self {
            StartedWork::Sample(request) => &request.sample.id,
            StartedWork::Rejected(record)
            | StartedWork::Answered(record)
            | StartedWork::AwaitingJudges(record) => &record.sample_id,
        }
    }
}

/// Counts of the rows that a worker processed in sequence.
#[derive(Default)]
struct WorkerReport {
    begun: u64,
    resumed: u64,
    /// Rows without a record.
    unrecorded: u64,
}

impl WorkerReport {
    fn add(&mut self, other: WorkerReport) {
        self.begun += other.begun;
        self.resumed += other.resumed;
        self.unrecorded += other.unrecorded;
    }
}

impl Dispatcher {
    /// Runs until there are no more rows or the task is stopped, and every started row is recorded.
    pub(crate) async fn run(self: Arc<Dispatcher>) -> Result<DispatchReport, RunError> {
        let began = Instant::now();
        let mut report = WorkerReport::default();
        // Ends when it is dropped.
        let mut previews = JoinSet::new();
        let dispatcher = Arc::clone(&self);
        previews.spawn(async move { dispatcher.router.run_previews().await });
        let mut workers: JoinSet<WorkerReport> = JoinSet::new();
        let spawned = self.spawn_workers(&mut workers, &mut report).await;
        // A prepared row that was not started is left over.
        let is_cut_off = {
            let mut rows = self.rows.lock().await;
            rows.close();
            rows.recv().await.is_some()
        };
        spawned?;
        while let Some(rows) = workers.join_next().await {
            report.add(rows.map_err(panicked)?);
        }
        previews.shutdown().await;
        self.router.finish().await;
        let spent = began.elapsed();
        self.permits.drained().await;
        let WorkerReport { begun, resumed, unrecorded } = report;
        Ok(DispatchReport { spent, begun, resumed, is_cut_off: is_cut_off || unrecorded > 0 })
    }

    /// Spawns a worker for every row that no existing worker takes, until there are no more rows or the task is stopped.
    async fn spawn_workers(
        self: &Arc<Dispatcher>,
        workers: &mut JoinSet<WorkerReport>,
        report: &mut WorkerReport,
    ) -> Result<(), RunError> {
        let mut next = pin!(self.next_row());
        loop {
            tokio::select! {
                biased;
                Some(rows) = workers.join_next() => report.add(rows.map_err(panicked)?),
                started = &mut next => {
                    let Some(started) = started else { return Ok(()) };
                    // Boxed, or the runtime would move the whole future three times.
                    workers.spawn(Box::pin(Arc::clone(self).run_worker(started)));
                    next.set(self.next_row());
                }
            }
        }
    }

    /// Waits for the next row with its permits. `None` if there are no more rows, the task is stopped, or too many are invalid.
    async fn next_row(&self) -> Option<StartedRow> {
        let Dispatcher { rows, permits, inference, invalid, .. } = self;
        // Acquire the permits before taking a row, so that no row is lost when the task is stopped.
        let next = async {
            let unscored = permits.unscored.acquire().await?;
            let in_flight = permits.in_flight.acquire().await?;
            if invalid.ends_inference() {
                return None;
            }
            let mut rows = rows.lock().await;
            let next = rows.recv().await?;
            Some(self.start_row(next, unscored, in_flight))
        };
        tokio::select! {
            biased;
            () = inference.task.stop.cancelled() => None,
            next = next => next,
        }
    }

    /// Processes a row, and then further rows with the same permit while some are ready. Spawning a future for each row
    /// would cost more and use the CPU caches less well.
    async fn run_worker(self: Arc<Dispatcher>, mut started: StartedRow) -> WorkerReport {
        let mut report = WorkerReport::default();
        loop {
            let scope = SampleScope::new(&self.router.task.marker.id, started.work.sample_id());
            let RowResult { is_recorded, was_resumed, in_flight } = scope.scope(self.run_row(started)).await;
            *if is_recorded { &mut report.begun } else { &mut report.unrecorded } += 1;
            report.resumed += u64::from(is_recorded && was_resumed);
            match in_flight.and_then(|in_flight| self.try_next_row(in_flight)) {
                Some(next) => started = next,
                None => return report,
            }
        }
    }

    /// Starts the next row, if one is ready.
    fn try_next_row(&self, in_flight: OwnedSemaphorePermit) -> Option<StartedRow> {
        let unscored = self.permits.unscored.try_acquire()?;
        let mut rows = self.rows.try_lock().ok()?;
        // The previous row may have ended the run, and its worker is the first to know.
        if self.inference.task.stop.is_cancelled() || self.invalid.ends_inference() {
            return None;
        }
        let next = rows.try_recv().ok()?;
        Some(self.start_row(next, unscored, in_flight))
    }

    /// Starts a row. The caller holds the lock on the rows, so that they start in order.
    fn start_row(
        &self,
        next: RowWork,
        unscored: OwnedSemaphorePermit,
        in_flight: OwnedSemaphorePermit,
    ) -> StartedRow {
        let task = &self.router.task;
        let (index, work) = match next {
            RowWork::Row(PreparedRow {
                index,
                row_digest,
                preprocess_ms,
                has_failed_before,
                result: Ok(sample),
            }) => {
                let sample_slot = None;
                let request = SampleRequest {
                    index,
                    row_digest,
                    preprocess_ms,
                    has_failed_before,
                    sample,
                    sample_slot,
                };
                (index, StartedWork::Sample(request))
            }
            RowWork::Row(PreparedRow { index, row_digest, result: Err(rejection), .. }) => {
                let record = record_of(&task.planned, index, row_digest, *rejection);
                task.on_finished(record.outcome, &record.sample_id);
                (index, StartedWork::Rejected(Box::new(record)))
            }
            RowWork::Answered(record) => (record.index, StartedWork::Answered(record)),
            RowWork::AwaitingJudges(record) => (record.index, StartedWork::AwaitingJudges(record)),
        };
        StartedRow { work, unscored, in_flight, completed_batch: self.router.begin_row(index) }
    }

    /// Processes a started row.
    async fn run_row(&self, started: StartedRow) -> RowResult {
        let StartedRow { work, unscored, in_flight, completed_batch } = started;
        // The row keeps its permit while it waits here.
        if !self.router.score(completed_batch, &mut None).await {
            // The scorers are gone, so the run is ending.
            return RowResult { is_recorded: false, was_resumed: false, in_flight: None };
        }
        match work {
            StartedWork::Sample(sample) => {
                budget::track_usage(self.infer_row(sample, in_flight, unscored)).await
            }
            StartedWork::Rejected(record) => {
                self.router.record_finished(record, false, Some(in_flight)).await
            }
            StartedWork::Answered(record) => {
                let answer = Arc::new(SampleResult::of_record(*record));
                let (index, mut in_flight) = (answer.index, Some(in_flight));
                // The answer is already in the journal.
                let pending = PendingAnswer { answer, unscored };
                let is_recorded = self.router.end_row(index, Some(pending), &mut in_flight).await;
                RowResult { is_recorded, was_resumed: true, in_flight }
            }
            StartedWork::AwaitingJudges(record) => {
                let result = Box::new(SampleResult::awaiting_judges(*record));
                Box::pin(budget::track_usage(self.judge_row(result, in_flight, unscored))).await
            }
        }
    }

    /// Asks the model about a sample, runs the post-inference steps, and routes the result.
    async fn infer_row(
        &self,
        sample: SampleRequest,
        in_flight: OwnedSemaphorePermit,
        unscored: OwnedSemaphorePermit,
    ) -> RowResult {
        let (router, index) = (&self.router, sample.index);
        let slot: SampleSlot = Arc::new(Mutex::new(Some(in_flight)));
        // If the task bounds its samples in flight, a waiting sample still counts.
        let sample_slot = self.permits.unsynced.is_some().then(|| Arc::clone(&slot));
        let result = self.inference.infer(SampleRequest { sample_slot, ..sample }).await;
        let result = match result {
            Some(result) => self.reply_media.store(result).await,
            None => None,
        };
        let result = result.map(|result| router.without_secrets(result));
        let in_flight = slot.lock().take();
        let is_first = index.is_multiple_of(router.task.planned.spec.repeat.max(1));
        if let Some(message) =
            result.as_ref().filter(|_| is_first).and_then(|result| result.invalid_message())
        {
            self.invalid.add_late(message);
        }
        let judged = match result {
            Some(result) => self.run_post_inference(result).await,
            None => None,
        };
        router.row_ended(index, judged, in_flight, unscored).await
    }

    /// Runs the post-inference steps of a sample that the model answered in an earlier process, and routes the result.
    async fn judge_row(
        &self,
        result: Box<SampleResult>,
        in_flight: OwnedSemaphorePermit,
        unscored: OwnedSemaphorePermit,
    ) -> RowResult {
        let index = result.index;
        let judged = self.run_post_inference(result).await;
        RowResult {
            was_resumed: true,
            ..self.router.row_ended(index, judged, Some(in_flight), unscored).await
        }
    }

    /// Runs the post-inference steps of an answer, if the task has any. The future is boxed, so that a sample without such steps
    /// reserves no space for them.
    async fn run_post_inference(&self, result: Box<SampleResult>) -> Option<Box<SampleResult>> {
        match &self.post_inference {
            Some(steps) if result.outcome == Outcome::Scored => {
                Box::pin(self.router.run_post_inference(steps, result)).await
            }
            _ => Some(result),
        }
    }
}

/// Returns the error for a future that ended without a result.
fn panicked(_: tokio::task::JoinError) -> RunError {
    RunError::Internal("request")
}

/// Returns the record of a row that did not become a Sample.
fn record_of(task: &PlannedTask, index: u64, row_digest: String, rejection: Rejection) -> SampleRecord {
    let stage = match rejection.stage {
        RejectionStage::Load => Stage::Load,
        RejectionStage::Preprocess => Stage::Preprocess,
    };
    let clean = |text: String| match task.scoring.redacts_secrets {
        true => gage_secrets::redact(&text).into_owned(),
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
        sample: RecordedSample::default(),
        row: Some(clean(rejection.row.into_string())),
        support_output: None,
        model_output: None,
        judge_output: None,
        metrics: Vec::new(),
        timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..SampleTiming::default() },
        timing_metrics: Vec::new(),
    }
}
