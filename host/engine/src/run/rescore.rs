//! The answers of a run, scored once more: with other metrics, or with a newer version of the same. No model
//! is asked, and no dataset is read.

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
    JournalEntry, JournalIndex, JournalWriter, Manifest, RecordError, RunFolder, RunIdentity, RunReader,
    SampleRecord, ScoresEntry,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Batches that may wait, for each thread.
const BATCHES_WAITING: usize = 2;

/// Why answers could not be scored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RescoreError {
    /// A run folder cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No task of the suite is one of the run.
    #[error("the run has no answers of the task `{task_id}`, or of another of the suite; it has: {known}")]
    UnknownTask {
        /// The task.
        task_id: String,
        /// Those of the run.
        known: String,
    },
    /// A thread of this program panicked; a bug.
    #[error("internal error: the {0} failed")]
    Internal(&'static str),
}

/// The parts of a run that scores the answers of another.
#[derive(Clone, Copy)]
pub struct RescoreContext<'r> {
    /// The run whose answers are scored.
    pub parent: &'r RunReader,
    /// The suite that scores, as it may be written down.
    pub config: &'r Value,
    /// The digests of what `config` is without.
    pub redacted: &'r BTreeMap<String, String>,
    /// What scores the answers of each task.
    pub tasks: &'r [Scoring],
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the new run, and of its folder.
    pub run_id: &'r str,
    /// The version of the program, for the manifest.
    pub host_version: &'r str,
    /// Threads that score.
    pub workers: usize,
    /// Who shows how the run goes on.
    pub progress: &'r dyn Progress,
    /// Ends the run.
    pub stop: &'r CancelToken,
}

/// Scores the answers of a run into a new folder, which names the run that they are from. Answers that
/// never came, or were not to be scored, are taken over as they are.
///
/// # Errors
/// When a folder cannot be read or written, and when a task is not one of the run's.
pub fn rescore(context: &RescoreContext<'_>) -> Result<RunReport, RescoreError> {
    let RescoreContext { parent, tasks, root, run_id, progress, stop, .. } = *context;
    let index = parent.journal()?;
    let known = index.task_ids();
    let is_known = |task: &&Scoring| known.contains(&task.task_id.as_str());
    // A run without any sample has nothing of any task.
    let is_empty = known.is_empty();
    if let (Some(task), None, false) = (tasks.first(), tasks.iter().find(is_known), is_empty) {
        return Err(RescoreError::UnknownTask { task_id: task.task_id.clone(), known: known.join(", ") });
    }
    let before = &parent.manifest().identity;
    // Those that took part before the answers were scored did so still.
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
        // Where it is stopped itself; what the run lacks whose answers these are is known to that run.
        let planned = Some(index.samples(&task.task_id).count() as u64);
        let (task_id, cut_off) = (task.task_id.clone(), stop.reason());
        reports.push(TaskReport { task_id, counts, evaluation, planned, cut_off, ..TaskReport::default() });
    }
    Ok(RunReport { folder, manifest, tasks: reports, stopped: stop.reason(), spent: RunUsage::default() })
}

/// Returns how many samples of a task have ended, or need only scores for it.
fn count_judged(index: &JournalIndex, task: &Scoring) -> u64 {
    index.samples(&task.task_id).filter(|(_, sample)| !sample.awaits_judges()).count() as u64
}

/// Neighbours of the parent's journal.
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
                    let scores = score(task, &answers);
                    if sender.send(ScoredBatch { batch, scores, spent: began.elapsed() }).is_err() {
                        break;
                    }
                }
            });
        }
        // With the last scorer the queue is closed, so that the reader waits for none that is gone, as when the
        // journal cannot be written.
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

/// Reads the samples of a task in order, and hands on those that are neighbours, until nobody takes them.
fn read(
    index: &JournalIndex,
    task: &Scoring,
    stop: &CancelToken,
    mut send: impl FnMut(RescoreBatch) -> bool,
) -> Result<(), RecordError> {
    let mut answers = index.answers();
    let mut whole = index.whole_records(&task.task_id);
    let mut batch = RescoreBatch::default();
    // What was not judged has nothing that could be scored, and has not ended.
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
