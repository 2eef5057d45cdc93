//! A whole run: its folder, its tasks one after the other, and what came of them.

use crate::datasets::Datasets;
use crate::earlier::Earlier;
use crate::events::Events;
use crate::identity;
use crate::judging::{Judging, RolePermits};
use crate::plan::{Plan, PlannedTask};
use crate::progress::Progress;
use crate::reader::TooManyInvalid;
use crate::session::Session;
use crate::stop::Stop;
use crate::task::{TaskInput, TaskOutput, run_task};
use gage_core::{Object, Outcome, OutcomeCounts};
use gage_data::DataError;
use gage_observe::EventLog;
use gage_record::format::EVENTS_FILE;
use gage_record::{
    JournalIndex, JournalWriter, Manifest, OpenedJournal, RecordError, RunFolder, differences,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Settings of a run that do not change what comes of it.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Requests in flight.
    pub concurrency: usize,
    /// Run at most this many samples of each task.
    pub max_samples: Option<u64>,
    /// Threads that score.
    pub workers: usize,
    /// Go on with the run of this id, rather than begin it.
    pub resume: bool,
    /// Of a run that goes on, samples that ended in one of these ways are tried again, besides those that failed in
    /// the backend.
    pub retry: Vec<Outcome>,
    /// The version of the program, for the manifest.
    pub host_version: &'static str,
}

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run folder cannot be written or read.
    #[error(transparent)]
    Record(RecordError),
    /// A dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The data is not what it was when the run began.
    #[error("{dataset}: {message}")]
    Changed {
        /// The dataset's file.
        dataset: String,
        /// What is different.
        message: String,
    },
    /// The run cannot be resumed, since it would not be the same run.
    #[error("the run cannot be resumed, for it was begun with something else:\n  {}", .0.join("\n  "))]
    Different(Vec<String>),
    /// Samples were begun and not recorded; a bug.
    #[error("{begun} samples were begun, and {recorded} were recorded; resume the run")]
    Lost {
        /// How many were handed to the scorers.
        begun: u64,
        /// How many are in the journal.
        recorded: u64,
    },
    /// A thread of this program failed; a bug.
    #[error("the {0} failed")]
    Panicked(&'static str),
}

impl From<RecordError> for RunError {
    fn from(error: RecordError) -> RunError {
        RunError::Record(error)
    }
}

/// What came of a task in this process.
#[derive(Debug)]
pub struct TaskReport {
    /// The task.
    pub task_id: String,
    /// How the samples that this process finished ended.
    pub counts: OutcomeCounts,
    /// Rows that the dataset's filter left out.
    pub filtered: u64,
    /// Rows that are no Samples, where there were too many of them: the run ended there.
    pub too_many_invalid: Option<TooManyInvalid>,
    /// Why the data could not be read to its end: the run ended there, and what was read before counts.
    pub failure: Option<DataError>,
    /// Loading and preparing rows.
    pub reading: Duration,
    /// From the first request to the last answer.
    pub inference: Duration,
    /// Scoring, summed over the threads that did it.
    pub evaluation: Duration,
}

/// What came of a run in this process.
pub struct RunReport {
    /// The run's folder, still locked.
    pub folder: RunFolder,
    /// Its manifest, in which it still runs.
    pub manifest: Manifest,
    /// The tasks that were begun, in their order.
    pub tasks: Vec<TaskReport>,
    /// Whether somebody stopped it.
    pub was_stopped: bool,
}

/// Runs every task of a plan, one after the other. What is recorded stays recorded whatever
/// happens. Must not be called from within the async runtime: this thread waits.
///
/// # Errors
/// When the folder cannot be used, the data cannot be read, or the run to resume is another.
#[expect(clippy::too_many_arguments, reason = "the parts of a run, each once")]
pub fn run(
    plan: Plan,
    datasets: &Datasets,
    session: &Session,
    root: &Path,
    run_id: &str,
    options: &RunOptions,
    progress: &Arc<dyn Progress>,
    stop: &Stop,
    runtime: &Handle,
) -> Result<RunReport, RunError> {
    let identity = identity::of(&plan, datasets, session);
    let (folder, manifest) = open_folder(root, run_id, options, identity)?;
    let OpenedJournal { mut writer, index, dropped_bytes } = JournalWriter::open(&folder)?;
    if dropped_bytes > 0 {
        tracing::info!(dropped_bytes, "the journal ended in the middle of a record, which is written again");
    }
    let index = Arc::new(index);
    let events = Events::new(
        EventLog::open(&folder.path_of(EVENTS_FILE))
            .map_err(|source| RecordError::io("open", &folder.path_of(EVENTS_FILE), source))?,
    );
    events.of_run(if options.resume { "run_resumed" } else { "run_started" }, &json!({"run_id": run_id}));
    let mut tasks = Vec::new();
    for task in plan.tasks {
        if stop.is_set() {
            break;
        }
        let task = Arc::new(task);
        let task_id = task.spec.task_id.clone();
        events.of_task("task_started", &task_id, &json!({}));
        let output = begin_task(
            &task,
            datasets,
            session,
            options,
            &index,
            &mut writer,
            progress,
            &events,
            stop,
            runtime,
        )?;
        let outcomes: Object = output
            .counts
            .occurred()
            .map(|(outcome, count)| (outcome.name().to_owned(), count.into()))
            .collect();
        let note = json!({"outcomes": outcomes, "rows_filtered": output.filtered});
        events.of_task("task_finished", &task_id, &note);
        progress.task_finished(&task_id);
        let is_last = output.too_many_invalid.is_some() || output.failure.is_some();
        if let Some(error) = &output.failure {
            events.of_task("data_failed", &task_id, &json!({"message": error.to_string()}));
        }
        if let Some(invalid) = &output.too_many_invalid {
            events.of_task("too_many_invalid", &task_id, &json!({"message": invalid.to_string()}));
        }
        tasks.push(TaskReport {
            task_id,
            counts: output.counts,
            filtered: output.filtered,
            too_many_invalid: output.too_many_invalid,
            failure: output.failure,
            reading: output.reading,
            inference: output.inference,
            evaluation: output.evaluation,
        });
        if is_last {
            break;
        }
    }
    let was_stopped = stop.is_set();
    events.of_run(if was_stopped { "run_interrupted" } else { "run_finished" }, &json!({"run_id": run_id}));
    Ok(RunReport { folder, manifest, tasks, was_stopped })
}

fn open_folder(
    root: &Path,
    run_id: &str,
    options: &RunOptions,
    identity: Value,
) -> Result<(RunFolder, Manifest), RunError> {
    if !options.resume {
        let folder = RunFolder::create(root, run_id)?;
        let manifest = Manifest::new(run_id, options.host_version, identity);
        manifest.write(&folder)?;
        return Ok((folder, manifest));
    }
    let folder = RunFolder::resume(root, run_id)?;
    let mut manifest = Manifest::read(folder.path())?;
    let found = differences(&manifest.identity, &identity);
    if !found.is_empty() {
        return Err(RunError::Different(found));
    }
    manifest.reopen();
    manifest.write(&folder)?;
    Ok((folder, manifest))
}

#[expect(clippy::too_many_arguments, reason = "the parts of a run that a task needs, each once")]
fn begin_task(
    task: &Arc<PlannedTask>,
    datasets: &Datasets,
    session: &Session,
    options: &RunOptions,
    index: &Arc<JournalIndex>,
    writer: &mut JournalWriter,
    progress: &Arc<dyn Progress>,
    events: &Events,
    stop: &Stop,
    runtime: &Handle,
) -> Result<TaskOutput, RunError> {
    let task_id = &task.spec.task_id;
    let backend = session.backend(&task.role.backend_id).ok_or(RunError::Panicked("session"))?;
    let most = [task.spec.max_samples, options.max_samples].into_iter().flatten().min();
    let dataset =
        datasets.get(&task.dataset.spec.dataset_id).ok_or(RunError::Panicked("search for datasets"))?;
    let rows = dataset.open(most)?;
    let total = rows.total().map(|rows| rows.saturating_mul(task.spec.repeat));
    let earlier = (!index.is_empty()).then(|| Earlier::new(index, task_id, total, &options.retry));
    let already = index.samples(task_id).count() as u64;
    if let Some(total) = total.filter(|total| *total < already) {
        let message = format!(
            "max_samples: {already} samples of the task `{task_id}` are recorded, and only {total} are to be run"
        );
        return Err(RunError::Different(vec![message]));
    }
    progress.task_started(task_id, total, earlier.as_ref().map_or(0, Earlier::kept));
    let concurrency = options.concurrency.max(1);
    let mut permits = RolePermits::new(concurrency);
    let concurrency = permits.most_of(&task.role, backend.as_ref());
    let of_model = permits.of(&task.role, backend.as_ref());
    let judging = task.judges.as_ref().map(|judges| Judging::new(judges, session, &mut permits));
    run_task(TaskInput {
        task: Arc::clone(task),
        backend: Arc::clone(backend),
        judging: judging.map(|judging| judging.ok_or(RunError::Panicked("session"))).transpose()?,
        rows,
        preparation: dataset.preparation(),
        earlier,
        concurrency,
        permits: of_model,
        workers: options.workers,
        writer,
        progress: Arc::clone(progress),
        events,
        stop,
        runtime,
    })
}
