//! Rescoring: scores the answers of a run again, with other metrics or a newer version of the same. No model is asked,
//! and no dataset is read.

use super::report::RunReport;
use crate::identity;
use crate::limits::cancel_token::CancelToken;
use crate::pipeline::record::ordered_records::{FinishedRecord, RecordSink};
use crate::pipeline::score::score;
use crate::pipeline::task_report::TaskReport;
use crate::plan::Scoring;
use crate::progress::{FinishedSample, Progress, RunUsage};
use crate::sample::result::SampleResult;
use gage_core::{
    OrderedWorkers, OutcomeCounts, ResourceShortage, ShortageWatch, rows_of_batch, spawn_scoped,
};
use gage_record::{
    AnswerReader, GrantedPermissions, JournalIndex, JournalWriter, Manifest, MediaFolder, RecordError,
    RunFolder, RunIdentity, RunReader,
};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// The machine has too little of a resource, which is not a result of any sample.
    #[error(transparent)]
    Shortage(#[from] ResourceShortage),
}

/// The inputs of a run that scores the answers of another.
#[derive(Clone, Copy)]
pub struct RescoreContext<'r> {
    /// The run whose answers are scored.
    pub parent: &'r RunReader,
    /// The journal of that run.
    pub journal: &'r JournalIndex,
    /// The suite to score with, in the form that is recorded.
    pub config: &'r Value,
    /// The digests of the values removed from `config`.
    pub redacted: &'r BTreeMap<String, String>,
    /// What the suite may reach, if it is a stranger's.
    pub permissions: Option<&'r GrantedPermissions>,
    /// The scoring of each task.
    pub tasks: &'r [Scoring],
    /// The folder of all runs.
    pub root: &'r Path,
    /// The name of the new run, and of its folder.
    pub run_id: &'r str,
    /// The version of the program, for the manifest.
    pub host_version: &'r str,
    /// False if the records are needed only by `records`.
    pub keeps_journal: bool,
    /// Receives the records in order.
    pub records: Option<&'r dyn RecordSink>,
    /// The observer of the run's progress.
    pub progress: &'r dyn Progress,
    /// Ends the run.
    pub stop: &'r CancelToken,
    /// Notices shortages of the machine. After one, nothing is recorded.
    pub shortages: ShortageWatch,
}

/// Scores the answers of a run into a new folder, which names that run. Samples without an answer, or with one that was
/// not to be scored, are copied unchanged.
///
/// # Errors
/// If a folder cannot be read or written, or if no task is one of the run's.
pub fn rescore(context: &RescoreContext<'_>) -> Result<RunReport, RescoreError> {
    let RescoreContext { parent, tasks, root, run_id, progress, stop, .. } = *context;
    let index = context.journal;
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
    let parent_run = &parent.manifest().run_id;
    let folder = RunFolder::create_scoring(root, run_id, parent_run)?;
    let mut manifest = Manifest::new(run_id, context.host_version, identity);
    manifest.parent_run = Some(parent_run.clone());
    manifest.permissions = context.permissions.cloned();
    manifest.warnings = parent.manifest().warnings.clone();
    manifest.prompt_versions =
        tasks.iter().map(|task| (task.task_id.clone(), task.prompt_version.clone())).collect();
    if let Err(error) = manifest.write(&folder) {
        folder.delete_unstarted();
        return Err(error.into());
    }
    if context.keeps_journal {
        MediaFolder::copy(parent.path(), &folder)?;
    }
    let mut writer = match context.keeps_journal {
        true => Some(JournalWriter::open(&folder)?.writer),
        false => None,
    };
    if let Some(records) = context.records {
        records.begin(&folder);
    }
    let mut reports = Vec::with_capacity(tasks.len());
    for task in tasks {
        progress.task_started(&task.task_id, Some(count_judged(index, task)), 0, task.first_mean());
        let (counts, evaluation) = rescore_task(context, task, writer.as_mut())?;
        progress.task_finished(&task.task_id);
        // Needed if rescoring itself is stopped. Samples missing from the parent run are that run's concern.
        let planned = Some(index.samples(&task.task_id).count() as u64);
        let (task_id, cut_off) = (task.task_id.clone(), stop.reason());
        reports.push(TaskReport { task_id, counts, evaluation, planned, cut_off, ..TaskReport::default() });
    }
    writer.into_iter().for_each(super::finish_journal);
    Ok(RunReport {
        folder,
        manifest,
        tasks: reports,
        stopped: stop.reason(),
        unchanged: None,
        spent: RunUsage::default(),
    })
}

/// Returns the number of samples of a task that have ended, or that only need scores.
fn count_judged(index: &JournalIndex, task: &Scoring) -> u64 {
    index.samples(&task.task_id).filter(|(_, sample)| !sample.awaits_judges()).count() as u64
}

/// The rows of neighbouring samples of the parent's journal, and whether each has an answer to score.
type BatchRows = Vec<(u64, bool)>;

/// A batch with its scores.
struct ScoredBatch {
    /// In the order of the rows.
    samples: Vec<FinishedRecord>,
    spent: Duration,
}

fn rescore_task(
    context: &RescoreContext<'_>,
    task: &Scoring,
    mut writer: Option<&mut JournalWriter>,
) -> Result<(OutcomeCounts, Duration), RescoreError> {
    let RescoreContext { journal, progress, stop, records, .. } = *context;
    let run = context.parent.path();
    std::thread::scope(|threads| {
        let mut workers = OrderedWorkers::start(
            |worker| spawn_scoped(threads, "scorer", worker).map(drop),
            || {
                let mut answers = journal.answers();
                move |rows: BatchRows| read_and_score(&mut answers, &rows, task, run)
            },
        )?;
        let mut batches = batches(journal, task);
        let mut next = || if stop.is_cancelled() { None } else { batches.next() };
        let (mut counts, mut spent) = (OutcomeCounts::default(), Duration::ZERO);
        while let Some(batch) = workers.next(&mut next) {
            let ScoredBatch { samples, spent: took } = batch?;
            if let Some(shortage) = context.shortages.shortage() {
                return Err(RescoreError::Shortage(shortage));
            }
            spent += took;
            if let Some(writer) = &mut writer {
                writer.append_batch(samples.iter().flat_map(|sample| sample.entries(&task.task_id)))?;
            }
            for sample in &samples {
                if let Some(records) = records {
                    sample.with_view(&task.task_id, |record| records.add(record));
                }
                let finished = FinishedSample { was_answered: false, ..sample.finished() };
                counts.add(finished.outcome);
                progress.sample_finished(&finished);
            }
        }
        Ok((counts, spent))
    })
}

/// Returns the samples of a task in order, neighbours together.
fn batches<'i>(index: &'i JournalIndex, task: &'i Scoring) -> impl Iterator<Item = BatchRows> + 'i {
    // A sample that awaits its judges has nothing to score and has not ended.
    let mut samples = index.samples(&task.task_id).filter(|(_, sample)| !sample.awaits_judges()).peekable();
    std::iter::from_fn(move || {
        let (first, sample) = samples.next()?;
        let mut rows = vec![(first, sample.is_answered())];
        while let Some((row, sample)) = samples.next_if(|(row, _)| rows_of_batch(first).contains(row)) {
            rows.push((row, sample.is_answered()));
        }
        Some(rows)
    })
}

/// Reads samples from the journal, and scores their answers together.
fn read_and_score(
    journal: &mut AnswerReader<'_>,
    rows: &[(u64, bool)],
    task: &Scoring,
    run: &Path,
) -> Result<ScoredBatch, RecordError> {
    let began = Instant::now();
    let (mut answers, mut whole) = (Vec::with_capacity(rows.len()), VecDeque::new());
    for (row, is_answered) in rows {
        match is_answered {
            true => answers.extend(journal.read(&task.task_id, *row)?.map(SampleResult::of_record)),
            false => whole.extend(journal.read_whole(&task.task_id, *row)?),
        }
    }
    let scores = score(task, &answers.iter().collect::<Vec<_>>(), run);
    let mut scored = answers.into_iter().zip(scores);
    let samples = rows.iter().filter_map(|(_, is_answered)| match is_answered {
        true => {
            let (answer, scores) = scored.next()?;
            Some(FinishedRecord::Scored(Arc::new(answer), Box::new(scores)))
        }
        false => whole.pop_front().map(|record| FinishedRecord::Whole(Box::new(record))),
    });
    Ok(ScoredBatch { samples: samples.collect(), spent: began.elapsed() })
}
