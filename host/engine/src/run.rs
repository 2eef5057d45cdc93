//! A whole run: its folder, its tasks, and what came of them.

pub(crate) mod rescore;
pub(crate) mod task_scheduler;

use crate::identity;
use crate::limits::budget::{BudgetTracker, RunUsage};
use crate::limits::cancel_token::{CancelToken, StopReason};
use crate::limits::invalid_rows::TooManyInvalid;
use crate::pipeline::record::events::Events;
use crate::pipeline::task_state::TaskState;
use crate::plan::{Plan, PlannedDataset};
use crate::progress::Progress;
use crate::run::task_scheduler::TaskScheduler;
use crate::session::Session;
use crate::session::datasets::Datasets;
use gage_core::{Outcome, OutcomeCounts};
use gage_data::{DataError, MissingField};
use gage_observe::{Observability, ObserveError};
use gage_record::{
    JournalIndex, JournalWriter, Manifest, OpenedJournal, QuarantinedTail, RecordError, RunFolder, RunStatus,
    differences,
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
    /// Tasks that run at the same time; where it is missing what the suite says.
    pub task_parallelism: Option<usize>,
    /// Go on with the run of this id, rather than begin it.
    pub resume: bool,
    /// Of a run that goes on, samples that ended in one of these ways are tried again, besides those that failed in
    /// the backend.
    pub retry: Vec<Outcome>,
    /// The version of the program, for the manifest.
    pub host_version: &'static str,
    /// Who is told of what happens.
    pub observability: Observability,
}

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run folder cannot be written or read.
    #[error(transparent)]
    Record(RecordError),
    /// Nobody can be told of what happens.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A dataset cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A dataset or a model file is not what it was when the run began.
    #[error("{what}: {message}; restore it and resume, or start a new run")]
    Changed {
        /// The dataset or the backend.
        what: String,
        /// What is different.
        message: String,
    },
    /// The run cannot be resumed, since it would not be the same run.
    #[error("the run cannot be resumed, for it was begun with something else:\n  {}{}", .0.join("\n  "), help_of(.0))]
    Different(Vec<String>),
    /// The run has more samples than it is to have.
    #[error(
        "the run cannot be resumed with at most {most} samples of each task: sample {recorded} of `{task_id}` is recorded \
         already, and none is taken back"
    )]
    FewerSamples {
        /// The task.
        task_id: String,
        /// The number of the last of its samples that is in the journal, counted from 1.
        recorded: u64,
        /// How many it is to have.
        most: u64,
    },
    /// Samples were begun and not recorded; a bug.
    #[error("{begun} samples were begun, and {recorded} were recorded; resume the run")]
    LostSamples {
        /// How many were handed to the scorers.
        begun: u64,
        /// How many are in the journal.
        recorded: u64,
    },
    /// A thread of this program failed; a bug.
    #[error("the {0} failed")]
    Panicked(&'static str),
}

impl RunError {
    /// The rows of a dataset are not those that the run is about.
    pub(crate) fn data_changed(dataset: &PlannedDataset, why: &impl std::fmt::Display) -> RunError {
        RunError::Changed { what: dataset.spec.shown_source(), message: why.to_string() }
    }
}

/// What to do where a value is another that nobody may see.
fn help_of(differences: &[String]) -> &'static str {
    match differences.iter().any(|one| one.starts_with(identity::WITHHELD)) {
        true => {
            "\n  (`withheld` names values that are not written down, by their digests: set their variables to what they \
             were when the run was begun)"
        }
        false => "",
    }
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
    /// How many records it was to have in all, samples times repeats, where that is known.
    pub planned: Option<u64>,
    /// How many of them an earlier process had asked the model about: here they were only judged and scored.
    pub resumed: u64,
    /// Rows that the dataset's filter left out.
    pub filtered: u64,
    /// Fields that the filter names and that no row had that was read.
    pub missing_fields: Vec<MissingField>,
    /// Rows that are no Samples, where there were too many of them: the task ended there.
    pub too_many_invalid: Option<TooManyInvalid>,
    /// Why the data could not be read to its end: the task ended there, and what was read before counts.
    pub failure: Option<DataError>,
    /// Why it ended before its end, where somebody stopped it or its run.
    pub cut_off: Option<StopReason>,
    /// Loading and preparing rows.
    pub reading: Duration,
    /// From the first request to the last answer.
    pub inference: Duration,
    /// Scoring, summed over the threads that did it.
    pub evaluation: Duration,
}

impl TaskReport {
    /// A task in which nothing was done.
    pub(crate) fn nothing(task_id: &str) -> TaskReport {
        TaskReport {
            task_id: task_id.to_owned(),
            counts: OutcomeCounts::default(),
            planned: None,
            resumed: 0,
            filtered: 0,
            missing_fields: Vec::new(),
            too_many_invalid: None,
            failure: None,
            cut_off: None,
            reading: Duration::ZERO,
            inference: Duration::ZERO,
            evaluation: Duration::ZERO,
        }
    }

    /// Whether it ended before all of its rows were dealt with.
    pub fn ended_early(&self) -> bool {
        self.cut_off.is_some() || self.failure.is_some() || self.too_many_invalid.is_some()
    }
}

/// What came of a run in this process.
pub struct RunReport {
    /// The run's folder, still locked.
    pub folder: RunFolder,
    /// Its manifest, in which it still runs.
    pub manifest: Manifest,
    /// All tasks, in their order.
    pub tasks: Vec<TaskReport>,
    /// Why the run ended before its end, where somebody stopped it.
    pub stopped: Option<StopReason>,
    /// What all processes of the run have spent.
    pub spent: RunUsage,
}

/// The parts of a run.
#[derive(Clone, Copy)]
pub struct RunContext<'r> {
    /// What is run.
    pub plan: &'r Plan,
    /// The datasets of the plan.
    pub datasets: &'r Datasets,
    /// The models of the plan, loaded.
    pub session: &'r Session,
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the run, and of its folder.
    pub run_id: &'r str,
    /// Settings that do not change what comes of the run.
    pub options: &'r RunOptions,
    /// Who shows how the run goes on.
    pub progress: &'r Arc<dyn Progress>,
    /// Ends the run.
    pub stop: &'r CancelToken,
    /// The runtime that requests run on.
    pub runtime: &'r Handle,
}

/// Runs every task of a plan, in order, as many at the same time as are allowed. What is recorded stays
/// recorded whatever happens. Must not be called from within the async runtime: this thread waits.
///
/// # Errors
/// When the folder cannot be used, the data has changed, or the run to resume is another.
pub fn run(context: &RunContext<'_>) -> Result<RunReport, RunError> {
    let RunContext { plan, datasets, session, options, run_id, stop, .. } = *context;
    let identity = identity::of(plan, datasets, session);
    let (folder, mut manifest) = open_folder(context, identity)?;
    let was_complete = manifest.status == RunStatus::Complete;
    let OpenedJournal { mut writer, index, dropped_bytes, set_aside } = JournalWriter::open(&folder)?;
    check_most(plan, options, &index)?;
    // Not before it is sure that the run goes on: its manifest holds the digests of what it has written.
    if options.resume {
        manifest.reopen();
        manifest.write(&folder)?;
    }
    report_repairs(dropped_bytes, set_aside.as_ref());
    let index = Arc::new(index);
    let events = Events::begin(&folder, &options.observability)?;
    events.emit_run(if options.resume { "run_resumed" } else { "run_started" }, json!({"run_id": run_id}));
    let spending = Arc::new(BudgetTracker::new(plan));
    // A complete run has nothing left to spend on; it only writes its reports again.
    let of_earlier = if was_complete { CancelToken::default() } else { stop.clone() };
    spending.add_recorded_usage(plan, &manifest, &index, &of_earlier)?;
    spending.watch_time(stop, context.runtime);
    let tasks = plan.tasks.iter().map(|task| Arc::new(TaskState::new(task, stop, &spending)));
    let tasks: Vec<Arc<TaskState>> = tasks.collect();
    let reports = TaskScheduler::new(context, &index, &events).run_tasks(&tasks, &mut writer)?;
    let stopped = ending(stop, &reports).map(|reason| spending.with_final_usage(reason));
    manifest.unrecorded_usage = spending.unrecorded_usage();
    emit_end(events, run_id, stopped.as_ref());
    Ok(RunReport { folder, manifest, tasks: reports, stopped, spent: spending.usage() })
}

/// Logs what opening the journal has repaired.
fn report_repairs(dropped_bytes: u64, set_aside: Option<&QuarantinedTail>) {
    if let Some(QuarantinedTail { journal, path, lines, bytes }) = set_aside {
        let (journal, path) = (journal.display(), path.display());
        tracing::warn!(
            "behind the records of {journal} stood what is no record of this run ({bytes} bytes, line ends: {lines}); it lies in {path} \
             now, and nothing that was recorded is lost"
        );
    } else if dropped_bytes > 0 {
        tracing::info!(dropped_bytes, "the journal ended in the middle of a record, which is written again");
    }
}

/// Reports the end of the run to its observers.
fn emit_end(events: Events, run_id: &str, stopped: Option<&StopReason>) {
    let payload = match stopped {
        None => json!({"run_id": run_id}),
        Some(reason) => json!({"run_id": run_id, "reason": described(reason)}),
    };
    let is_failure = matches!(
        stopped,
        Some(StopReason::BackendRefused { .. } | StopReason::ModelLost { .. } | StopReason::FailFast(_))
    );
    let kind = if stopped.is_some() { "run_interrupted" } else { "run_finished" };
    events.end(kind, payload, is_failure);
}

/// Why the run ended early. A budget that was used up by the last sample has ended nothing.
fn ending(stop: &CancelToken, reports: &[TaskReport]) -> Option<StopReason> {
    let reason = stop.reason()?;
    let is_cut_off = reports.iter().any(|report| report.cut_off.is_some());
    (is_cut_off || reason == StopReason::Requested).then_some(reason)
}

fn described(reason: &StopReason) -> String {
    match reason {
        StopReason::Requested => "asked".to_owned(),
        StopReason::Budget(text) | StopReason::FailFast(text) => text.clone(),
        StopReason::BackendRefused { backend_id, message }
        | StopReason::ModelLost { backend_id, message } => {
            format!("{backend_id}: {message}")
        }
    }
}

/// Makes the folder of a run, or opens it as it is.
fn open_folder(context: &RunContext<'_>, identity: Value) -> Result<(RunFolder, Manifest), RunError> {
    let RunContext { plan, root, run_id, options, .. } = *context;
    let versions = plan
        .tasks
        .iter()
        .map(|task| (task.spec.task_id.clone(), task.scoring.prompt_version.clone()))
        .collect();
    if !options.resume {
        let folder = RunFolder::create(root, run_id)?;
        let mut manifest = Manifest::new(run_id, options.host_version, identity);
        manifest.prompt_versions = versions;
        manifest.write(&folder)?;
        return Ok((folder, manifest));
    }
    let folder = RunFolder::resume(root, run_id)?;
    let mut manifest = Manifest::read(folder.path())?;
    let now = comparable(&manifest.identity, identity);
    let [before, found] = [&manifest.identity, &now].map(|identity| {
        let mut identity = identity.clone();
        identity["config"] = identity::without_notes(identity["config"].take());
        identity
    });
    let found = differences(&before, &found);
    if !found.is_empty() {
        return Err(RunError::Different(found));
    }
    if manifest.identity["config"] != now["config"] {
        tracing::warn!(
            "`metadata` of the suite is another than when the run was begun: no figure depends on it, and the run has the new one now"
        );
        manifest.identity["config"] = now["config"].clone();
    }
    // One that an older program began has none.
    manifest.prompt_versions = versions;
    Ok((folder, manifest))
}

/// The identity without what a program before this one did not write.
fn comparable(before: &Value, mut now: Value) -> Value {
    if let (None, Value::Object(now)) = (before.get(identity::WITHHELD), &mut now) {
        now.shift_remove(identity::WITHHELD);
    }
    now
}

/// Refuses to go on with fewer samples than are recorded.
fn check_most(plan: &Plan, options: &RunOptions, index: &JournalIndex) -> Result<(), RunError> {
    let Some(most) = options.max_samples else { return Ok(()) };
    for task in &plan.tasks {
        let task_id = &task.spec.task_id;
        let rows = index.samples(task_id).last().map_or(0, |(last, _)| last / task.spec.repeat + 1);
        if rows > most {
            return Err(RunError::FewerSamples { task_id: task_id.clone(), recorded: rows, most });
        }
    }
    Ok(())
}
