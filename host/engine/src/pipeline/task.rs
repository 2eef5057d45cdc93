//! One task: runs its reader and its dispatcher, which end together. Scorers and recorder belong to the run.

use super::dispatcher::{DispatchReport, Dispatcher};
use super::infer::InferenceStep;
use super::infer::support_role::SupportRole;
use super::post_process::PostInferenceSteps;
use super::prompt_calls::PromptCalls;
use super::read::{PrefetchSender, ReadContext, ReadOutput, read};
use super::reply_media::ReplyMediaStore;
use super::result_router::{ResultRouter, Sinks};
use super::role_client::RoleClient;
use super::task_report::TaskReport;
use super::task_state::TaskState;
use crate::limits::cancel_token::CancelToken;
use crate::limits::invalid_rows::InvalidRows;
use crate::limits::permits::{RequestPermits, RolePermits, SamplePermits};
use crate::progress::Progress;
use crate::resume::ResumeState;
use crate::resume::row_work::{ReadError, RowWork};
use crate::run_error::RunError;
use gage_backend::Backend;
use gage_core::{ResourceShortage, Shard, spawn_scoped};
use gage_data::{DataError, Preparation, Rows};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tracing::error_span;

/// Maximum number of samples of a task in lockstep.
const MAX_LOCKSTEP_ROWS: usize = 65_536;

/// The parts of a task besides its plan.
pub(crate) struct TaskResources<'a> {
    pub(crate) task: Arc<TaskState>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) post_inference: Option<PostInferenceSteps>,
    pub(crate) reply_media: Arc<ReplyMediaStore>,
    /// The roles that supply context for the model, in order.
    pub(crate) support: Vec<SupportRole>,
    /// The role that answers the model's tool calls.
    pub(crate) tools: Option<SupportRole>,
    pub(crate) rows: Rows,
    /// The shard whose records are wanted; `None` for all records.
    pub(crate) shard: Option<Shard>,
    pub(crate) preparation: Preparation,
    pub(crate) resume: Option<ResumeState>,
    /// The rows once more, if nothing may be left to do.
    pub(crate) rows_to_compare: Option<Rows>,
    /// The request permits of all roles, shared by all tasks.
    pub(crate) role_permits: &'a RolePermits,
    /// Number of threads that prepare rows.
    pub(crate) workers: usize,
    pub(crate) sinks: Sinks,
    pub(crate) progress: Arc<dyn Progress>,
    pub(crate) runtime: &'a Handle,
}

/// The report of an ended task, without the figures that are known only after its records are durable.
pub(crate) struct TaskOutput {
    pub(crate) report: TaskReport,
    /// Number of samples started. All of them are recorded unless the journal cannot be written.
    pub(crate) begun: u64,
}

/// Runs a task to its end, or until it is stopped. Every started sample is recorded before this returns, unless the
/// journal cannot be written.
///
/// Must not be called from within the async runtime, because it blocks the thread.
pub(crate) fn run_task(resources: TaskResources<'_>) -> Result<TaskOutput, RunError> {
    let TaskResources {
        task,
        backend,
        rows,
        shard,
        preparation,
        resume,
        rows_to_compare,
        role_permits,
        runtime,
        ..
    } = resources;
    let planned = Arc::clone(&task.planned);
    let spec = &planned.spec;
    let invalid = Arc::new(InvalidRows::new(&planned.dataset.spec, rows.total(), shard.is_some()));
    let role_concurrency = role_permits.concurrency_of(&planned.role, backend.as_ref());
    let concurrency = spec.concurrency.map_or(role_concurrency, |own| own.min(role_concurrency));
    let permits = Arc::new(SamplePermits::new(spec.mode, spec.max_inflight, concurrency));
    let prefetch = prefetch_of(&task, concurrency);
    let (next_sender, next) = mpsc::channel::<RowWork>(prefetch);
    let request_permits = request_permits(&task, role_permits, backend.as_ref(), resources.progress);
    let dispatcher = Arc::new(Dispatcher {
        rows: tokio::sync::Mutex::new(next),
        permits: Arc::clone(&permits),
        post_inference: resources.post_inference,
        reply_media: resources.reply_media,
        invalid: Arc::clone(&invalid),
        router: ResultRouter {
            task: Arc::clone(&task),
            permits,
            batches: Mutex::default(),
            sinks: resources.sinks,
        },
        inference: InferenceStep {
            client: RoleClient::new(&planned.role, backend, Arc::new(request_permits)),
            prompt: planned.sent_prompt().map(|prompt| PromptCalls::new(prompt, resources.workers)),
            media: Arc::clone(&preparation.media),
            task: Arc::clone(&task),
            support: resources.support,
            tools: resources.tools,
        },
    });
    let reading = ReadContext {
        preparation: &preparation,
        workers: resources.workers,
        invalid: &invalid,
        resume: resume.as_ref(),
        rows_to_compare,
        repeat: spec.repeat,
        shard,
        stop: &task.stop,
    };
    let (read, dispatched) = std::thread::scope(|threads| {
        // The reader owns the sender, so the dispatcher ends when the reader does.
        let reader = spawn_scoped(threads, "rows", move || {
            let _guard = CancelOnPanic(reading.stop);
            let _span = error_span!("read", task = spec.task_id.as_str()).entered();
            read(rows, reading, PrefetchSender::new(&next_sender, prefetch, runtime))
        })?;
        // The dispatcher runs inside the runtime, because it spawns futures there and is woken from there.
        let dispatch = || runtime.block_on(runtime.spawn(dispatcher.run()));
        if task.is_lockstep {
            return Ok::<_, ResourceShortage>((reader.join(), dispatch()));
        }
        let dispatched = dispatch();
        Ok((reader.join(), dispatched))
    })?;
    let read = read.map_err(|_| RunError::Internal("reader"))?;
    let report = dispatched.map_err(|_| RunError::Internal("dispatcher"))??;
    output_of(&task, read, report, &invalid)
}

/// Returns the permits for the requests of a task.
fn request_permits(
    task: &TaskState,
    role_permits: &RolePermits,
    backend: &dyn Backend,
    progress: Arc<dyn Progress>,
) -> RequestPermits {
    let own = task.planned.spec.concurrency;
    RequestPermits {
        of_task: own.map(|own| Semaphore::new(own.min(Semaphore::MAX_PERMITS))),
        of_role: role_permits.semaphore_of(&task.planned.role, backend),
        reporter: Some((progress, task.id().to_owned())),
    }
}

/// Returns the number of rows that may be prepared beyond those in progress.
fn prefetch_of(task: &TaskState, concurrency: usize) -> usize {
    match task.is_lockstep {
        // All rows are read before the first is asked.
        true => MAX_LOCKSTEP_ROWS,
        false => concurrency.saturating_mul(task.planned.spec.prefetch_factor).max(1),
    }
}

/// Returns the output of a task whose reader and dispatcher have ended.
fn output_of(
    task: &TaskState,
    read: Result<ReadOutput, ReadError>,
    report: DispatchReport,
    invalid: &InvalidRows,
) -> Result<TaskOutput, RunError> {
    let dataset = &task.planned.dataset;
    let DispatchReport { spent, begun, resumed, is_cut_off } = report;
    match read {
        Ok(ReadOutput { failure: Some(error @ DataError::Changed { .. }), .. }) => {
            Err(RunError::data_changed(dataset, &error))
        }
        Ok(read) => {
            if let Some(shortage) = read.failure.as_ref().and_then(DataError::shortage) {
                return Err(RunError::Shortage(shortage));
            }
            // True if rows are left that this process should have processed.
            let stopped = task.stop_reason();
            let is_cut_off = stopped.is_some() && (is_cut_off || !read.is_complete);
            let report = TaskReport {
                task_id: task.id().to_owned(),
                resumed,
                records_of_all_shards: read.rows.map(|rows| rows.saturating_mul(task.planned.spec.repeat)),
                filtered: read.filtered,
                missing_fields: read.missing_fields,
                too_many_invalid: if task.stop.is_cancelled() { None } else { invalid.finish() },
                failure: read.failure,
                cut_off: stopped.filter(|_| is_cut_off),
                reading: read.spent,
                inference: spent,
                ..TaskReport::default()
            };
            Ok(TaskOutput { report, begun })
        }
        Err(ReadError::Record(error)) => Err(RunError::Record(error)),
        Err(error @ ReadError::Changed { .. }) => Err(RunError::data_changed(dataset, &error)),
        Err(ReadError::LostRows { expected, read }) => {
            let samples = |rows: u64| rows.saturating_mul(task.planned.spec.repeat);
            Err(RunError::LostSamples { expected: samples(expected), recorded: samples(read) })
        }
    }
}

/// Cancels the token if its thread panics.
pub(crate) struct CancelOnPanic<'s>(pub(crate) &'s CancelToken);

impl Drop for CancelOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}
