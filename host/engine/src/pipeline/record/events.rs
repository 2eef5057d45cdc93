//! Reports of a run to its observers: its events, its counters and its traces.

use super::journal_item::JournalItem;
use crate::sample::result::SampleResult;
use crate::sample::usage::{usage_in, usage_of};
use gage_core::{Outcome, Usage};
use gage_observe::{
    AnswerMeasurements, Event, Level, Observability, ObserveError, SHUTDOWN_TIMEOUT,
    SHUTDOWN_TIMEOUT_AFTER_FAILURE, SampleEnd, Trace,
};
use gage_record::format::{EVENTS_FILE, UNSENT_EVENTS_FILE};
use gage_record::{ErrorNote, RunFolder, SampleTiming, Stage, StageTimes};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// The observers of a run. Its threads report to them without waiting.
pub(crate) struct Events {
    trace: Trace,
    observability: Observability,
    /// Answers that await their scores. Bounded by the samples in flight.
    answers: Mutex<HashMap<(String, u64), (AnswerMeasurements, SystemTime, StageTimes)>>,
    /// Time to wait for servers at the end.
    shutdown_timeout: Duration,
}

impl Events {
    /// Starts reporting the run in a folder.
    ///
    /// # Errors
    /// If its event file cannot be opened.
    pub(crate) fn begin(folder: &RunFolder, observability: &Observability) -> Result<Events, ObserveError> {
        let (file, unsent) = (folder.path_of(EVENTS_FILE), folder.path_of(UNSENT_EVENTS_FILE));
        let trace = observability.begin(folder.run_id(), &file, &unsent)?;
        let observability = observability.clone();
        // The default until the outcome of the run is known.
        let shutdown_timeout = SHUTDOWN_TIMEOUT_AFTER_FAILURE;
        Ok(Events { trace, observability, answers: Mutex::default(), shutdown_timeout })
    }

    /// Reports the end of the run, and waits for the observers up to a timeout.
    pub(crate) fn end(mut self, kind: &'static str, payload: Value, is_failure: bool) {
        self.emit_run(kind, payload);
        if !is_failure {
            self.shutdown_timeout = SHUTDOWN_TIMEOUT;
        }
    }

    pub(crate) fn emit_run(&self, kind: &'static str, payload: Value) {
        self.trace.emit(Event::new(kind, Level::Info, payload));
    }

    pub(crate) fn emit_task(&self, kind: &'static str, task_id: &str, payload: Value) {
        if let Some(telemetry) = &self.observability.telemetry {
            match kind {
                "task_started" => telemetry.task_started(task_id),
                "task_finished" => telemetry.task_finished(task_id),
                _ => {}
            }
        }
        let level = match kind {
            "data_failed" | "too_many_invalid" => Level::Error,
            "missing_field" => Level::Warn,
            _ => Level::Info,
        };
        self.trace.emit(Event::new(kind, level, payload).of_task(task_id));
    }

    /// Reports an item of a sample that is now in the journal.
    pub(crate) fn recorded(&self, task_id: &str, item: &JournalItem) {
        match item {
            // Reported once it is judged.
            JournalItem::AnswerAwaitingPostInference(_) => {}
            JournalItem::Answer(result) => self.answered(task_id, result),
            JournalItem::Scores(_, entry) => {
                let answered = self.remove_answer(task_id, entry.index);
                let scoring_ms = entry.scores.scoring_ms;
                let stages = answered.map(|(_, _, stages)| stages).unwrap_or_default();
                self.observability.meters.scored(task_id, scoring_ms);
                let scores = entry.scores.metrics.iter().filter_map(|metric| {
                    let value = metric.card.as_ref()?.primary_score?;
                    Some((metric.metric_id.to_string(), value.into()))
                });
                let end = RunEnd {
                    index: entry.index,
                    sample_id: &entry.sample_id,
                    outcome: entry.outcome,
                    error: entry.scores.error.as_ref(),
                    answered: answered.map(|(answered, at, _)| (answered, at)),
                    scoring_ms: Some(scoring_ms),
                    stages: StageTimes { extract_ms: entry.scores.extract_ms, ..stages },
                };
                self.ended(task_id, &end, || scores.collect());
            }
            JournalItem::FinishedWithoutScores { record, was_resumed } => {
                let answered = answered_of(&record.timing, usage_in(record.model_output.as_deref()));
                let is_asked = record.timing.attempts > 0;
                if is_asked && !was_resumed {
                    self.count_answer(task_id, &answered, record.outcome == Outcome::BackendError);
                }
                let end = RunEnd {
                    index: record.index,
                    sample_id: &record.sample_id,
                    outcome: record.outcome,
                    error: record.error.as_ref(),
                    answered: is_asked.then(|| (answered, SystemTime::now())),
                    scoring_ms: None,
                    stages: record.timing.stages,
                };
                self.ended(task_id, &end, Map::new);
            }
        }
    }

    fn answered(&self, task_id: &str, result: &SampleResult) {
        let answered = answered_of(&result.timing, usage_of(&result.model_output));
        if !result.was_resumed {
            self.count_answer(task_id, &answered, false);
        }
        if self.reports_samples() {
            let key = (task_id.to_owned(), result.index);
            self.answers.lock().insert(key, (answered, SystemTime::now(), result.timing.stages));
        }
        if self.is_sampled("inference", task_id, &result.sample_id) {
            let mut payload = object_of(&answered);
            payload.insert("index".to_owned(), result.index.into());
            let event = Event::new("inference_finished", Level::Debug, Value::Object(payload));
            self.trace.emit_best_effort(event.of_sample(task_id, &result.sample_id));
        }
    }

    /// Reports a finished sample. Samples without a score are always reported.
    fn ended(&self, task_id: &str, end: &RunEnd<'_>, scores: impl FnOnce() -> Map<String, Value>) {
        let Observability { meters, telemetry, sampling, .. } = &self.observability;
        let outcome = end.outcome.name();
        meters.finished(task_id, outcome);
        let has_failed = end.outcome != Outcome::Scored;
        if let Some(error) = end.error {
            meters.failed(task_id, error.stage.name(), &error.kind);
        }
        if let Some(telemetry) = telemetry {
            telemetry.finished(task_id, outcome);
            if has_failed || sampling.keeps("scoring", task_id, end.sample_id) {
                telemetry.sample(&SampleEnd {
                    task_id,
                    sample_id: end.sample_id,
                    index: end.index,
                    outcome,
                    error: end
                        .error
                        .map(|error| (error.stage.name(), error.kind.as_str(), error.message.as_str())),
                    answered: end.answered,
                    scoring_ms: end.scoring_ms,
                    stages: end.stages.passed().collect(),
                });
            }
        }
        for (stage, milliseconds) in end.stages.passed() {
            if self.is_sampled(stage, task_id, end.sample_id) {
                let payload = json!({"index": end.index, "stage": stage, "ms": milliseconds});
                let event = Event::new("stage_finished", Level::Debug, payload);
                self.trace.emit_best_effort(event.of_sample(task_id, end.sample_id));
            }
        }
        if has_failed {
            if let Some(error) = end.error.filter(|error| error.stage == Stage::Preprocess) {
                let payload = json!({"index": end.index, "kind": error.kind, "message": error.message, "pointer": error.pointer});
                let event = Event::new("data_adapter_failed", Level::Warn, payload);
                self.trace.emit(event.of_sample(task_id, end.sample_id));
            }
            let mut payload = end.answered.map(|(answered, _)| object_of(&answered)).unwrap_or_default();
            payload.insert("index".to_owned(), end.index.into());
            payload.insert("outcome".to_owned(), outcome.into());
            payload.insert("error".to_owned(), serde_json::to_value(end.error).unwrap_or_default());
            let event = Event::new("sample_not_scored", Level::Warn, Value::Object(payload));
            self.trace.emit(event.of_sample(task_id, end.sample_id));
        } else if self.is_sampled("scoring", task_id, end.sample_id) {
            let payload = json!({"index": end.index, "scoring_ms": end.scoring_ms, "scores": scores()});
            let event = Event::new("sample_scored", Level::Debug, payload);
            self.trace.emit_best_effort(event.of_sample(task_id, end.sample_id));
        }
    }

    fn count_answer(&self, task_id: &str, answered: &AnswerMeasurements, has_failed: bool) {
        self.observability.meters.answered(task_id, answered, has_failed);
        if let Some(telemetry) = &self.observability.telemetry {
            telemetry.answered(task_id, answered, has_failed);
        }
    }

    fn reports_samples(&self) -> bool {
        self.observability.has_stages || self.observability.telemetry.is_some()
    }

    fn is_sampled(&self, stage: &str, task_id: &str, sample_id: &str) -> bool {
        self.observability.has_stages && self.observability.sampling.keeps(stage, task_id, sample_id)
    }

    fn remove_answer(
        &self,
        task_id: &str,
        index: u64,
    ) -> Option<(AnswerMeasurements, SystemTime, StageTimes)> {
        if !self.reports_samples() {
            return None;
        }
        self.answers.lock().remove(&(task_id.to_owned(), index))
    }
}

impl Drop for Events {
    /// Flushes the reports, even if the run ends with an error.
    fn drop(&mut self) {
        self.observability.end(&self.trace, self.shutdown_timeout);
    }
}

/// End of a sample.
struct RunEnd<'a> {
    index: u64,
    sample_id: &'a str,
    outcome: Outcome,
    error: Option<&'a ErrorNote>,
    answered: Option<(AnswerMeasurements, SystemTime)>,
    scoring_ms: Option<f64>,
    stages: StageTimes,
}

fn answered_of(timing: &SampleTiming, usage: Option<Usage>) -> AnswerMeasurements {
    let Usage { prompt_tokens, completion_tokens } = usage.unwrap_or_default();
    AnswerMeasurements {
        queue_ms: timing.queue_ms,
        latency_ms: timing.latency_ms,
        first_token_ms: timing.first_token_ms,
        attempts: timing.attempts,
        retries: timing.retries(),
        prompt_tokens,
        completion_tokens,
    }
}

fn object_of(answered: &AnswerMeasurements) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("attempts".to_owned(), answered.attempts.into());
    object.insert("queue_ms".to_owned(), answered.queue_ms.into());
    object.insert("latency_ms".to_owned(), answered.latency_ms.into());
    if let Some(first_token_ms) = answered.first_token_ms {
        object.insert("first_token_ms".to_owned(), first_token_ms.into());
    }
    object.insert("prompt_tokens".to_owned(), answered.prompt_tokens.into());
    object.insert("completion_tokens".to_owned(), answered.completion_tokens.into());
    object
}
