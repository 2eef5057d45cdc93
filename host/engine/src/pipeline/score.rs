//! The scorer threads, which call components with batches of answers, off the async runtime.

pub(crate) mod batches;
pub(crate) mod extraction;
pub(crate) mod preview;

use super::drained_receiver::DrainedReceiver;
use super::lockstep::{LockstepMark, LockstepWait, lockstep};
use super::post_process::judging::unread_reason;
use super::record::journal_item::{JournalItem, RecordRequest};
use super::reply_media;
use super::task_state::TaskState;
use crate::plan::{PlannedMetric, Scoring, reads_calls, reads_clock};
use crate::sample::answer_outcome::awaited_tool_of;
use crate::sample::eval_config::{self, ParamOverride};
use crate::sample::result::SampleResult;
use crate::sample::span;
use batches::PendingAnswer;
use compact_str::CompactString;
use extraction::extract;
use gage_backend::media_kind_to_guest;
use gage_core::{
    EvalContext, JUDGE_CLOCK, JsonView, MetricResult, Object, Outcome, OutputView, RESULT_SCHEMA_VERSION,
    Root, ScoreCard, TIMING_KEYS,
};
use gage_plugin::{ItemError, MediaSet, Metric};
use gage_record::{ErrorNote, MediaFolder, SampleTiming, Scores, ScoresEntry, Stage, unix_milliseconds};
use gage_secrets::{redact, redact_value};
use parking_lot::Mutex;
use preview::{PreviewObservers, PreviewRequest};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// Work of a scorer.
pub(crate) enum ScoreRequest {
    Batch(ScoreBatch),
    /// Scores that are only displayed.
    Preview(PreviewRequest),
}

/// Answers of neighbouring rows of a task.
pub(crate) struct ScoreBatch {
    pub(crate) task: Arc<TaskState>,
    pub(crate) batch: Vec<PendingAnswer>,
    /// Ends the wait of a sender in lockstep.
    pub(crate) mark: Option<LockstepMark>,
}

/// The batches that all scorers of a run share. Each scorer takes one at a time.
pub(crate) type ScoreQueue = Arc<Mutex<DrainedReceiver<ScoreRequest>>>;

/// Scores batches of all tasks until the queue is closed and empty. `run` is the run folder.
pub(crate) fn run(
    queue: &ScoreQueue,
    recorder: &mpsc::Sender<RecordRequest>,
    run: &Path,
    observers: PreviewObservers<'_>,
) {
    loop {
        let next = queue.lock().blocking_recv();
        let ScoreBatch { task, batch, mark: _mark } = match next {
            Some(ScoreRequest::Batch(batch)) => batch,
            Some(ScoreRequest::Preview(preview)) => {
                preview.run(run, observers);
                continue;
            }
            None => return,
        };
        // The answers are recorded, and are scored when the run is resumed.
        if task.aborts_on_shortage() {
            continue;
        }
        let began = Instant::now();
        let answers: Vec<&SampleResult> = batch.iter().map(|pending| pending.answer.as_ref()).collect();
        let scored = score(&task.planned.scoring, &answers, run);
        task.add_evaluation_time(began.elapsed());
        task.on_batch_scored();
        for (entry, pending) in scored.into_iter().zip(batch) {
            task.on_finished(entry.outcome, &entry.sample_id);
            let (mark, wait) = lockstep(task.is_lockstep);
            let request = RecordRequest {
                mark,
                task: Arc::clone(&task),
                item: JournalItem::Scores(pending.answer, Box::new(entry)),
                permit: Some(pending.unscored),
                is_awaited: false,
                follows_shortage: task.aborts_on_shortage(),
            };
            // The recorder ends early only when the journal cannot be written.
            if recorder.blocking_send(request).is_err() {
                return;
            }
            wait.into_iter().for_each(LockstepWait::wait);
        }
    }
}

/// Scores a batch, in the order of its rows. `run` is the folder with the media of replies.
pub(crate) fn score(task: &Scoring, batch: &[&SampleResult], run: &Path) -> Vec<ScoresEntry> {
    let _span = span::of_batch(&task.task_id, batch).entered();
    let began = Instant::now();
    let mut extracted = extract_all(task, batch);
    let extracting = if task.extractors.is_empty() { 0.0 } else { began.elapsed().as_secs_f64() * 1_000.0 };
    let mut fuel = 0;
    let scorable: Vec<usize> =
        (0..batch.len()).filter(|index| extracted[*index].scores.error.is_none()).collect();
    for planned in &task.metrics {
        for (changed, indices) in group_by_override(planned, batch, &scorable) {
            let metric =
                changed.and_then(|params| params.map(|params| with_params(planned, params)).transpose());
            let results = match metric {
                Ok(own) => {
                    let metric = own.as_ref().unwrap_or(&planned.metric);
                    let group = indices.iter().map(|index| (batch[*index], &extracted[*index]));
                    let (results, spent) = score_group(planned, metric, group, run);
                    fuel += spent;
                    results
                }
                Err(result) => vec![*result; indices.len()],
            };
            for (index, result) in indices.into_iter().zip(results) {
                let scores = &mut extracted[index].scores;
                let target = if planned.is_timing { &mut scores.timing_metrics } else { &mut scores.metrics };
                target.push(result);
            }
        }
    }
    let milliseconds = began.elapsed().as_secs_f64() * 1_000.0;
    let many = batch.len().max(1);
    let (share, rest) = (fuel / many as u64, fuel % many as u64);
    let entries = batch.iter().zip(extracted).zip(0..);
    entries
        .map(|((answer, ExtractedSample { mut scores, outcome, .. }), index)| {
            scores.scoring_ms = milliseconds / many as f64;
            scores.extract_ms = extracting / many as f64;
            scores.scoring_fuel = share + u64::from(index < rest);
            scores.scored_together = u32::try_from(many).unwrap_or(u32::MAX);
            scores.finished_unix_ms = unix_milliseconds();
            entry_of(task, answer, outcome, scores)
        })
        .collect()
}

/// A sample of a batch after extraction, with its scores so far.
struct ExtractedSample {
    outcome: Outcome,
    scores: Scores,
    /// The model's output after extraction, which metrics read in place of the original.
    model_output: Option<Value>,
    /// The tool that the reply waits for, if the task reads its calls and scores no empty answers.
    awaited_tool: Option<String>,
}

/// Runs a task's extractors on a batch.
fn extract_all(task: &Scoring, batch: &[&SampleResult]) -> Vec<ExtractedSample> {
    let unscored = |answer: &&SampleResult| ExtractedSample {
        outcome: answer.outcome,
        scores: Scores::default(),
        model_output: None,
        awaited_tool: task.finds_unanswered_calls().then(|| awaited_tool_of(&answer.model_output)).flatten(),
    };
    let mut samples: Vec<ExtractedSample> = batch.iter().map(unscored).collect();
    if task.extractors.is_empty() {
        return samples;
    }
    for (sample, extraction) in samples.iter_mut().zip(extract(&task.extractors, batch)) {
        sample.scores.extracted = extraction.found;
        sample.model_output = Some(extraction.model_output);
        if let Some((failed, error)) = extraction.error {
            sample.outcome = failed;
            sample.scores.error = Some(error);
        }
    }
    samples
}

/// Scores the samples of a batch that share a metric's parameters. Returns the results and the fuel to count.
fn score_group<'a>(
    planned: &PlannedMetric,
    metric: &Metric,
    group: impl Iterator<Item = (&'a SampleResult, &'a ExtractedSample)>,
    run: &Path,
) -> (Vec<MetricResult>, u64) {
    let group: Vec<(&SampleResult, &ExtractedSample)> = group.collect();
    let unread: Vec<Option<(Outcome, String)>> =
        group.iter().map(|(answer, extracted)| unread_by(metric, answer, extracted)).collect();
    let mut media = MediaSet::default();
    if metric.reads_media() {
        group.iter().for_each(|(answer, _)| add_media(&mut media, &answer.model_output, run));
    }
    let mut weights = Vec::with_capacity(group.len());
    let items = group.into_iter().map(|(answer, extracted)| {
        let output = extracted.model_output.as_ref();
        let output = output.map_or_else(|| answer.model_output.document(), JsonView::Json);
        let clocked = planned.is_timing.then(|| with_clocks(output, &answer.timing));
        let judged = planned.is_timing.then(|| with_judge_clock(&answer.judge_output, &answer.timing));
        let context = EvalContext {
            sample: answer.sample.document(),
            model_output: clocked.as_ref().map_or(output, JsonView::Json),
            judge_output: judged.as_ref().unwrap_or(&answer.judge_output),
            support_output: &answer.support_output,
        };
        weights.push(metric.weight(context));
        metric.resolve(&answer.sample_id, context)
    });
    let items = items.collect();
    let scored = metric.score_with_media(items, media);
    // Clock readings vary in length, and so does the fuel to parse them.
    let fuel = if planned.is_timing { 0 } else { scored.fuel };
    let keeps = metric.scores_missing_references();
    let results = scored.results.into_iter().zip(weights).map(|(result, weight)| weighted(result, weight));
    let results = results.zip(unread).map(|(result, unread)| match unread {
        Some((outcome, reason)) => MetricResult { outcome, error: Some(reason), ..skipped(planned) },
        None => result_of(planned, result, keeps),
    });
    (results.collect(), fuel)
}

/// Adds the weight of a sample to its card, where aggregations read it.
fn weighted(
    result: Result<ScoreCard, ItemError>,
    weight: Option<Result<f64, ItemError>>,
) -> Result<ScoreCard, ItemError> {
    let Some(weight) = weight else { return result };
    let mut card = result?;
    let mut detail = std::mem::take(&mut card.detail).into_value();
    // The detail of a card is an object or null.
    detail["weight"] = weight?.into();
    card.detail = detail.into();
    Ok(card)
}

/// Adds the stored media of a reply.
fn add_media(media: &mut MediaSet, output: &OutputView, run: &Path) {
    for part in reply_media::parts_of(output) {
        if let Some(bytes) = MediaFolder::read(run, part.url) {
            media.add(media_kind_to_guest(part.kind), part.media_type, bytes.into());
        }
    }
}

/// Returns the reason why a metric has nothing to read: the judge's verdict is unreadable, or the reply waits for tools.
fn unread_by(
    metric: &Metric,
    answer: &SampleResult,
    extracted: &ExtractedSample,
) -> Option<(Outcome, String)> {
    let reads =
        |root: Root| metric.inputs().iter().flat_map(|input| &input.paths).any(|path| path.root() == root);
    if reads(Root::JudgeOutput)
        && let Some(reason) = unread_reason(&answer.judge_output)
    {
        return Some((Outcome::JudgeUnparseable, reason));
    }
    let name = extracted.awaited_tool.as_ref()?;
    let is_without_answer = reads(Root::ModelOutput) && !reads_calls(metric.inputs());
    let reason = format!("the model called the tool `{name}` and gave no answer");
    is_without_answer.then_some((Outcome::EmptyOutput, reason))
}

/// Returns a model's output with its timing values, which vary from run to run, for metrics that read them.
fn with_clocks(output: JsonView<'_>, timing: &SampleTiming) -> Value {
    let mut output = output.value().into_owned();
    if let Value::Object(output) = &mut output {
        // A cached reply took no model time.
        let took = |time: f64| if timing.attempts > 0 { time.into() } else { Value::Null };
        let values = [took(timing.latency_ms), took(timing.queue_ms), timing.attempts.into()];
        for (key, value) in TIMING_KEYS.into_iter().zip(values) {
            output.insert(key.to_owned(), value);
        }
    }
    output
}

/// Returns the judges' output with the time of their requests, for metrics that read it.
fn with_judge_clock(output: &Value, timing: &SampleTiming) -> Value {
    let mut output = output.clone();
    if let Value::Object(output) = &mut output {
        output.insert(JUDGE_CLOCK.to_owned(), timing.stages.judge_ms.into());
    }
    output
}

/// The parameters of a metric that a group of samples overrides, if any. An error is the result of a sample that the metric
/// does not score.
type MetricOverride<'s> = Result<Option<&'s Object>, Box<MetricResult>>;

/// Groups the samples of a batch by their override of a metric. Overrides are rare.
fn group_by_override<'s>(
    planned: &PlannedMetric,
    batch: &[&'s SampleResult],
    scorable: &[usize],
) -> Vec<(MetricOverride<'s>, Vec<usize>)> {
    let mut unchanged = Vec::with_capacity(scorable.len());
    let mut others: Vec<(MetricOverride<'s>, Vec<usize>)> = Vec::new();
    for index in scorable {
        match eval_config::of_metric(&batch[*index].sample, &planned.metric_id) {
            ParamOverride::None => unchanged.push(*index),
            ParamOverride::Skip => others.push((Err(Box::new(skipped(planned))), vec![*index])),
            ParamOverride::Invalid => {
                let id = &planned.metric_id;
                let message = format!("eval_config.metrics.{id} must be an object of parameters, or false");
                let result = MetricResult {
                    outcome: Outcome::InvalidSample,
                    error: Some(message),
                    ..skipped(planned)
                };
                others.push((Err(Box::new(result)), vec![*index]));
            }
            ParamOverride::Params(params) => {
                let is_same = |(changed, _): &&mut (MetricOverride<'s>, Vec<usize>)| matches!(changed, Ok(Some(known)) if *known == params);
                match others.iter_mut().find(is_same) {
                    Some((_, indices)) => indices.push(*index),
                    None => others.push((Ok(Some(params)), vec![*index])),
                }
            }
        }
    }
    if !unchanged.is_empty() {
        others.insert(0, (Ok(None), unchanged));
    }
    others
}

/// Returns a metric with a Sample's own parameters. Fails with the sample's result if they are invalid.
fn with_params(planned: &PlannedMetric, params: &Object) -> Result<Metric, Box<MetricResult>> {
    let refuse = |message: String| {
        Box::new(MetricResult { outcome: Outcome::InvalidSample, error: Some(message), ..skipped(planned) })
    };
    let id = &planned.metric_id;
    let metric = planned.metric.with_params(params);
    let metric =
        metric.map_err(|problems| refuse(eval_config::describe_problems("metrics", id, &problems)))?;
    if reads_clock(metric.inputs()) && !planned.is_timing {
        return Err(refuse(format!("eval_config.metrics.{id}: a sample cannot have a clock read for it")));
    }
    Ok(metric)
}

fn skipped(planned: &PlannedMetric) -> MetricResult {
    MetricResult {
        metric_id: planned.metric_id.as_str().into(),
        schema_version: RESULT_SCHEMA_VERSION.into(),
        scorer_version: planned.metric.description().version.as_str().into(),
        // `entry_of` sets it from the task.
        prompt_version: CompactString::default(),
        outcome: Outcome::Skipped,
        card: None,
        error: None,
    }
}

/// Error tag of a card whose sample has no reference.
const MISSING_REFERENCE: &str = "missing_reference";

/// Returns the result of a metric. A sample without a reference has no score, unless the metric `keeps` such scores.
fn result_of(planned: &PlannedMetric, scored: Result<ScoreCard, ItemError>, keeps: bool) -> MetricResult {
    match scored {
        Ok(card) if !keeps && card.error_tags.iter().any(|tag| tag == MISSING_REFERENCE) => {
            let card = ScoreCard { primary_score: None, pass: None, sub_scores: Object::new(), ..card };
            let error = Some("the row has no reference to compare the answer with".to_owned());
            MetricResult { outcome: Outcome::MissingReference, card: Some(card), error, ..skipped(planned) }
        }
        Ok(card) => {
            let outcome = if card.primary_score.is_some() { Outcome::Scored } else { Outcome::Skipped };
            MetricResult { outcome, card: Some(card), ..skipped(planned) }
        }
        Err(error) => {
            let message = match error.pointer {
                Some(pointer) => format!("{} at {pointer}: {}", error.kind, error.message),
                None => format!("{}: {}", error.kind, error.message),
            };
            MetricResult { outcome: error.outcome, error: Some(message), ..skipped(planned) }
        }
    }
}

/// Redacts known secrets in a metric's texts.
fn redact_secrets_of(result: &mut MetricResult) {
    let clean = |text: &mut String| {
        if let Cow::Owned(clean) = redact(text) {
            *text = clean;
        }
    };
    result.error.iter_mut().for_each(clean);
    let Some(card) = &mut result.card else { return };
    card.explain.iter_mut().chain(&mut card.error_tags).for_each(clean);
    // Only a JSON escape could hide a secret from a text search.
    let is_clean = |text: &str| !text.contains('\\') && matches!(redact(text), Cow::Borrowed(_));
    if !card.detail.is_empty() && !card.detail.text().is_some_and(is_clean) {
        let mut detail = std::mem::take(&mut card.detail).into_value();
        redact_value(&mut detail);
        card.detail = detail.into();
    }
}

/// Returns the scores entry of an answer, which fails if any of its scores failed.
fn entry_of(task: &Scoring, answer: &SampleResult, outcome: Outcome, mut scores: Scores) -> ScoresEntry {
    for result in scores.metrics.iter_mut().chain(&mut scores.timing_metrics) {
        result.prompt_version = task.prompt_version.as_str().into();
        if task.redacts_secrets {
            redact_secrets_of(result);
        }
    }
    if task.redacts_secrets {
        scores.extracted.values_mut().for_each(redact_value);
    }
    let results = || scores.metrics.iter().chain(&scores.timing_metrics);
    let is_fine = |result: &MetricResult| match result.outcome {
        Outcome::Scored | Outcome::Skipped => true,
        // The scores of other metrics stand.
        Outcome::MissingReference | Outcome::EmptyOutput => {
            scores.metrics.iter().any(|other| other.outcome == Outcome::Scored)
        }
        // Below.
        Outcome::JudgeUnparseable => true,
        _ => false,
    };
    let failed = results().find(|result| !is_fine(result)).cloned();
    let mut outcome = failed.as_ref().map_or(outcome, |failed| failed.outcome);
    if matches!(outcome, Outcome::Scored | Outcome::MissingReference)
        && let Some(message) = unread_reason(&answer.judge_output)
    {
        outcome = Outcome::JudgeUnparseable;
        let kind = outcome.name().to_owned();
        scores.error = Some(ErrorNote { stage: Stage::Judge, kind, message, pointer: None });
    } else if let Some(failed) = failed {
        scores.error = Some(ErrorNote {
            stage: Stage::Scoring,
            kind: failed.outcome.name().to_owned(),
            message: format!("{}: {}", failed.metric_id, failed.error.as_deref().unwrap_or_default()),
            pointer: None,
        });
    }
    ScoresEntry {
        task_id: task.task_id.as_str().into(),
        index: answer.index,
        sample_id: answer.sample_id.as_str().into(),
        row_digest: answer.row_digest.as_str().into(),
        outcome,
        scores,
    }
}
