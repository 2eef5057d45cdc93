//! The threads that score answers: components are called with batches, off the async runtime.

use crate::inference::Inferred;
use crate::plan::{CLOCKS, PlannedMetric, PlannedTask};
use crate::recorder::Finished;
use gage_core::{MetricResult, Outcome, Roots};
use gage_plugin::{ItemError, MetricItem};
use gage_record::{ErrorNote, SampleRecord, Stage, unix_milliseconds};
use serde_json::Value;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Most samples that are scored in one call.
const BATCH: usize = 64;

/// A sample on its way to the scorers, with the permit that bounds how many are in flight.
pub(crate) enum Job {
    /// The model has answered, or failed.
    Inferred { inferred: Box<Inferred>, permit: OwnedSemaphorePermit },
    /// The row did not become a Sample; there is nothing to score.
    Rejected { record: Box<SampleRecord>, permit: OwnedSemaphorePermit },
}

/// What all scorers of a task share: the queue, of which one at a time takes a batch.
pub(crate) type Queue = Arc<Mutex<mpsc::Receiver<Job>>>;

/// Scores batches until the queue is closed and empty. Returns how long that took.
pub(crate) fn work(task: &PlannedTask, queue: &Queue, finished: &SyncSender<Finished>) -> Duration {
    let mut spent = Duration::ZERO;
    loop {
        let batch = take_batch(queue);
        if batch.is_empty() {
            return spent;
        }
        let began = Instant::now();
        let (mut inferred, mut permits, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for job in batch {
            match job {
                Job::Inferred { inferred: one, permit } => {
                    inferred.push(*one);
                    permits.push(permit);
                }
                Job::Rejected { record, permit } => records.push((*record, permit)),
            }
        }
        records.extend(score(task, inferred).into_iter().zip(permits));
        spent += began.elapsed();
        for (record, permit) in records {
            // The recorder ends early only when the journal cannot be written.
            if finished.send(Finished { record, permit }).is_err() {
                return spent;
            }
        }
    }
}

/// Waits for a job, and takes what else there is, up to a batch.
fn take_batch(queue: &Queue) -> Vec<Job> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let mut batch: Vec<Job> = queue.blocking_recv().into_iter().collect();
    while !batch.is_empty() && batch.len() < BATCH {
        match queue.try_recv() {
            Ok(job) => batch.push(job),
            Err(_) => break,
        }
    }
    batch
}

/// Scores a batch and makes records of it.
pub(crate) fn score(task: &PlannedTask, mut batch: Vec<Inferred>) -> Vec<SampleRecord> {
    let began = Instant::now();
    for inferred in &mut batch {
        put_clocks(inferred);
    }
    let mut results: Vec<Vec<MetricResult>> = batch.iter().map(|_| Vec::new()).collect();
    let mut timings: Vec<Vec<MetricResult>> = batch.iter().map(|_| Vec::new()).collect();
    for planned in &task.metrics {
        let chosen: Vec<usize> =
            (0..batch.len()).filter(|place| batch[*place].outcome == Outcome::Scored).collect();
        let items: Vec<MetricItem> = chosen
            .iter()
            .map(|place| {
                let inferred = &batch[*place];
                let roots = Roots {
                    sample: &inferred.sample,
                    model_output: &inferred.model_output,
                    judge_output: &Value::Null,
                };
                planned.metric.resolve(&inferred.sample_id, roots)
            })
            .collect();
        for (place, scored) in chosen.into_iter().zip(planned.metric.score(items)) {
            let target = if planned.is_timing { &mut timings } else { &mut results };
            target[place].push(result_of(planned, scored));
        }
    }
    let share = began.elapsed().as_secs_f64() * 1_000.0 / batch.len().max(1) as f64;
    batch
        .into_iter()
        .zip(results)
        .zip(timings)
        .map(|((inferred, metrics), timing_metrics)| {
            record_of(task, inferred, metrics, timing_metrics, share)
        })
        .collect()
}

/// Puts what varies from run to run where metrics can read it.
fn put_clocks(inferred: &mut Inferred) {
    if let Value::Object(output) = &mut inferred.model_output {
        let timing = &inferred.timing;
        let values: [Value; 3] = [timing.latency_ms.into(), timing.queue_ms.into(), timing.attempts.into()];
        for (key, value) in CLOCKS.into_iter().zip(values) {
            output.insert(key.to_owned(), value);
        }
    }
}

fn result_of(planned: &PlannedMetric, scored: Result<gage_core::ScoreCard, ItemError>) -> MetricResult {
    let metric_id = planned.metric_id.clone();
    match scored {
        Ok(card) => {
            let outcome = if card.primary_score.is_some() { Outcome::Scored } else { Outcome::Skipped };
            MetricResult { metric_id, outcome, card: Some(card), error: None }
        }
        Err(error) => {
            let message = match error.pointer {
                Some(pointer) => format!("{} at {pointer}: {}", error.kind, error.message),
                None => format!("{}: {}", error.kind, error.message),
            };
            MetricResult { metric_id, outcome: error.outcome, card: None, error: Some(message) }
        }
    }
}

fn record_of(
    task: &PlannedTask,
    mut inferred: Inferred,
    metrics: Vec<MetricResult>,
    timing_metrics: Vec<MetricResult>,
    scoring_ms: f64,
) -> SampleRecord {
    if let Value::Object(output) = &mut inferred.model_output {
        for key in CLOCKS {
            output.shift_remove(key);
        }
    }
    let failed = metrics
        .iter()
        .chain(&timing_metrics)
        .find(|result| !matches!(result.outcome, Outcome::Scored | Outcome::Skipped));
    if let (Some(failed), Outcome::Scored) = (failed, inferred.outcome) {
        inferred.outcome = failed.outcome;
        inferred.error = Some(ErrorNote {
            stage: Stage::Scoring,
            kind: failed.outcome.name().to_owned(),
            message: format!("{}: {}", failed.metric_id, failed.error.as_deref().unwrap_or_default()),
            pointer: None,
        });
    }
    let has_output = !inferred.model_output.is_null();
    inferred.timing.scoring_ms = scoring_ms;
    inferred.timing.finished_unix_ms = unix_milliseconds();
    SampleRecord {
        task_id: task.spec.task_id.clone(),
        index: inferred.index,
        sample_id: inferred.sample_id,
        row_digest: inferred.row_digest,
        outcome: inferred.outcome,
        error: inferred.error,
        sample: inferred.sample,
        row: None,
        model_output: has_output.then_some(inferred.model_output),
        judge_output: None,
        metrics,
        timing: inferred.timing,
        timing_metrics,
    }
}
