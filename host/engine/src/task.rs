//! One task: its rows are read, the sample loop runs, and both end together. What scores and what records
//! belongs to the run.

use crate::active::ActiveTask;
use crate::batches::{Batches, Waiting};
use crate::behind::Behind;
use crate::earlier::Earlier;
use crate::inference::{Asking, Inferred};
use crate::invalid::{InvalidRows, TooManyInvalid};
use crate::place::{Lent, Rooms};
use crate::plan::PlannedTask;
use crate::progress::Progress;
use crate::reader::{Ahead, Next, ReadError, Row, read};
use crate::recorder::{ToRecord, What};
use crate::run::RunError;
use crate::scoring::ToScore;
use crate::spending;
use crate::stop::Stop;
use crate::support::Helper;
use gage_backend::Backend;
use gage_config::LoopMode;
use gage_core::{Outcome, Sample, spawn_named};
use gage_data::{DataError, MissingField, Preparation, Rejection, RejectionStage, Rows};
use gage_record::{ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

/// How many answers may wait for a neighbour that takes long, beyond those in flight: so many for each request
/// in flight. A request that hangs takes as long as hundreds of others, and one in a hundred is enough to
/// have every third batch wait.
const WAITING_EACH: usize = 16;
/// The same of a task with few or very many requests in flight; the least is what 16 batches hold.
const WAITING: std::ops::RangeInclusive<usize> = 512..=8_192;

/// What a task needs besides its plan.
pub(crate) struct TaskInput<'a> {
    pub(crate) task: Arc<ActiveTask>,
    pub(crate) backend: Arc<dyn Backend>,
    /// Who is asked about answers.
    pub(crate) behind: Option<Behind>,
    /// Who finds something for the model to read, in order.
    pub(crate) support: Vec<Helper>,
    /// Who answers the model's calls of tools.
    pub(crate) tools: Option<Helper>,
    pub(crate) rows: Rows,
    pub(crate) preparation: Preparation,
    pub(crate) earlier: Option<Earlier>,
    /// Requests of the model under test in flight.
    pub(crate) concurrency: usize,
    /// Bounds the requests of the role, in all tasks.
    pub(crate) permits: Arc<Semaphore>,
    /// Threads that prepare rows.
    pub(crate) workers: usize,
    pub(crate) scorers: mpsc::Sender<ToScore>,
    pub(crate) recorder: mpsc::Sender<ToRecord>,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) runtime: &'a Handle,
}

/// What came of a task, and how long its phases took.
pub(crate) struct TaskOutput {
    /// How many samples were begun, all of which are recorded unless the journal cannot be written.
    pub(crate) begun: u64,
    /// How many of them an earlier process had asked the model about: these were only judged and scored.
    pub(crate) earlier: u64,
    /// Whether rows are left that this process should have done.
    pub(crate) is_cut_off: bool,
    /// How many records there are to be in all, where that is known.
    pub(crate) planned: Option<u64>,
    /// Rows that the dataset's filter left out.
    pub(crate) filtered: u64,
    /// Fields that the filter names and that no row had.
    pub(crate) missing_fields: Vec<MissingField>,
    pub(crate) too_many_invalid: Option<TooManyInvalid>,
    pub(crate) failure: Option<DataError>,
    pub(crate) reading: Duration,
    pub(crate) inference: Duration,
}

impl TaskOutput {
    /// A task whose data cannot be read at all.
    pub(crate) fn unread(failure: DataError) -> TaskOutput {
        TaskOutput {
            begun: 0,
            earlier: 0,
            is_cut_off: false,
            planned: None,
            filtered: 0,
            missing_fields: Vec::new(),
            too_many_invalid: None,
            failure: Some(failure),
            reading: Duration::ZERO,
            inference: Duration::ZERO,
        }
    }
}

/// Runs a task to its end, or until it is stopped. Whatever happens, every sample that was
/// begun is recorded before this returns, unless the journal cannot be written.
///
/// Must not be called from within the async runtime: this thread waits.
pub(crate) fn run_task(input: TaskInput<'_>) -> Result<TaskOutput, RunError> {
    let TaskInput { task, backend, behind, permits, rows, preparation, earlier, .. } = input;
    let (progress, runtime, workers) = (input.progress, input.runtime, input.workers);
    let planned = Arc::clone(&task.planned);
    let spec = &planned.spec;
    let invalid = Arc::new(InvalidRows::new(&planned.dataset.spec, rows.total()));
    let concurrency = spec.concurrency.map_or(input.concurrency, |own| own.min(input.concurrency));
    let inflight = match spec.mode {
        LoopMode::Sequential => 1,
        LoopMode::FireAndForget => spec.max_inflight.unwrap_or(concurrency.saturating_mul(2)).max(1),
    };
    let is_bounded = spec.mode == LoopMode::Sequential || spec.max_inflight.is_some();
    let waiting = concurrency.saturating_mul(WAITING_EACH).clamp(*WAITING.start(), *WAITING.end());
    let ahead = concurrency.saturating_mul(spec.prefetch_factor).max(1);
    let (next_sender, next) = mpsc::channel::<Next>(ahead);
    let sample_loop = SampleLoop {
        // A batch has room, for rows come in order.
        held: Room::new(inflight.saturating_add(waiting)),
        inflight: Room::new(inflight),
        stop: task.stop.clone(),
        work: Arc::new(Work {
            behind,
            invalid: Arc::clone(&invalid),
            hand: Hand {
                task: Arc::clone(&task),
                unsynced: (!is_bounded).then(|| Room::new(waiting)),
                batches: Mutex::default(),
                scorers: input.scorers,
                recorder: input.recorder,
            },
            asking: Asking {
                backend,
                media: Arc::clone(&preparation.media),
                rooms: Arc::new(Rooms {
                    of_task: spec.concurrency.map(|own| Semaphore::new(own.min(Semaphore::MAX_PERMITS))),
                    of_role: permits,
                    shown: Some((progress, Arc::clone(&task))),
                }),
                task: Arc::clone(&task),
                support: input.support,
                tools: input.tools,
            },
        }),
    };
    let (reading, looped) = std::thread::scope(|threads| {
        let (stop, invalid) = (&task.stop, &*invalid);
        // Takes the sender along: the loop ends when it is gone.
        let reader = spawn_named(threads, "rows", move || {
            let _guard = StopOnPanic(stop);
            let ahead = Ahead::new(&next_sender, ahead, runtime);
            read(rows, &preparation, workers, invalid, earlier.as_ref(), spec.repeat, ahead, stop)
        });
        // Within the runtime, for it spawns a task for each row, and whoever wakes it is there too.
        let looped = runtime.block_on(runtime.spawn(sample_loop.run(next)));
        (reader.join(), looped)
    });
    let reading = reading.map_err(|_| RunError::Panicked("reader"))?;
    let Looped { spent, begun, earlier, is_cut_off } =
        looped.map_err(|_| RunError::Panicked("sample loop"))??;
    match reading {
        Ok(read) => Ok(TaskOutput {
            begun,
            earlier,
            // Where the data ends it, no further process would get on.
            is_cut_off: task.stop.is_set() && (is_cut_off || !read.is_whole),
            planned: None,
            filtered: read.filtered,
            missing_fields: read.missing_fields,
            too_many_invalid: if task.stop.is_set() { None } else { invalid.finish() },
            failure: read.failure,
            reading: read.spent,
            inference: spent,
        }),
        Err(ReadError::Record(error)) => Err(RunError::Record(error)),
        Err(error @ ReadError::Changed { .. }) => Err(RunError::Changed {
            dataset: planned.dataset.spec.shown_source(),
            message: error.to_string(),
        }),
    }
}

/// Asks for the end of the run where its thread ends by a panic.
pub(crate) struct StopOnPanic<'s>(pub(crate) &'s Stop);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set();
        }
    }
}

/// So many permits, all of which come back in the end.
struct Room {
    permits: Arc<Semaphore>,
    all: u32,
}

impl Room {
    fn new(size: usize) -> Room {
        let all = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Room { permits: Arc::new(Semaphore::new(all as usize)), all }
    }

    async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Waits until everybody has given back what was taken.
    async fn is_empty(&self) {
        drop(self.permits.acquire_many(self.all).await);
    }
}

/// Hands every row to the model, as many at once as are allowed.
struct SampleLoop {
    /// Bounds the samples between loading and the journal.
    inflight: Room,
    /// Bounds the answers that wait for their neighbours, and with them the samples in flight.
    held: Room,
    stop: Stop,
    work: Arc<Work>,
}

/// What is done with each row of a task; its samples share it.
struct Work {
    asking: Asking,
    /// Who is asked about answers.
    behind: Option<Behind>,
    /// Counts what turns out to be no Sample when it is to be asked.
    invalid: Arc<InvalidRows>,
    hand: Hand,
}

/// What came of the sample loop.
struct Looped {
    spent: Duration,
    begun: u64,
    /// Those of them that an earlier process had asked the model about.
    earlier: u64,
    /// Whether it left a row that it was given.
    is_cut_off: bool,
}

/// How a row that was begun ended.
struct RowEnd {
    /// Whether it has a record; else the run was stopped.
    is_recorded: bool,
    /// Whether an earlier process had asked the model.
    is_earlier: bool,
}

/// Hands on what came of a row.
struct Hand {
    task: Arc<ActiveTask>,
    /// Bounds the samples that only wait for the disk; where the task bounds those in flight, they are among these.
    unsynced: Option<Room>,
    batches: Mutex<Batches>,
    scorers: mpsc::Sender<ToScore>,
    recorder: mpsc::Sender<ToRecord>,
}

impl SampleLoop {
    /// Runs until there are no more rows or the task is stopped, and what was begun is recorded.
    async fn run(self, mut rows: mpsc::Receiver<Next>) -> Result<Looped, RunError> {
        let began = Instant::now();
        let (mut begun, mut earlier, mut left) = (0, 0, 0_u64);
        let mut requests: JoinSet<RowEnd> = JoinSet::new();
        let mut count = |result: Result<RowEnd, tokio::task::JoinError>| {
            let RowEnd { is_recorded, is_earlier } = result.map_err(|_| RunError::Panicked("request"))?;
            *if is_recorded { &mut begun } else { &mut left } += 1;
            earlier += u64::from(is_recorded && is_earlier);
            Ok::<(), RunError>(())
        };
        let mut is_cut_off = false;
        while let Some((next, held, permit)) = self.next(&mut rows).await {
            while let Some(result) = requests.try_join_next() {
                count(result)?;
            }
            let hand = &self.work.hand;
            let row = match next {
                Next::Answered(record) => {
                    let inferred = Arc::new(Inferred::of_record(*record));
                    if !hand.begin(inferred.index).await {
                        break;
                    }
                    // It is in the journal already.
                    drop(permit);
                    let is_recorded = hand.end(inferred.index, Some(Waiting { inferred, held })).await;
                    count(Ok(RowEnd { is_recorded, is_earlier: true }))?;
                    continue;
                }
                Next::Unjudged(record) => {
                    let inferred = Box::new(Inferred::unjudged(*record));
                    if !hand.begin(inferred.index).await {
                        is_cut_off = true;
                        break;
                    }
                    let work = Arc::clone(&self.work);
                    requests.spawn(Box::pin(spending::noting(work.judge(inferred, permit, held))));
                    continue;
                }
                Next::Row(row) => row,
            };
            if !hand.begin(row.index).await {
                is_cut_off = true;
                break;
            }
            let Row { index, row_digest, result } = row;
            match result {
                Err(rejection) => {
                    let record = Box::new(record_of(&hand.task.planned, index, row_digest, *rejection));
                    let is_recorded = hand.finished(record, false, Some(permit)).await;
                    count(Ok(RowEnd { is_recorded, is_earlier: false }))?;
                }
                Ok(sample) => {
                    let work = Arc::clone(&self.work);
                    // In a box, or the runtime would move all of it three times.
                    requests
                        .spawn(Box::pin(spending::noting(work.ask(index, row_digest, sample, permit, held))));
                }
            }
        }
        // What is prepared and has no turn any more is left.
        rows.close();
        is_cut_off |= rows.recv().await.is_some();
        drop(rows);
        while let Some(result) = requests.join_next().await {
            count(result)?;
        }
        self.work.hand.finish().await;
        let spent = began.elapsed();
        self.inflight.is_empty().await;
        if let Some(unsynced) = &self.work.hand.unsynced {
            unsynced.is_empty().await;
        }
        self.held.is_empty().await;
        Ok(Looped { spent, begun, earlier, is_cut_off: is_cut_off || left > 0 })
    }

    /// The next row, with room for it; none when there is no more, the task is stopped, or too many were no Samples.
    async fn next(
        &self,
        rows: &mut mpsc::Receiver<Next>,
    ) -> Option<(Next, OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        // Room before the row: a row that was taken is not lost where the task is stopped.
        let next = async {
            let held = self.held.take().await?;
            let permit = self.inflight.take().await?;
            if self.work.invalid.ends_asking() {
                return None;
            }
            Some((rows.recv().await?, held, permit))
        };
        tokio::select! {
            biased;
            () = self.stop.wait() => None,
            next = next => next,
        }
    }
}

impl Work {
    /// Asks the model about a sample, has it judged, and hands it on.
    async fn ask(
        self: Arc<Work>,
        index: u64,
        row_digest: String,
        sample: Arc<Sample>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        let hand = &self.hand;
        let permit: Lent = Arc::new(Mutex::new(Some(permit)));
        // Where the task bounds its samples, one that waits is among them.
        let lent = hand.unsynced.is_some().then(|| Arc::clone(&permit));
        let inferred = self.asking.infer(index, row_digest, sample, lent).await;
        let inferred = inferred.map(|inferred| hand.without_secrets(inferred));
        let permit = permit.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_first = index.is_multiple_of(hand.task.planned.spec.repeat.max(1));
        if let Some(wrong) = inferred.as_ref().filter(|_| is_first).and_then(|inferred| inferred.wrong()) {
            self.invalid.found_late(wrong);
        }
        let judged = match inferred {
            Some(inferred) => self.judged(inferred).await,
            None => None,
        };
        let is_recorded = hand.ended(index, judged, permit, held).await;
        RowEnd { is_recorded, is_earlier: false }
    }

    /// The same of a sample that the model answered in an earlier process.
    async fn judge(
        self: Arc<Work>,
        inferred: Box<Inferred>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        let index = inferred.index;
        let judged = self.judged(inferred).await;
        let is_recorded = self.hand.ended(index, judged, Some(permit), held).await;
        RowEnd { is_recorded, is_earlier: true }
    }

    /// Has further models asked about an answer, where the task has some. In a box, so that a sample without such steps has
    /// no room for them.
    async fn judged(&self, inferred: Box<Inferred>) -> Option<Box<Inferred>> {
        match &self.behind {
            Some(behind) if inferred.outcome == Outcome::Scored => {
                Box::pin(self.hand.asked(behind, inferred)).await
            }
            _ => Some(inferred),
        }
    }
}

impl Hand {
    /// A row is on its way.
    async fn begin(&self, index: u64) -> bool {
        let complete = self.open().begin(index);
        self.score(complete).await
    }

    /// Has further models asked about an answer; it is in the journal before they are. Nothing where the run is stopped
    /// before they have replied.
    async fn asked(&self, behind: &Behind, inferred: Box<Inferred>) -> Option<Box<Inferred>> {
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
    fn without_secrets(&self, mut inferred: Box<Inferred>) -> Box<Inferred> {
        if self.task.planned.scoring.blanks_secrets {
            inferred.blank_secrets();
        }
        inferred
    }

    /// Hands on what came of a row; nothing did where the run is stopped. Returns whether it is recorded.
    async fn ended(
        &self,
        index: u64,
        inferred: Option<Box<Inferred>>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> bool {
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
                self.finished(record, is_earlier, permit).await
            }
            None => {
                self.end(index, None).await;
                false
            }
        }
    }

    /// An answer goes to the journal at once, and to the scorers with its neighbours.
    async fn answered(
        &self,
        inferred: Box<Inferred>,
        permit: Option<OwnedSemaphorePermit>,
        held: OwnedSemaphorePermit,
    ) -> bool {
        let inferred: Arc<Inferred> = Arc::from(inferred);
        let is_recorded = self.record(What::Answer(Arc::clone(&inferred)), permit).await;
        self.end(inferred.index, Some(Waiting { inferred, held })).await && is_recorded
    }

    /// A sample that needs no scores goes to the journal.
    async fn finished(
        &self,
        record: Box<SampleRecord>,
        is_earlier: bool,
        permit: Option<OwnedSemaphorePermit>,
    ) -> bool {
        let index = record.index;
        self.task.finished(record.outcome, &record.sample_id);
        let is_recorded = self.record(What::Whole(record, is_earlier), permit).await;
        self.end(index, None).await && is_recorded
    }

    async fn record(&self, what: What, permit: Option<OwnedSemaphorePermit>) -> bool {
        let place = match &self.unsynced {
            // The next sample need not wait for the disk.
            Some(room) => {
                let place = room.take().await;
                drop(permit);
                place
            }
            None => permit,
        };
        // Rooms are never closed.
        let Some(permit) = place else { return false };
        let (task, is_awaited) = (Arc::clone(&self.task), self.unsynced.is_none());
        self.recorder.send(ToRecord { task, what, permit: Some(permit), is_awaited }).await.is_ok()
    }

    /// A row has ended; its batch is scored where it was the last.
    async fn end(&self, index: u64, answer: Option<Waiting>) -> bool {
        let complete = self.open().end(index, answer);
        self.score(complete).await
    }

    /// No more rows come.
    async fn finish(&self) {
        let batches = self.open().finish();
        for batch in batches {
            self.score(Some(batch)).await;
        }
    }

    async fn score(&self, batch: Option<Vec<Waiting>>) -> bool {
        match batch {
            Some(batch) => self.scorers.send(ToScore { task: Arc::clone(&self.task), batch }).await.is_ok(),
            None => true,
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The record of a row that did not become a Sample.
fn record_of(task: &PlannedTask, index: u64, row_digest: String, rejection: Rejection) -> SampleRecord {
    let stage = match rejection.stage {
        RejectionStage::Load => Stage::Load,
        RejectionStage::Preprocess => Stage::Preprocess,
    };
    let clean = |text: String| match task.scoring.blanks_secrets {
        true => gage_core::without_secrets(&text).into_owned(),
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
