//! One sample and the model: the request is made, sent, and what comes back is read.

pub(crate) mod call_coalescer;
pub(crate) mod support_role;
pub(crate) mod tool_calls;
pub(crate) mod tool_loop;

use crate::limits::permits::{RequestLimits, RequestSlot, SampleSlot};
use crate::pipeline::infer::support_role::{self, SupportFailure, SupportRole, SupportStepsResult};
use crate::pipeline::infer::tool_loop::ToolLoop;
use crate::pipeline::task_state::TaskState;
use crate::request::{PromptParts, Request, prompt_note};
use gage_backend::{
    Backend, BackendError, LoglikelihoodOutput, RequestTiming, RollingOutput, cancellable, with_slot,
};
use gage_core::{
    FinishReason, ModelOutput, Outcome, OutputView, RollingScore, Sample, SampleView, Usage, redact,
    redact_value,
};
use gage_data::MediaStore;
use gage_record::{AnswerEntry, ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sample that the model has seen, or that failed on the way to it.
#[derive(Clone)]
pub(crate) struct SampleResult {
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    pub(crate) sample_id: String,
    /// The Sample, for metrics and the record.
    pub(crate) sample: SampleView,
    /// What support steps found, by adapter; null where there are none.
    pub(crate) support_output: Value,
    /// What the model said; null where it said nothing.
    pub(crate) model_output: OutputView,
    /// What the judges said; null where nobody was asked.
    pub(crate) judge_output: Value,
    /// `scored` as long as nothing speaks against it.
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<ErrorNote>,
    pub(crate) timing: SampleTiming,
    /// Whether the model answered an earlier process, which is not to be counted again.
    pub(crate) was_resumed: bool,
}

impl SampleResult {
    /// An answer that was recorded by an earlier process, and is to be scored, or to be judged before.
    pub(crate) fn of_record(record: SampleRecord) -> SampleResult {
        SampleResult {
            index: record.index,
            row_digest: record.row_digest,
            sample_id: record.sample_id,
            sample: SampleView::Json(Arc::new(record.sample)),
            support_output: record.support_output.unwrap_or(Value::Null),
            model_output: OutputView::Json(record.model_output.unwrap_or(Value::Null)),
            judge_output: record.judge_output.unwrap_or(Value::Null),
            outcome: record.outcome,
            error: None,
            timing: record.timing,
            was_resumed: true,
        }
    }

    /// An answer that was recorded by an earlier process, and of which judges are to be asked, as if nobody had been.
    pub(crate) fn awaiting_judges(record: SampleRecord) -> SampleResult {
        let record = SampleRecord { outcome: Outcome::Scored, judge_output: None, ..record };
        SampleResult::of_record(record)
    }

    /// Blanks the secrets that are known out of all that is scored and recorded of it.
    pub(crate) fn blank_secrets(&mut self) {
        if let Cow::Owned(clean) = redact(&self.sample_id) {
            self.sample_id = clean;
        }
        self.sample.change(redact_value);
        self.model_output.change(redact_value);
        redact_value(&mut self.support_output);
        redact_value(&mut self.judge_output);
    }

    /// What is wrong with it, where it turned out to be no Sample that a model can be asked about.
    pub(crate) fn invalid_message(&self) -> Option<&str> {
        let error = self.error.as_ref().filter(|_| self.outcome == Outcome::InvalidSample)?;
        Some(&error.message)
    }

    /// Its line in the journal, before it is scored.
    pub(crate) fn entry<'a>(&'a self, task_id: &'a str) -> AnswerEntry<'a> {
        AnswerEntry {
            task_id,
            index: self.index,
            sample_id: &self.sample_id,
            row_digest: &self.row_digest,
            outcome: self.outcome,
            sample: self.sample.document(),
            support_output: Some(&self.support_output).filter(|output| !output.is_null()),
            model_output: self.model_output.document(),
            judge_output: Some(&self.judge_output).filter(|output| !output.is_null()),
            // When it was answered; its scores come later, with a time of their own.
            timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..self.timing },
            awaits_scores: true,
            awaits_judges: false,
        }
    }

    /// Its record, where it is not to be scored.
    pub(crate) fn into_record(self, task_id: &str) -> SampleRecord {
        let output = self.model_output.document();
        let model_output = if output.is_null() { None } else { Some(output.value().into_owned()) };
        SampleRecord {
            task_id: task_id.to_owned(),
            index: self.index,
            sample_id: self.sample_id,
            row_digest: self.row_digest,
            outcome: self.outcome,
            error: self.error,
            sample: self.sample.value().into_owned(),
            row: None,
            support_output: Some(self.support_output).filter(|output| !output.is_null()),
            model_output,
            judge_output: Some(self.judge_output).filter(|output| !output.is_null()),
            metrics: Vec::new(),
            timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..self.timing },
            timing_metrics: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(index: u64) -> SampleResult {
        SampleResult {
            index,
            row_digest: String::new(),
            sample_id: String::new(),
            sample: SampleView::Json(Arc::default()),
            support_output: Value::Null,
            model_output: OutputView::default(),
            judge_output: Value::Null,
            outcome: Outcome::Scored,
            error: None,
            timing: SampleTiming::default(),
            was_resumed: false,
        }
    }
}

/// What asks the model about the samples of a task.
pub(crate) struct InferenceStep {
    pub(crate) task: Arc<TaskState>,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) media: Arc<MediaStore>,
    pub(crate) rooms: Arc<RequestLimits>,
    /// Who finds something for the model to read, in order.
    pub(crate) support: Vec<SupportRole>,
    /// Who answers the model's calls of tools.
    pub(crate) tools: Option<SupportRole>,
}

impl InferenceStep {
    /// Asks the model about a sample; nothing where the run is stopped before its turn comes, while it
    /// only waits to be sent again, or because the backend refuses everything. What is `lent` is given back where
    /// the request waits.
    pub(crate) async fn infer(
        &self,
        index: u64,
        row_digest: String,
        sample: Arc<Sample>,
        lent: Option<SampleSlot>,
    ) -> Option<Box<SampleResult>> {
        let (active, planned) = (&self.task, &self.task.planned);
        let ready = Instant::now();
        let (read, sample) = (Arc::clone(&sample), SampleView::Read(sample));
        // What only some tasks have waits in a box of its own, so that no sample of others has room for it.
        let SupportStepsResult { output: support_output, failure } = match self.support.is_empty() {
            true => SupportStepsResult::default(),
            false => Box::pin(support_role::run_steps(&self.support, active, &read.id, &sample)).await?,
        };
        let made = PromptParts::of(planned, &read);
        let has_own_params = made.has_own_params;
        let request = made.request(planned, &read.id, &sample, &support_output, index % planned.spec.repeat);
        // It goes through many hands, each of which would move it.
        let mut inferred = Box::new(SampleResult {
            index,
            row_digest,
            sample_id: read.id.clone(),
            sample,
            support_output,
            model_output: OutputView::default(),
            judge_output: Value::Null,
            outcome: Outcome::Scored,
            error: None,
            timing: SampleTiming::default(),
            was_resumed: false,
        });
        drop(read);
        if let Some(failure) = failure {
            inferred.failed_result(Stage::Support, failure);
            return Some(inferred);
        }
        let request = match request.and_then(|request| self.check_media(request)) {
            Ok(request) => request,
            Err(error) => return Some(inferred.invalid_result(error)),
        };
        let own_params = if has_own_params { request.sent_params(&planned.backend) } else { None };
        let place = tokio::select! {
            biased;
            () = active.stop.cancelled() => return None,
            place = RequestSlot::acquire_new(&self.rooms, lent) => place,
        };
        inferred.timing.queue_ms = milliseconds(ready.elapsed());
        let request = match self.with_media(request).await {
            Ok(request) => request,
            Err(error) => return Some(inferred.invalid_result(error)),
        };
        let (request, tools) = match (request, self.tools.as_ref().zip(planned.tools.as_ref())) {
            (Request::Generate(request), Some((helper, tools))) => (request, (helper, &tools.bounds)),
            (request, _) => return self.answer(request, own_params, place, inferred).await,
        };
        let turns = ToolLoop { asking: self, helper: tools.0, bounds: tools.1 };
        // In a box, as most samples have no tools, and the room for a conversation would be moved with each.
        Box::pin(turns.resumed(request, own_params, place, inferred)).await
    }

    /// The one answer of the model to a request.
    async fn answer(
        &self,
        request: Request,
        own_params: Option<Value>,
        place: Arc<RequestSlot>,
        mut inferred: Box<SampleResult>,
    ) -> Option<Box<SampleResult>> {
        let (active, planned) = (&self.task, &self.task.planned);
        // Its place is free when it is known what it took, so that nobody begins behind a budget.
        let prefix = &planned.spec.steps.inference.continuation_prefix;
        let sent = with_slot(Arc::clone(&place) as _, send(self.backend.as_ref(), request, prefix));
        let answer = cancellable(sent, active.stop.cancelled(), active.stop.aborted()).await;
        let backend_id = &planned.role.backend_id;
        match answer? {
            Ok((mut output, timing)) => {
                inferred.timing.latency_ms = milliseconds(timing.latency);
                inferred.timing.attempts = timing.attempts;
                inferred.timing.first_token_ms = timing.first_token.map(milliseconds);
                inferred.outcome = outcome_of(&output, &planned.spec.score_outcomes);
                // What was kept costs nothing.
                if timing.attempts > 0 {
                    active.spending.add_usage(backend_id, output.usage, &active.run_stop);
                }
                drop(place);
                if let Some(params) = own_params {
                    output.extra.insert("sampling_params".to_owned(), params);
                }
                inferred.model_output = OutputView::Read(Box::new(output));
            }
            Err(error) if active.stops_on(backend_id, &error) => return None,
            Err(error) => {
                inferred.timing.attempts = error.attempts;
                inferred.failed_result(Stage::Inference, failure_of(error));
            }
        }
        Some(inferred)
    }

    /// Refuses media that the backend does not take, before they are read.
    fn check_media(&self, request: Request) -> Result<Request, ErrorNote> {
        let info = self.backend.info();
        let Some(kind) = info.capabilities.media.refuses(request.messages()) else { return Ok(request) };
        let backend_id = &self.task.planned.role.backend_id;
        let message = format!(
            "the backend `{backend_id}` ({}) takes {}, and a message of the sample holds media ({})",
            info.kind,
            info.capabilities.media.described(),
            kind.type_name()
        );
        Err(prompt_note("media_unsupported", message, Some("/messages".to_owned())))
    }

    /// Puts the media that lie on this machine into the request.
    async fn with_media(&self, mut request: Request) -> Result<Request, ErrorNote> {
        if !request.has_media() {
            return Ok(request);
        }
        let messages = match &mut request {
            Request::Generate(request) => &mut request.messages,
            Request::Loglikelihood(request) => &mut request.messages,
            Request::Rolling(_) => return Ok(request),
        };
        let mut taken = std::mem::take(messages).into_vec();
        let media = Arc::clone(&self.media);
        let embedded = tokio::task::spawn_blocking(move || media.embed(&mut taken).map(|()| taken)).await;
        match embedded {
            Ok(Ok(embedded)) => {
                *messages = embedded.into();
                Ok(request)
            }
            Ok(Err(error)) => Err(prompt_note(error.kind.name(), error.message, error.pointer)),
            Err(error) => {
                Err(prompt_note("internal", format!("the media could not be made ready: {error}"), None))
            }
        }
    }
}

/// What a request that failed means for its sample.
pub(crate) fn failure_of(error: BackendError) -> SupportFailure {
    let kind = error.kind.name().to_owned();
    SupportFailure { outcome: Outcome::BackendError, kind, message: error.message }
}

impl SampleResult {
    /// The sample ends by a failure.
    pub(crate) fn failed_result(&mut self, stage: Stage, failure: SupportFailure) {
        let SupportFailure { outcome, kind, message } = failure;
        self.outcome = outcome;
        self.error = Some(ErrorNote { stage, kind, message, pointer: None });
    }

    /// The same, of a sample that cannot be asked; says which row it is of.
    fn invalid_result(mut self: Box<Self>, mut error: ErrorNote) -> Box<SampleResult> {
        let origin = |key| self.sample.dataset_metadata(key);
        let (path, row) = (origin("path").and_then(Value::as_str), origin("row").and_then(Value::as_u64));
        if let (Some(path), Some(row)) = (path, row) {
            error.message = format!("row {} of {path}: {}", row.saturating_add(1), error.message);
        }
        self.outcome = Outcome::InvalidSample;
        self.error = Some(error);
        self
    }
}

async fn send(
    backend: &dyn Backend,
    request: Request,
    continuation_prefix: &str,
) -> Result<(ModelOutput, RequestTiming), BackendError> {
    match request {
        Request::Generate(request) => {
            let reply = backend.generate(request).await?;
            Ok((reply.output, reply.timing))
        }
        Request::Loglikelihood(request) => {
            let reply = backend.loglikelihood(request).await?;
            Ok((chosen_option(reply.output, continuation_prefix), reply.timing))
        }
        Request::Rolling(request) => {
            let word_count = gage_core::word_count(&request.text);
            let reply = backend.rolling_loglikelihood(request).await?;
            let RollingOutput { logprob, token_count, byte_count } = reply.output;
            let score = RollingScore { loglikelihood: logprob, token_count, byte_count, word_count };
            let usage = Usage { prompt_tokens: token_count, completion_tokens: 0 };
            Ok((ModelOutput::of_text(score, Some(usage)), reply.timing))
        }
    }
}

/// The choice among the options. The backend counted the bytes of prefix and option; those of the prefix say
/// nothing about the option's length and are taken off.
fn chosen_option(output: LoglikelihoodOutput, continuation_prefix: &str) -> ModelOutput {
    let LoglikelihoodOutput { mut scores, usage } = output;
    let prefix_bytes = u32::try_from(continuation_prefix.len()).unwrap_or(u32::MAX);
    for score in &mut scores {
        score.byte_count = score.byte_count.saturating_sub(prefix_bytes);
    }
    ModelOutput::chosen(scores, usage)
}

/// How a sample ends by what the model said, unless the task says that such ends are scored.
pub(crate) fn outcome_of(output: &ModelOutput, scored: &[Outcome]) -> Outcome {
    let is_empty = || output.answer.trim().is_empty();
    let has_calls =
        || output.extra.get("tool_calls").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let outcome = match output.finish_reason {
        FinishReason::ContentFilter => Outcome::Refused,
        FinishReason::Length => Outcome::Truncated,
        FinishReason::Stop | FinishReason::Other if is_empty() => Outcome::EmptyOutput,
        // It says that it calls tools, and calls none.
        FinishReason::ToolCalls if is_empty() && !has_calls() => Outcome::EmptyOutput,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Scored | FinishReason::Other => {
            Outcome::Scored
        }
    };
    if scored.contains(&outcome) { Outcome::Scored } else { outcome }
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::ContinuationScore;
    use serde_json::json;

    #[test]
    fn byte_counts_leave_out_the_continuation_prefix() {
        let option = |(text, logprob): (&str, f64)| ContinuationScore {
            id: text.to_owned(),
            logprob,
            token_count: 1,
            byte_count: u32::try_from(format!(" {text}").len()).unwrap_or_default(),
            is_greedy: false,
        };
        let options =
            [("fruit", -22.24), ("vegetable", -13.66), ("tree", -13.83), ("instrument", -15.12)].map(option);
        let output = LoglikelihoodOutput { scores: options.to_vec(), usage: None };
        let with_prefix = chosen_option(output.clone(), " ");
        let bytes: Vec<u32> = with_prefix.continuations.iter().map(|score| score.byte_count).collect();
        assert_eq!(bytes, [5, 9, 4, 10]);
        assert_eq!(with_prefix.answer, "vegetable");
        assert_eq!(with_prefix.answer_normalized.as_deref(), Some("instrument"));
        // A blank that belongs to the text itself counts.
        assert_eq!(chosen_option(output, "").answer_normalized.as_deref(), Some("vegetable"));
    }

    #[test]
    fn an_answer_without_text_is_empty_unless_it_calls_tools() {
        let call = json!([{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        for (answer, finish, calls, expected) in [
            ("", FinishReason::ToolCalls, Some(&call), Outcome::Scored),
            ("", FinishReason::ToolCalls, Some(&json!([])), Outcome::EmptyOutput),
            (" \n", FinishReason::ToolCalls, None, Outcome::EmptyOutput),
            ("4", FinishReason::ToolCalls, None, Outcome::Scored),
            ("", FinishReason::Stop, None, Outcome::EmptyOutput),
            ("", FinishReason::Length, None, Outcome::Truncated),
            ("", FinishReason::Scored, None, Outcome::Scored),
        ] {
            let mut output = ModelOutput::generated(answer.to_owned(), finish, None);
            output.extra.extend(calls.map(|calls| ("tool_calls".to_owned(), calls.clone())));
            assert_eq!(outcome_of(&output, &[]), expected, "{answer:?} {finish:?} {calls:?}");
            assert_eq!(outcome_of(&output, &[expected]), Outcome::Scored);
        }
    }
}
