//! One task: the threads are started, the sample loop runs, and all of them end together.

use crate::batches::{BATCH, Batches, Waiting};
use crate::earlier::Earlier;
use crate::events::Events;
use crate::inference::{Inferred, infer};
use crate::judging::Judging;
use crate::plan::PlannedTask;
use crate::progress::Progress;
use crate::reader::{InvalidRows, Next, ReadError, TooManyInvalid, read};
use crate::recorder::{self, ToRecord, What};
use crate::run::RunError;
use crate::scoring::{self, Queue};
use crate::stop::Stop;
use gage_backend::Backend;
use gage_core::{Outcome, OutcomeCounts};
use gage_data::{DataError, MediaStore, Preparation, Rejection, RejectionStage, Rows};
use gage_record::{ErrorNote, JournalWriter, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

/// Samples that are prepared ahead of the sample loop, as a multiple of the concurrency.
const PREFETCH: usize = 2;
/// Entries that may wait for the recorder.
const ENTRIES_WAITING: usize = 512;
/// Batches that may wait for a scorer.
const BATCHES_WAITING: usize = 4;
/// Batches whose answers may wait for one of them that takes long.
const BATCHES_OPEN: u64 = 16;

/// What a task needs besides its plan.
pub(crate) struct TaskInput<'a> {
    pub(crate) task: Arc<PlannedTask>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) judging: Option<Judging>,
    pub(crate) rows: Rows,
    pub(crate) preparation: Preparation,
    pub(crate) earlier: Option<Earlier>,
    /// Requests of the model under test in flight.
    pub(crate) concurrency: usize,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) workers: usize,
    pub(crate) writer: &'a mut JournalWriter,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) events: &'a Events,
    pub(crate) stop: &'a Stop,
    pub(crate) runtime: &'a Handle,
}

/// How long the phases of a task took, and how its samples ended.
pub(crate) struct TaskOutput {
    pub(crate) counts: OutcomeCounts,
    /// Rows that the dataset's filter left out.
    pub(crate) filtered: u64,
    pub(crate) too_many_invalid: Option<TooManyInvalid>,
    pub(crate) failure: Option<DataError>,
    pub(crate) reading: Duration,
    pub(crate) inference: Duration,
    pub(crate) evaluation: Duration,
}

/// Runs a task to its end, or until it is stopped. Whatever happens, every sample that was
/// begun is recorded before this returns, unless the journal cannot be written.
///
/// Must not be called from within the async runtime: this thread waits.
pub(crate) fn run_task(input: TaskInput<'_>) -> Result<TaskOutput, RunError> {
    let TaskInput {
        task,
        backend,
        judging,
        permits,
        rows,
        preparation,
        earlier,
        writer,
        progress,
        events,
        stop,
        runtime,
        ..
    } = input;
    let invalid = InvalidRows::new(&task.dataset.spec, rows.total());
    let media = Arc::clone(&preparation.media);
    let (concurrency, workers) = (input.concurrency, input.workers);
    let inflight = task.spec.max_inflight.unwrap_or(concurrency.saturating_mul(2)).max(1);
    let (next_sender, next) = mpsc::channel::<Next>(concurrency.saturating_mul(PREFETCH).max(1));
    let (batch_sender, batches) = mpsc::channel::<Vec<Waiting>>(BATCHES_WAITING);
    let (entry_sender, mut entries) = mpsc::channel::<ToRecord>(ENTRIES_WAITING);
    let batches: Queue = Arc::new(Mutex::new(batches));

    std::thread::scope(|threads| {
        // Takes the sender along: the loop ends when it is gone.
        let repeat = task.spec.repeat;
        let reader = threads.spawn(move || {
            let _guard = StopOnPanic(stop);
            read(rows, &preparation, workers, invalid, earlier.as_ref(), repeat, &next_sender, stop)
        });
        let scorers: Vec<_> = (0..workers.max(1))
            .map(|_| {
                let (task, batches, sender) = (&task, Arc::clone(&batches), entry_sender.clone());
                threads.spawn(move || {
                    let _guard = StopOnPanic(stop);
                    scoring::work(&task.scoring, &batches, &sender)
                })
            })
            .collect();
        // With the last scorer the queue is closed, so that nobody waits for one that is gone.
        drop(batches);
        let recorder_progress = Arc::clone(&progress);
        let task_id = task.spec.task_id.as_str();
        let recorder = threads.spawn(move || {
            let _guard = StopOnPanic(stop);
            let result = recorder::work(task_id, writer, &mut entries, recorder_progress.as_ref(), events);
            // With the receiver gone nobody waits for a journal that cannot be written.
            drop(entries);
            if result.is_err() {
                stop.set();
            }
            result
        });

        let sample_loop = SampleLoop {
            task: Arc::clone(&task),
            backend,
            permits,
            inflight: Arc::new(Semaphore::new(inflight)),
            held: Arc::new(Semaphore::new((BATCH * BATCHES_OPEN) as usize)),
            judging: judging.map(Arc::new),
            progress: Arc::clone(&progress),
            media,
            stop: stop.clone(),
            hand: Hand { batches: Arc::default(), scorers: batch_sender, recorder: entry_sender },
        };
        let looped = runtime.block_on(sample_loop.run(next));
        let mut evaluation = Duration::ZERO;
        for scorer in scorers {
            evaluation += scorer.join().map_err(|_| RunError::Panicked("scorer"))?;
        }
        let counts =
            recorder.join().map_err(|_| RunError::Panicked("recorder"))?.map_err(RunError::Record)?;
        let reading = reader.join().map_err(|_| RunError::Panicked("reader"))?;
        let (inference, begun) = looped?;
        if counts.total() != begun {
            return Err(RunError::Lost { begun, recorded: counts.total() });
        }
        match reading {
            Ok(read) => Ok(TaskOutput {
                counts,
                filtered: read.filtered,
                too_many_invalid: read.too_many_invalid,
                failure: read.failure,
                reading: read.spent,
                inference,
                evaluation,
            }),
            Err(ReadError::Record(error)) => Err(RunError::Record(error)),
            Err(error @ ReadError::Changed { .. }) => Err(RunError::Changed {
                dataset: task.dataset.spec.shown_source(),
                message: error.to_string(),
            }),
        }
    })
}

/// Asks for the end of the run where its thread ends by a panic.
struct StopOnPanic<'s>(&'s Stop);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.set();
        }
    }
}

/// Hands every row to the model, as many at once as are allowed.
struct SampleLoop {
    task: Arc<PlannedTask>,
    backend: Arc<dyn Backend>,
    /// Bounds the requests of the role.
    permits: Arc<Semaphore>,
    /// Bounds the samples between loading and the journal.
    inflight: Arc<Semaphore>,
    /// Bounds the answers that wait for their neighbours. A batch has room, for rows come in order.
    held: Arc<Semaphore>,
    judging: Option<Arc<Judging>>,
    progress: Arc<dyn Progress>,
    media: Arc<MediaStore>,
    stop: Stop,
    hand: Hand,
}

/// Hands on what came of a row.
#[derive(Clone)]
struct Hand {
    batches: Arc<Mutex<Batches>>,
    scorers: mpsc::Sender<Vec<Waiting>>,
    recorder: mpsc::Sender<ToRecord>,
}

impl SampleLoop {
    /// Runs until there are no more rows or the run is stopped, and what was begun is handed
    /// to the scorers. Returns how long that took, and how many samples were handed over.
    async fn run(self, mut rows: mpsc::Receiver<Next>) -> Result<(Duration, u64), RunError> {
        let began = Instant::now();
        let mut begun = 0;
        let mut requests: JoinSet<bool> = JoinSet::new();
        while let Some((next, held, permit)) = self.next(&mut rows).await {
            let hand = self.hand.clone();
            let row = match next {
                Next::Answered(record) => {
                    let inferred = Arc::new(Inferred::of_record(*record));
                    if !hand.begin(inferred.index).await {
                        break;
                    }
                    // It is in the journal already.
                    drop(permit);
                    begun += u64::from(hand.end(inferred.index, Some(Waiting { inferred, held })).await);
                    continue;
                }
                Next::Row(row) => row,
            };
            if !hand.begin(row.index).await {
                break;
            }
            match row.result {
                Err(rejection) => {
                    let record = record_of(&self.task, row.index, row.row_digest, rejection);
                    begun += u64::from(hand.finished(record, permit).await);
                }
                Ok(sample) => {
                    let (task, backend) = (Arc::clone(&self.task), Arc::clone(&self.backend));
                    let (permits, media, stop) =
                        (Arc::clone(&self.permits), Arc::clone(&self.media), self.stop.clone());
                    let (judging, progress) = (self.judging.clone(), Arc::clone(&self.progress));
                    requests.spawn(async move {
                        let index = row.index;
                        let prepared = (index, row.row_digest, *sample);
                        let mut inferred =
                            infer(&task, backend.as_ref(), prepared, &media, &permits, &stop, &*progress)
                                .await;
                        if let (Some(judging), Some(inferred)) = (&judging, &mut inferred)
                            && inferred.outcome == Outcome::Scored
                        {
                            judging.judge(inferred).await;
                        }
                        match inferred {
                            Some(inferred) if inferred.outcome == Outcome::Scored => {
                                hand.answered(inferred, permit, held).await
                            }
                            Some(inferred) => {
                                hand.finished(inferred.into_record(&task.spec.task_id), permit).await
                            }
                            None => {
                                hand.end(index, None).await;
                                false
                            }
                        }
                    });
                }
            }
            while let Some(result) = requests.try_join_next() {
                begun += u64::from(result.map_err(|_| RunError::Panicked("request"))?);
            }
        }
        while let Some(result) = requests.join_next().await {
            begun += u64::from(result.map_err(|_| RunError::Panicked("request"))?);
        }
        self.hand.finish().await;
        Ok((began.elapsed(), begun))
    }

    /// The next row, with room for it; none when there is no more, or the run is stopped.
    async fn next(
        &self,
        rows: &mut mpsc::Receiver<Next>,
    ) -> Option<(Next, OwnedSemaphorePermit, OwnedSemaphorePermit)> {
        let next = async {
            let next = rows.recv().await?;
            let held = Arc::clone(&self.held).acquire_owned().await.ok()?;
            let permit = Arc::clone(&self.inflight).acquire_owned().await.ok()?;
            Some((next, held, permit))
        };
        tokio::select! {
            biased;
            () = self.stop.wait() => None,
            next = next => next,
        }
    }
}

impl Hand {
    /// A row is on its way.
    async fn begin(&self, index: u64) -> bool {
        let complete = self.open().begin(index);
        self.score(complete).await
    }

    /// An answer goes to the journal at once, and to the scorers with its neighbours.
    async fn answered(
        &self,
        inferred: Inferred,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> bool {
        let inferred = Arc::new(inferred);
        let answer = ToRecord { what: What::Answer(Arc::clone(&inferred)), permit };
        let is_recorded = self.recorder.send(answer).await.is_ok();
        self.end(inferred.index, Some(Waiting { inferred, held })).await && is_recorded
    }

    /// A sample that needs no scores goes to the journal.
    async fn finished(&self, record: SampleRecord, permit: OwnedSemaphorePermit) -> bool {
        let index = record.index;
        let record = ToRecord { what: What::Whole(Box::new(record)), permit };
        let is_recorded = self.recorder.send(record).await.is_ok();
        self.end(index, None).await && is_recorded
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
            Some(batch) => self.scorers.send(batch).await.is_ok(),
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
    SampleRecord {
        task_id: task.spec.task_id.clone(),
        index,
        sample_id: format!("row-{index}"),
        row_digest,
        outcome: rejection.outcome,
        error: Some(ErrorNote {
            stage,
            kind: rejection.kind,
            message: rejection.message,
            pointer: rejection.pointer,
        }),
        sample: Value::Null,
        row: Some(rejection.row),
        model_output: None,
        judge_output: None,
        metrics: Vec::new(),
        timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..SampleTiming::default() },
        timing_metrics: Vec::new(),
    }
}
