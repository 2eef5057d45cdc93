//! One task: the threads are started, the sample loop runs, and all of them end together.

use crate::events::Events;
use crate::inference::infer;
use crate::plan::PlannedTask;
use crate::progress::Progress;
use crate::reader::{Done, InvalidRows, ReadError, TooManyInvalid, read};
use crate::recorder::{self, Finished};
use crate::run::RunError;
use crate::scoring::{self, Job, Queue};
use crate::stop::Stop;
use gage_backend::Backend;
use gage_core::OutcomeCounts;
use gage_data::{MediaStore, Preparation, Prepared, Rejection, RejectionStage, Rows};
use gage_record::{ErrorNote, JournalWriter, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Samples that are prepared ahead of the sample loop, as a multiple of the concurrency.
const PREFETCH: usize = 2;
/// Records that may wait for the recorder.
const RECORDS_WAITING: usize = 512;

/// What a task needs besides its plan.
pub(crate) struct TaskInput<'a> {
    pub(crate) task: Arc<PlannedTask>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) rows: Rows,
    pub(crate) preparation: Preparation,
    pub(crate) done: Option<Done>,
    pub(crate) concurrency: usize,
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
    pub(crate) reading: Duration,
    pub(crate) inference: Duration,
    pub(crate) evaluation: Duration,
}

/// Runs a task to its end, or until it is stopped. Whatever happens, every sample that was
/// begun is recorded before this returns, unless the journal cannot be written.
///
/// Must not be called from within the async runtime: this thread waits.
pub(crate) fn run_task(input: TaskInput<'_>) -> Result<TaskOutput, RunError> {
    let TaskInput { task, backend, rows, preparation, done, writer, progress, events, stop, runtime, .. } =
        input;
    let invalid = InvalidRows::new(&task.dataset.spec, rows.total());
    let media = Arc::clone(&preparation.media);
    let (concurrency, workers) = (input.concurrency, input.workers);
    let concurrency =
        concurrency.min(backend.info().max_concurrency).min(task.role.pool_size.unwrap_or(usize::MAX));
    let inflight = task.spec.max_inflight.unwrap_or(concurrency.saturating_mul(2)).max(1);
    let (prepared_sender, prepared) = mpsc::channel::<Prepared>(concurrency.saturating_mul(PREFETCH).max(1));
    let (job_sender, jobs) = mpsc::channel::<Job>(inflight);
    let (finished_sender, finished) = std::sync::mpsc::sync_channel::<Finished>(RECORDS_WAITING);
    let jobs: Queue = Arc::new(Mutex::new(jobs));

    std::thread::scope(|threads| {
        // Takes the sender along: the loop ends when it is gone.
        let reader = threads.spawn(move || {
            let _guard = StopOnPanic(stop);
            read(rows, &preparation, workers, invalid, done.as_ref(), &prepared_sender, stop)
        });
        let scorers: Vec<_> = (0..workers.max(1))
            .map(|_| {
                let (task, jobs, sender) = (&task, Arc::clone(&jobs), finished_sender.clone());
                threads.spawn(move || {
                    let _guard = StopOnPanic(stop);
                    scoring::work(task, &jobs, &sender)
                })
            })
            .collect();
        // With the last scorer the queue is closed, so that nobody waits for one that is gone.
        drop(jobs);
        let recorder_progress = Arc::clone(&progress);
        let recorder = threads.spawn(move || {
            let _guard = StopOnPanic(stop);
            let result = recorder::work(writer, &finished, recorder_progress.as_ref(), events);
            // With the receiver gone nobody waits for a journal that cannot be written.
            drop(finished);
            if result.is_err() {
                stop.set();
            }
            result
        });

        let sample_loop = SampleLoop {
            task: Arc::clone(&task),
            backend,
            permits: Arc::new(Semaphore::new(concurrency)),
            inflight: Arc::new(Semaphore::new(inflight)),
            jobs: job_sender,
            media,
            stop: stop.clone(),
        };
        drop(finished_sender);
        let looped = runtime.block_on(sample_loop.run(prepared));
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
                reading: read.spent,
                inference,
                evaluation,
            }),
            Err(ReadError::Data(error)) => Err(RunError::Data(error)),
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

/// Hands every prepared row to the model, as many at once as are allowed.
struct SampleLoop {
    task: Arc<PlannedTask>,
    backend: Arc<dyn Backend>,
    /// Bounds the requests of the role.
    permits: Arc<Semaphore>,
    /// Bounds the samples between loading and the journal.
    inflight: Arc<Semaphore>,
    jobs: mpsc::Sender<Job>,
    media: Arc<MediaStore>,
    stop: Stop,
}

impl SampleLoop {
    /// Runs until there are no more rows or the run is stopped, and what was begun is handed
    /// to the scorers. Returns how long that took, and how many samples were handed over.
    async fn run(self, mut prepared: mpsc::Receiver<Prepared>) -> Result<(Duration, u64), RunError> {
        let began = Instant::now();
        let mut begun = 0;
        let mut requests: JoinSet<bool> = JoinSet::new();
        loop {
            let next = tokio::select! {
                biased;
                () = self.stop.wait() => None,
                next = prepared.recv() => next,
            };
            let Some(next) = next else { break };
            let permit = tokio::select! {
                biased;
                () = self.stop.wait() => None,
                permit = Arc::clone(&self.inflight).acquire_owned() => permit.ok(),
            };
            let Some(permit) = permit else { break };
            match next.result {
                Err(rejection) => {
                    let record = record_of(&self.task, next.index, next.row_digest, rejection);
                    let job = Job::Rejected { record: Box::new(record), permit };
                    if self.jobs.send(job).await.is_err() {
                        break;
                    }
                    begun += 1;
                }
                Ok(sample) => {
                    let (task, backend) = (Arc::clone(&self.task), Arc::clone(&self.backend));
                    let (permits, jobs, media, stop) = (
                        Arc::clone(&self.permits),
                        self.jobs.clone(),
                        Arc::clone(&self.media),
                        self.stop.clone(),
                    );
                    requests.spawn(async move {
                        let prepared = (next.index, next.row_digest, *sample);
                        match infer(&task, backend.as_ref(), prepared, &media, &permits, &stop).await {
                            Some(inferred) => {
                                let inferred = Box::new(inferred);
                                jobs.send(Job::Inferred { inferred, permit }).await.is_ok()
                            }
                            None => false,
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
        Ok((began.elapsed(), begun))
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
