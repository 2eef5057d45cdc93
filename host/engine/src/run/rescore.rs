//! Rescoring: scores the answers of a run again, with other metrics or a newer version of the same. No model is asked,
//! and no dataset is read.

use super::report::RunReport;
use crate::identity;
use crate::limits::budget::RunUsage;
use crate::limits::cancel_token::CancelToken;
use crate::pipeline::score::score;
use crate::pipeline::task_report::TaskReport;
use crate::plan::Scoring;
use crate::progress::{FinishedSample, Progress};
use crate::sample::batch_rows::rows_of_batch;
use crate::sample::result::SampleResult;
use gage_core::OutcomeCounts;
use gage_record::{
    JournalEntry, JournalIndex, JournalWriter, Manifest, MediaFolder, RecordError, RunFolder, RunIdentity,
    RunReader, SampleRecord, ScoresEntry,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Number of batches that may wait, per thread.
const BATCHES_WAITING: usize = 2;

/// Reason that answers could not be scored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RescoreError {
    /// A run folder cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No task of the suite is in the run.
    #[error("the run has no answers of the task `{task_id}`, or of another of the suite; it has: {known}")]
    UnknownTask {
        /// The suite's first task.
        task_id: String,
        /// The run's tasks.
        known: String,
    },
    /// A thread of this program panicked. This is a bug.
    #[error("internal error: the {0} failed")]
    Internal(&'static str),
}

/// The inputs of a run that scores the answers of another.
#[derive(Clone, Copy)]
pub struct RescoreContext<'r> {
    /// The run whose answers are scored.
    pub parent: &'r RunReader,
    /// The suite to score with, in the form that is recorded.
    pub config: &'r Value,
    /// The digests of the values removed from `config`.
    pub redacted: &'r BTreeMap<String, String>,
    /// The scoring of each task.
    pub tasks: &'r [Scoring],
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the new run, and of its folder.
    pub run_id: &'r str,
    /// The version of the program, for the manifest.
    pub host_version: &'r str,
    /// Number of scorer threads.
    pub workers: usize,
    /// The observer of the run's progress.
    pub progress: &'r dyn Progress,
    /// Ends the run.
    pub stop: &'r CancelToken,
}

/// Scores the answers of a run into a new folder, which names that run. Samples without an answer, or with one that was
/// not to be scored, are copied unchanged.
///
/// # Errors
/// If a folder cannot be read or written, or if no task is one of the run's.
pub fn rescore(context: &RescoreContext<'_>) -> Result<RunReport, RescoreError> {
    let RescoreContext { parent, tasks, root, run_id, progress, stop, .. } = *context;
    let index = parent.journal()?;
    let known = index.task_ids();
    let is_known = |task: &&Scoring| known.contains(&task.task_id.as_str());
    // A run without any sample has no tasks in its journal.
    let is_empty = known.is_empty();
    if let (Some(task), None, false) = (tasks.first(), tasks.iter().find(is_known), is_empty) {
        return Err(RescoreError::UnknownTask { task_id: task.task_id.clone(), known: known.join(", ") });
    }
    let before = &parent.manifest().identity;
    // The other parts of the identity produced the answers, so they still apply.
    let mut identity = RunIdentity {
        config: context.config.clone(),
        host: identity::host_identity(),
        redacted: context.redacted.clone(),
        ..before.clone()
    };
    tasks.iter().for_each(|task| identity::add_scoring(&mut identity.plugins, task));
    let folder = RunFolder::create(root, run_id)?;
    let mut manifest = Manifest::new(run_id, context.host_version, identity);
    manifest.parent_run = Some(parent.manifest().run_id.clone());
    manifest.prompt_versions =
        tasks.iter().map(|task| (task.task_id.clone(), task.prompt_version.clone())).collect();
    manifest.write(&folder)?;
    MediaFolder::copy(parent.path(), &folder)?;
    let mut writer = JournalWriter::open(&folder)?.writer;
    let mut reports = Vec::with_capacity(tasks.len());
    for task in tasks {
        progress.task_started(
            &task.task_id,
            Some(count_judged(&index, task)),
            0,
            task.means().first().copied(),
        );
        let (counts, evaluation) = rescore_task(context, &index, task, &mut writer)?;
        progress.task_finished(&task.task_id);
        // Needed if rescoring itself is stopped. Samples missing from the parent run are that run's concern.
        let planned = Some(index.samples(&task.task_id).count() as u64);
        let (task_id, cut_off) = (task.task_id.clone(), stop.reason());
        reports.push(TaskReport { task_id, counts, evaluation, planned, cut_off, ..TaskReport::default() });
    }
    super::finish_journal(writer);
    Ok(RunReport { folder, manifest, tasks: reports, stopped: stop.reason(), spent: RunUsage::default() })
}

/// Returns the number of samples of a task that have ended, or that only need scores.
fn count_judged(index: &JournalIndex, task: &Scoring) -> u64 {
    index.samples(&task.task_id).filter(|(_, sample)| !sample.awaits_judges()).count() as u64
}

/// Neighbouring samples of the parent's journal.
#[derive(Default)]
struct RescoreBatch {
    answers: Vec<SampleResult>,
    whole: Vec<SampleRecord>,
}

/// A batch and its scores.
struct ScoredBatch {
    batch: RescoreBatch,
    scores: Vec<ScoresEntry>,
    spent: Duration,
}

fn rescore_task(
    context: &RescoreContext<'_>,
    index: &JournalIndex,
    task: &Scoring,
    writer: &mut JournalWriter,
) -> Result<(OutcomeCounts, Duration), RescoreError> {
    let RescoreContext { progress, stop, .. } = *context;
    let workers = context.workers.max(1);
    let (batch_sender, batches) = sync_channel::<RescoreBatch>(workers * BATCHES_WAITING);
    let (scored_sender, scored) = sync_channel::<ScoredBatch>(workers * BATCHES_WAITING);
    let batches = Arc::new(Mutex::new(batches));
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let sender = batch_sender;
            read(index, task, stop, |batch| sender.send(batch).is_ok())
        });
        for _ in 0..workers {
            let (sender, batches) = (scored_sender.clone(), Arc::clone(&batches));
            threads.spawn(move || {
                while let Some(batch) = next(&batches) {
                    let began = Instant::now();
                    let answers: Vec<&SampleResult> = batch.answers.iter().collect();
                    let scores = score(task, &answers, context.parent.path());
                    if sender.send(ScoredBatch { batch, scores, spent: began.elapsed() }).is_err() {
                        break;
                    }
                }
            });
        }
        // The queue closes with its last scorer. So the reader never waits for scorers that are gone, such as after a
        // failure of the journal.
        drop((scored_sender, batches));
        let (mut counts, mut spent) = (OutcomeCounts::default(), Duration::ZERO);
        for ScoredBatch { batch, scores, spent: took } in scored {
            spent += took;
            let answers = batch.answers.iter().map(|one| JournalEntry::Answer(one.entry(&task.task_id)));
            let entries = answers.chain(scores.iter().map(JournalEntry::Scores));
            writer
                .append_batch(entries.chain(batch.whole.iter().map(JournalEntry::FinishedWithoutScores)))?;
            let finished = scores
                .iter()
                .map(|entry| FinishedSample { was_answered: false, ..FinishedSample::of_scores(entry) });
            for finished in finished.chain(batch.whole.iter().map(FinishedSample::of_record)) {
                counts.add(finished.outcome);
                progress.sample_finished(&finished);
            }
        }
        reader.join().map_err(|_| RescoreError::Internal("reader"))??;
        Ok((counts, spent))
    })
}

fn next(batches: &Mutex<Receiver<RescoreBatch>>) -> Option<RescoreBatch> {
    batches.lock().recv().ok()
}

/// Reads the samples of a task in order, and hands on neighbours together, until the receiver is gone.
fn read(
    index: &JournalIndex,
    task: &Scoring,
    stop: &CancelToken,
    mut send: impl FnMut(RescoreBatch) -> bool,
) -> Result<(), RecordError> {
    let mut answers = index.answers();
    let mut whole = index.whole_records(&task.task_id);
    let mut batch = RescoreBatch::default();
    // A sample that awaits its judges has nothing to score and has not ended.
    let mut samples = index.samples(&task.task_id).filter(|(_, sample)| !sample.awaits_judges()).peekable();
    while let Some((row, sample)) = samples.next() {
        if stop.is_cancelled() {
            return Ok(());
        }
        match sample.is_answered() {
            true => batch.answers.extend(answers.read(&task.task_id, row)?.map(SampleResult::of_record)),
            false => batch.whole.extend(whole.next().transpose()?),
        }
        let continues_batch = samples.peek().is_some_and(|(next, _)| rows_of_batch(row).contains(next));
        if !continues_batch && !send(std::mem::take(&mut batch)) {
            return Ok(());
        }
    }
    Ok(())
}
