//! Runs the tasks of a run, in order or several at a time, and the threads that they share.

use super::context::RunContext;
use super::input_files::check_shared_files;
use crate::limits::cancel_token::StopReason;
use crate::limits::permits::RolePermits;
use crate::pipeline::drained_receiver::DrainedReceiver;
use crate::pipeline::infer::support_role::SupportRole;
use crate::pipeline::post_process::PostInferenceSteps;
use crate::pipeline::post_process::embedding::EmbeddingStep;
use crate::pipeline::post_process::follow_up::FollowUp;
use crate::pipeline::post_process::judging::{JudgeMediaSources, JudgeStep};
use crate::pipeline::record::RecordQueue;
use crate::pipeline::record::events::Events;
use crate::pipeline::record::journal_item::RecordRequest;
use crate::pipeline::record::ordered_records::{OrderedRecords, RecordSink};
use crate::pipeline::reply_media::ReplyMediaStore;
use crate::pipeline::result_router::Sinks;
use crate::pipeline::score::preview::PreviewObservers;
use crate::pipeline::score::{ScoreQueue, ScoreRequest};
use crate::pipeline::task::{CancelOnPanic, TaskOutput, TaskResources, run_task};
use crate::pipeline::task_report::TaskReport;
use crate::pipeline::task_state::TaskState;
use crate::pipeline::{record, score};
use crate::plan::PlannedFollowUp;
use crate::resume::ResumeState;
use crate::run_error::RunError;
use crate::session::datasets::LocatedDataset;
use gage_config::{DatasetSpec, FailurePolicy};
use gage_core::{Object, ResourceShortage, Shard, spawn_scoped};
use gage_data::{DataError, Rows};
use gage_record::{JournalIndex, JournalWriter, RunFolder};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;
use tracing::error_span;

/// Number of entries that may wait for the recorder: about as many as it writes together.
const RECORD_QUEUE_CAPACITY: usize = 4_096;
/// Maximum number of rows to count when a run is stopped: about two seconds of reading.
const MAX_COUNTED_ROWS: u64 = 1_000_000;
/// Number of batches that may wait for a scorer.
const SCORE_QUEUE_CAPACITY: usize = 4;

/// A running run: the state that all tasks share.
pub(crate) struct TaskScheduler<'r> {
    run: &'r RunContext<'r>,
    index: &'r Arc<JournalIndex>,
    events: &'r Events,
    permits: RolePermits,
    reply_media: Arc<ReplyMediaStore>,
    /// True if the run only judges the answers of another.
    is_rejudged: bool,
}

impl<'r> TaskScheduler<'r> {
    pub(crate) fn new(
        run: &'r RunContext<'r>,
        index: &'r Arc<JournalIndex>,
        events: &'r Events,
        folder: &RunFolder,
        is_rejudged: bool,
    ) -> TaskScheduler<'r> {
        let permits = RolePermits::new(run.options.concurrency.max(1));
        let reply_media = Arc::new(ReplyMediaStore::new(folder, run.stop));
        TaskScheduler { run, index, events, permits, reply_media, is_rejudged }
    }

    /// Returns the shard of the run that is written; `None` for the whole run.
    fn shard(&self) -> Option<Shard> {
        self.run.options.shard.as_ref().map(|(shard, _)| *shard)
    }

    /// Returns the records of a task that this process has to write; `None` for all.
    fn shard_of(&self, task: &TaskState) -> Option<Shard> {
        let position = self.run.plan.tasks.iter().position(|planned| Arc::ptr_eq(planned, &task.planned));
        self.shard().map(|shard| shard.of_task(position.unwrap_or_default()))
    }

    /// Returns how many of a task's records this process has to write.
    fn own_records(&self, task: &TaskState, total: u64) -> u64 {
        self.shard_of(task).map_or(total, |shard| shard.records_of(total))
    }

    /// Runs the tasks, with shared scorers and a shared recorder. `records` receives the finished records in order.
    pub(crate) fn run_tasks(
        &self,
        tasks: &[Arc<TaskState>],
        writer: &mut JournalWriter,
        records: Option<&dyn RecordSink>,
    ) -> Result<Vec<TaskReport>, RunError> {
        let (batch_sender, batches) = mpsc::channel::<ScoreRequest>(SCORE_QUEUE_CAPACITY);
        let (entry_sender, entries) = mpsc::channel::<RecordRequest>(RECORD_QUEUE_CAPACITY);
        let mut entries = DrainedReceiver(entries);
        let batches: ScoreQueue = Arc::new(Mutex::new(DrainedReceiver(batches)));
        let (stop, runtime, run_folder) = (self.run.stop, self.run.runtime, self.reply_media.run());
        let is_lockstep = self.run.options.is_lockstep;
        let observers = PreviewObservers { events: self.events, progress: self.run.progress.as_ref() };
        std::thread::scope(|threads| {
            // If a thread cannot be started, the queues close, which ends the threads that were started.
            let scorers = (0..self.run.options.workers.max(1)).map(|_| {
                let (batches, sender) = (Arc::clone(&batches), entry_sender.clone());
                spawn_scoped(threads, "scorer", move || {
                    let _guard = CancelOnPanic(stop);
                    score::run(&batches, &sender, run_folder, observers);
                })
            });
            let scorers = scorers.collect::<Result<Vec<_>, ResourceShortage>>()?;
            // The queue closes with its last scorer, so that senders never wait for scorers that are gone.
            drop(batches);
            let recorder = spawn_scoped(threads, "recorder", move || {
                let _guard = CancelOnPanic(stop);
                let markers = tasks.iter().map(|task| Arc::clone(&task.marker)).collect();
                let records = OrderedRecords::new(records, markers, self.shard());
                let progress = self.run.progress.as_ref();
                let shortages = self.run.shortages;
                let queue = RecordQueue { entries: &mut entries, runtime, is_lockstep, shortages };
                let result = record::run(writer, queue, progress, self.events, records, stop);
                // Without a receiver, no sender waits for a journal that cannot be written.
                drop(entries);
                result
            })?;
            let sinks = Sinks { scorers: batch_sender, recorder: entry_sender };
            let ran = self.run_in_parallel(tasks, &sinks);
            drop(sinks);
            let scored: Vec<_> = scorers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            let recorded = recorder.join();
            if let Some(shortage) = self.run.shortages.shortage() {
                return Err(RunError::Shortage(shortage));
            }
            recorded.map_err(|_| RunError::Internal("recorder"))??;
            if scored.iter().any(Result::is_err) {
                return Err(RunError::Internal("scorer"));
            }
            if let Some(error) = self.reply_media.take_failure() {
                return Err(RunError::Record(error));
            }
            let ran = ran?.into_iter().collect::<Result<Vec<_>, _>>()?;
            ran.into_iter().zip(tasks).map(|(output, task)| self.report(task, output)).collect()
        })
    }

    /// Runs tasks in order, up to the allowed number at a time.
    ///
    /// # Errors
    /// If a thread cannot be started.
    fn run_in_parallel(
        &self,
        tasks: &[Arc<TaskState>],
        sinks: &Sinks,
    ) -> Result<Vec<Result<Option<TaskOutput>, RunError>>, ResourceShortage> {
        let parallelism = self.run.options.task_parallelism.unwrap_or(self.run.plan.config.task_parallelism);
        let next = AtomicUsize::new(0);
        let ended: Mutex<Vec<(usize, Result<Option<TaskOutput>, RunError>)>> = Mutex::default();
        std::thread::scope(|threads| {
            for _ in 0..parallelism.clamp(1, tasks.len().max(1)) {
                let spawned = spawn_scoped(threads, "task", || {
                    let _guard = CancelOnPanic(self.run.stop);
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(task) = tasks.get(place) else { break };
                        let result = self.run_one(task, sinks);
                        if result.is_err() {
                            self.run.stop.cancel();
                        }
                        task.marker.end();
                        ended.lock().push((place, result));
                    }
                });
                // The tasks that were started end with the run.
                spawned.inspect_err(|_| self.run.stop.abort())?;
            }
            Ok::<_, ResourceShortage>(())
        })?;
        let mut ended = ended.into_inner();
        ended.sort_by_key(|(place, _)| *place);
        Ok(ended.into_iter().map(|(_, result)| result).collect())
    }

    /// Runs a task to its end. `None` if the run is stopped before the task starts.
    fn run_one(&self, task: &Arc<TaskState>, sinks: &Sinks) -> Result<Option<TaskOutput>, RunError> {
        if task.stop.is_cancelled() {
            return Ok(None);
        }
        let planned = &task.planned;
        let _span = error_span!("task", task = task.id()).entered();
        self.events.emit_task("task_started", task.id(), json!({}));
        let dataset = self.run.datasets.get(&planned.dataset.spec.dataset_id);
        let dataset = dataset.ok_or(RunError::Internal("search for datasets"))?;
        let most = [planned.spec.max_samples, self.run.options.max_samples].into_iter().flatten().min();
        let rows = match dataset.open_as(&planned.dataset.spec, most) {
            Ok(rows) => rows,
            Err(error @ DataError::Changed { .. }) => {
                return Err(RunError::data_changed(&planned.dataset, &error));
            }
            // Not an error of the run, because the other tasks have their own data.
            Err(failure) => {
                if let Some(shortage) = failure.shortage() {
                    return Err(RunError::Shortage(shortage));
                }
                let (task_id, failure) = (task.id().to_owned(), Some(failure));
                let report = TaskReport { task_id, failure, ..TaskReport::default() };
                self.on_task_finished(task, &report);
                return Ok(Some(TaskOutput { report, begun: 0 }));
            }
        };
        let rows = rows.of_shard(self.shard_of(task), planned.spec.repeat);
        let total = rows.total().map(|rows| rows.saturating_mul(planned.spec.repeat));
        let TaskOutput { mut report, begun } =
            run_task(self.resources_of(task, sinks, dataset, rows, most)?)?;
        check_shared_files(self.run)?;
        // A task that ran to the end has shown how many rows there are.
        let known = if report.ended_early() { total.or_else(|| self.count_planned(task)) } else { total };
        report.records_of_all_shards = report.records_of_all_shards.or(known);
        report.planned = known.map(|total| self.own_records(task, total));
        self.on_task_finished(task, &report);
        Ok(Some(TaskOutput { report, begun }))
    }

    /// Collects the parts of a task, and reports its number of samples.
    fn resources_of(
        &self,
        task: &Arc<TaskState>,
        sinks: &Sinks,
        dataset: &LocatedDataset,
        rows: Rows,
        most: Option<u64>,
    ) -> Result<TaskResources<'_>, RunError> {
        let (planned, session, options) = (&task.planned, self.run.session, self.run.options);
        let lost = || RunError::Internal("session");
        let backend = session.backend(&planned.role.backend_id).ok_or_else(lost)?;
        let total = rows.total().map(|rows| rows.saturating_mul(planned.spec.repeat));
        let own_total = total.map(|total| self.own_records(task, total));
        let resume =
            (!self.index.is_empty()).then(|| ResumeState::new(self.index, task.id(), total, &options.retry));
        // Without an answer to judge there is nothing to do.
        let resume = if self.is_rejudged {
            let resume =
                resume.unwrap_or_else(|| ResumeState::new(self.index, task.id(), total, &options.retry));
            Some(resume.without_model())
        } else {
            resume
        };
        let rows_to_compare = match &resume {
            Some(resume) if resume.may_be_finished() => {
                let rows = dataset.open_as(&planned.dataset.spec, most).ok();
                rows.map(|rows| rows.of_shard(self.shard_of(task), planned.spec.repeat))
            }
            _ => None,
        };
        let done = resume.as_ref().map_or(0, ResumeState::kept_samples);
        let means = planned.scoring.means();
        self.events.emit_task(
            "samples_planned",
            task.id(),
            json!({"total": own_total, "done": done, "means": means}),
        );
        self.run.progress.task_started(task.id(), own_total, done, planned.scoring.first_mean());
        let judging = planned
            .judges
            .as_ref()
            .map(|judges| {
                let media = JudgeMediaSources { samples: dataset.media(), replies: self.reply_media.run() };
                JudgeStep::new(judges, session, &self.permits, media, options.workers).ok_or_else(lost)
            })
            .transpose()?;
        let embedding = planned
            .embed
            .as_ref()
            .map(|embed| EmbeddingStep::new(embed, session, &self.permits).ok_or_else(lost))
            .transpose()?;
        let support_role = |planned: &_| SupportRole::new(planned, session, &self.permits, options.workers);
        let follow_up = |planned: &PlannedFollowUp| FollowUp {
            support_role: support_role(&planned.support_role),
            sets_answer: planned.sets_answer,
        };
        let follow_ups = planned.follow_ups.iter().map(follow_up).collect();
        Ok(TaskResources {
            task: Arc::clone(task),
            backend: Arc::clone(backend),
            post_inference: PostInferenceSteps::new(follow_ups, embedding, judging),
            reply_media: Arc::clone(&self.reply_media),
            support: planned.support.iter().map(support_role).collect(),
            tools: planned.tools.as_ref().map(|tools| support_role(&tools.support_role)),
            rows,
            shard: self.shard_of(task),
            preparation: dataset.preparation_of(&planned.dataset),
            resume,
            rows_to_compare,
            role_permits: &self.permits,
            workers: options.workers,
            sinks: sinks.clone(),
            progress: Arc::clone(self.run.progress),
            runtime: self.run.runtime,
        })
    }

    /// Reports the end of a task. Ends the other tasks if its failure ends the run.
    fn on_task_finished(&self, task: &TaskState, report: &TaskReport) {
        let task_id = task.id();
        let outcomes: Object = task
            .counts()
            .occurred()
            .map(|(outcome, count)| (outcome.name().to_owned(), count.into()))
            .collect();
        let note = json!({"outcomes": outcomes, "answered_before": report.resumed, "rows_filtered": report.filtered});
        self.events.emit_task("task_finished", task_id, note);
        self.run.progress.task_finished(task_id);
        for missing in &report.missing_fields {
            self.events.emit_task("missing_field", task_id, json!({"message": missing.to_string()}));
        }
        let wrong = match (&report.failure, &report.too_many_invalid) {
            (Some(error), _) => Some(("data_failed", error.to_string())),
            (None, Some(invalid)) => Some(("too_many_invalid", invalid.to_string())),
            (None, None) => None,
        };
        if let Some((kind, message)) = wrong {
            self.events.emit_task(kind, task_id, json!({"message": message}));
            if self.run.plan.config.failure_policy == Some(FailurePolicy::FailFast) {
                self.run.stop.cancel_for(&StopReason::FailFast(format!("{task_id}: {message}")));
            }
        }
    }

    /// Returns the number of records of a task in all shards, by counting its rows without preparing them. `None` if they
    /// cannot be read, or if they are too many to count while the user waits for the run to end.
    fn count_planned(&self, task: &TaskState) -> Option<u64> {
        let planned = &task.planned;
        let spec = &planned.spec;
        let most = [spec.max_samples, self.run.options.max_samples].into_iter().flatten().min();
        // The number of rows does not depend on their order.
        let dataset = DatasetSpec { shuffle: false, ..planned.dataset.spec.clone() };
        let rows = self.run.datasets.get(&dataset.dataset_id)?.open_as(&dataset, most).ok()?;
        let count = match rows.total() {
            Some(total) => total,
            None => rows.count_up_to(MAX_COUNTED_ROWS)?,
        };
        Some(count.saturating_mul(spec.repeat))
    }

    fn report(&self, task: &TaskState, output: Option<TaskOutput>) -> Result<TaskReport, RunError> {
        let Some(TaskOutput { report, begun }) = output else {
            let records_of_all_shards = self.count_planned(task);
            let planned = records_of_all_shards.map(|total| self.own_records(task, total));
            let (task_id, cut_off) = (task.id().to_owned(), task.stop.reason());
            return Ok(TaskReport {
                task_id,
                cut_off,
                planned,
                records_of_all_shards,
                ..TaskReport::default()
            });
        };
        let counts = task.counts();
        if counts.total() != begun {
            return Err(RunError::LostSamples { expected: begun, recorded: counts.total() });
        }
        Ok(TaskReport { counts, evaluation: task.evaluation_time(), ..report })
    }
}
