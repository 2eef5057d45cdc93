//! One task: its rows are read, the sample loop runs, and both end together. What scores and what records
//! belongs to the run.

use crate::limits::cancel_token::CancelToken;
use crate::limits::drainable_semaphore::DrainableSemaphore;
use crate::limits::invalid_rows::{InvalidRows, TooManyInvalid};
use crate::limits::permits::RequestLimits;
use crate::pipeline::dispatcher::{DispatchReport, Dispatcher, WorkerContext};
use crate::pipeline::infer::InferenceStep;
use crate::pipeline::infer::support_role::SupportRole;
use crate::pipeline::post_process::PostInferenceSteps;
use crate::pipeline::read::{PrefetchSender, ReadError, ReadOutput, RowWork, read};
use crate::pipeline::record::RecordRequest;
use crate::pipeline::result_router::ResultRouter;
use crate::pipeline::score::ScoreRequest;
use crate::pipeline::task_state::TaskState;
use crate::progress::Progress;
use crate::resume::ResumeState;
use crate::run::RunError;
use gage_backend::Backend;
use gage_config::LoopMode;
use gage_core::spawn_named;
use gage_data::{DataError, MissingField, Preparation, Rows};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};

/// How many answers may wait for a neighbour that takes long, beyond those in flight: so many for each request
/// in flight. A request that hangs takes as long as hundreds of others, and one in a hundred is enough to
/// have every third batch wait.
const BUFFERED_ANSWERS_PER_REQUEST: usize = 16;
/// The same of a task with few or very many requests in flight; the least is what 16 batches hold.
const BUFFERED_ANSWERS: std::ops::RangeInclusive<usize> = 512..=8_192;

/// What a task needs besides its plan.
pub(crate) struct TaskResources<'a> {
    pub(crate) task: Arc<TaskState>,
    pub(crate) backend: Arc<dyn Backend>,
    /// Who is asked about answers.
    pub(crate) post_inference: Option<PostInferenceSteps>,
    /// Who finds something for the model to read, in order.
    pub(crate) support: Vec<SupportRole>,
    /// Who answers the model's calls of tools.
    pub(crate) tools: Option<SupportRole>,
    pub(crate) rows: Rows,
    pub(crate) preparation: Preparation,
    pub(crate) resume: Option<ResumeState>,
    /// Requests of the model under test in flight.
    pub(crate) concurrency: usize,
    /// Bounds the requests of the role, in all tasks.
    pub(crate) permits: Arc<Semaphore>,
    /// Threads that prepare rows.
    pub(crate) workers: usize,
    pub(crate) scorers: mpsc::Sender<ScoreRequest>,
    pub(crate) recorder: mpsc::Sender<RecordRequest>,
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
pub(crate) fn run_task(input: TaskResources<'_>) -> Result<TaskOutput, RunError> {
    let TaskResources {
        task,
        backend,
        post_inference: behind,
        permits,
        rows,
        preparation,
        resume: earlier,
        ..
    } = input;
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
    let waiting = concurrency
        .saturating_mul(BUFFERED_ANSWERS_PER_REQUEST)
        .clamp(*BUFFERED_ANSWERS.start(), *BUFFERED_ANSWERS.end());
    let ahead = concurrency.saturating_mul(spec.prefetch_factor).max(1);
    let (next_sender, next) = mpsc::channel::<RowWork>(ahead);
    let sample_loop = Dispatcher {
        inflight: DrainableSemaphore::new(inflight),
        context: Arc::new(WorkerContext {
            rows: tokio::sync::Mutex::new(next),
            // A batch has room, for rows come in order.
            buffered_answers: DrainableSemaphore::new(inflight.saturating_add(waiting)),
            post_inference: behind,
            invalid: Arc::clone(&invalid),
            router: ResultRouter {
                task: Arc::clone(&task),
                unsynced: (!is_bounded).then(|| DrainableSemaphore::new(waiting)),
                batches: Mutex::default(),
                scorers: input.scorers,
                recorder: input.recorder,
            },
            inference: InferenceStep {
                backend,
                media: Arc::clone(&preparation.media),
                rooms: Arc::new(RequestLimits {
                    of_task: spec.concurrency.map(|own| Semaphore::new(own.min(Semaphore::MAX_PERMITS))),
                    of_role: permits,
                    reporter: Some((progress, Arc::clone(&task))),
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
            let _guard = CancelOnPanic(stop);
            let ahead = PrefetchSender::new(&next_sender, ahead, runtime);
            read(rows, &preparation, workers, invalid, earlier.as_ref(), spec.repeat, ahead, stop)
        });
        // Within the runtime, for it spawns tasks, and whoever wakes it is there too.
        let looped = runtime.block_on(runtime.spawn(sample_loop.run()));
        (reader.join(), looped)
    });
    let reading = reading.map_err(|_| RunError::Panicked("reader"))?;
    let DispatchReport { spent, begun, earlier, is_cut_off } =
        looped.map_err(|_| RunError::Panicked("sample loop"))??;
    match reading {
        Ok(ReadOutput { failure: Some(error @ DataError::Changed { .. }), .. }) => {
            Err(RunError::data_changed(&planned.dataset, &error))
        }
        Ok(read) => Ok(TaskOutput {
            begun,
            earlier,
            // Where the data ends it, no further process would get on.
            is_cut_off: task.stop.is_cancelled() && (is_cut_off || !read.is_complete),
            planned: None,
            filtered: read.filtered,
            missing_fields: read.missing_fields,
            too_many_invalid: if task.stop.is_cancelled() { None } else { invalid.finish() },
            failure: read.failure,
            reading: read.spent,
            inference: spent,
        }),
        Err(ReadError::Record(error)) => Err(RunError::Record(error)),
        Err(error @ ReadError::Changed { .. }) => Err(RunError::data_changed(&planned.dataset, &error)),
    }
}

/// Asks for the end of the run where its thread ends by a panic.
pub(crate) struct CancelOnPanic<'s>(pub(crate) &'s CancelToken);

impl Drop for CancelOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}
