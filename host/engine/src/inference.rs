//! One sample and the model: the request is made, sent, and what comes back is read.

use crate::plan::{CLOCKS, PlannedTask};
use crate::progress::{InFlight, Progress};
use crate::stop::Stop;
use gage_backend::{
    Backend, BackendError, Continuation, GenerateRequest, LoglikelihoodRequest, RequestTiming,
};
use gage_config::{ContinuationText, RequestKind};
use gage_core::{
    ContentPart, FinishReason, Message, ModelOutput, Object, Outcome, Role, Sample, SamplingParams,
};
use gage_data::MediaStore;
use gage_record::{AnswerEntry, ErrorNote, SampleRecord, SampleTiming, Stage, Without, unix_milliseconds};
use gage_template::PromptContext;
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A sample that the model has seen, or that failed on the way to it.
pub(crate) struct Inferred {
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    pub(crate) sample_id: String,
    /// The Sample as JSON, for metrics and the record.
    pub(crate) sample: Value,
    /// What the model said, as JSON, with the [`CLOCKS`]; null where it said nothing.
    pub(crate) model_output: Value,
    /// What the judges said; null where nobody was asked.
    pub(crate) judge_output: Value,
    /// `scored` as long as nothing speaks against it.
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<ErrorNote>,
    pub(crate) timing: SampleTiming,
}

impl Inferred {
    /// An answer that was recorded by an earlier process, and is to be scored.
    pub(crate) fn of_record(record: SampleRecord) -> Inferred {
        let mut inferred = Inferred {
            index: record.index,
            row_digest: record.row_digest,
            sample_id: record.sample_id,
            sample: record.sample,
            model_output: record.model_output.unwrap_or(Value::Null),
            judge_output: record.judge_output.unwrap_or(Value::Null),
            outcome: record.outcome,
            error: None,
            timing: record.timing,
        };
        inferred.put_clocks();
        inferred
    }

    /// Its line in the journal, before it is scored.
    pub(crate) fn entry<'a>(&'a self, task_id: &'a str) -> AnswerEntry<'a> {
        AnswerEntry {
            task_id,
            index: self.index,
            sample_id: &self.sample_id,
            row_digest: &self.row_digest,
            outcome: self.outcome,
            sample: &self.sample,
            model_output: Without { value: &self.model_output, keys: &CLOCKS },
            judge_output: Some(&self.judge_output).filter(|output| !output.is_null()),
            timing: self.timing,
            awaits_scores: true,
        }
    }

    /// Its record, where it is not to be scored.
    pub(crate) fn into_record(mut self, task_id: &str) -> SampleRecord {
        if let Value::Object(output) = &mut self.model_output {
            for key in CLOCKS {
                output.shift_remove(key);
            }
        }
        let has_output = !self.model_output.is_null();
        SampleRecord {
            task_id: task_id.to_owned(),
            index: self.index,
            sample_id: self.sample_id,
            row_digest: self.row_digest,
            outcome: self.outcome,
            error: self.error,
            sample: self.sample,
            row: None,
            model_output: has_output.then_some(self.model_output),
            judge_output: Some(self.judge_output).filter(|output| !output.is_null()),
            metrics: Vec::new(),
            timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..self.timing },
            timing_metrics: Vec::new(),
        }
    }

    /// Puts what varies from run to run where metrics can read it.
    fn put_clocks(&mut self) {
        if let Value::Object(output) = &mut self.model_output {
            let timing = &self.timing;
            let values: [Value; 3] =
                [timing.latency_ms.into(), timing.queue_ms.into(), timing.attempts.into()];
            for (key, value) in CLOCKS.into_iter().zip(values) {
                output.insert(key.to_owned(), value);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(index: u64) -> Inferred {
        Inferred {
            index,
            row_digest: String::new(),
            sample_id: String::new(),
            sample: Value::Null,
            model_output: Value::Null,
            judge_output: Value::Null,
            outcome: Outcome::Scored,
            error: None,
            timing: SampleTiming::default(),
        }
    }
}

enum Request {
    Generate(Box<GenerateRequest>),
    Loglikelihood(LoglikelihoodRequest),
}

/// Asks the model about a sample; nothing where the run is stopped before its turn comes.
pub(crate) async fn infer(
    task: &PlannedTask,
    backend: &dyn Backend,
    prepared: (u64, String, Sample),
    media: &Arc<MediaStore>,
    permits: &tokio::sync::Semaphore,
    stop: &Stop,
    progress: &dyn Progress,
) -> Option<Inferred> {
    let ready = Instant::now();
    let (index, row_digest, sample) = prepared;
    let sample_id = sample.id.clone();
    let repeat = index % task.spec.repeat;
    let (request, sample) = match request_of(task, sample, repeat) {
        Ok((request, sample)) => (Ok(request), sample),
        Err(failed) => (Err(failed.1), failed.0),
    };
    let mut inferred = Inferred {
        index,
        row_digest,
        sample_id,
        sample,
        model_output: Value::Null,
        judge_output: Value::Null,
        outcome: Outcome::Scored,
        error: None,
        timing: SampleTiming::default(),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => {
            inferred.outcome = Outcome::InvalidSample;
            inferred.error = Some(error);
            return Some(inferred);
        }
    };
    let permit = tokio::select! {
        biased;
        () = stop.wait() => return None,
        permit = permits.acquire() => permit,
    };
    let in_flight = InFlight::begin(progress, &task.spec.task_id);
    inferred.timing.queue_ms = milliseconds(ready.elapsed());
    let request = match with_media(request, media).await {
        Ok(request) => request,
        Err(error) => {
            inferred.outcome = Outcome::InvalidSample;
            inferred.error = Some(error);
            return Some(inferred);
        }
    };
    let answer = send(backend, request).await;
    drop(in_flight);
    drop(permit);
    match answer {
        Ok((output, timing)) => {
            inferred.timing.latency_ms = milliseconds(timing.latency);
            inferred.timing.attempts = timing.attempts;
            inferred.timing.first_token_ms = timing.first_token.map(milliseconds);
            inferred.outcome = outcome_of(&output, &task.spec.score_outcomes);
            inferred.model_output = output.into_value();
            inferred.put_clocks();
        }
        Err(error) => {
            inferred.timing.attempts = error.attempts;
            inferred.outcome = Outcome::BackendError;
            inferred.error = Some(ErrorNote {
                stage: Stage::Inference,
                kind: error.kind.name().to_owned(),
                message: error.message,
                pointer: None,
            });
        }
    }
    Some(inferred)
}

async fn send(backend: &dyn Backend, request: Request) -> Result<(ModelOutput, RequestTiming), BackendError> {
    match request {
        Request::Generate(request) => {
            let reply = backend.generate(*request).await?;
            Ok((reply.output, reply.timing))
        }
        Request::Loglikelihood(request) => {
            let reply = backend.loglikelihood(request).await?;
            Ok((ModelOutput::chosen(reply.output.scores, reply.output.usage), reply.timing))
        }
    }
}

/// Puts the media that lie on this machine into the request.
async fn with_media(mut request: Request, media: &Arc<MediaStore>) -> Result<Request, ErrorNote> {
    let messages = match &mut request {
        Request::Generate(request) => &mut request.messages,
        Request::Loglikelihood(request) => &mut request.messages,
    };
    if !messages.iter().any(Message::has_media) {
        return Ok(request);
    }
    let mut taken = std::mem::take(messages);
    let media = Arc::clone(media);
    let embedded = tokio::task::spawn_blocking(move || media.embed(&mut taken).map(|()| taken)).await;
    let note = |kind: &str, message: String, pointer| ErrorNote {
        stage: Stage::Prompt,
        kind: kind.to_owned(),
        message,
        pointer,
    };
    match embedded {
        Ok(Ok(embedded)) => {
            *messages = embedded;
            Ok(request)
        }
        Ok(Err(error)) => Err(note(error.kind.name(), error.message, error.pointer)),
        Err(error) => Err(note("internal", format!("the media could not be made ready: {error}"), None)),
    }
}

/// Makes the request of a sample, and turns the sample into JSON on the way. The error carries
/// the sample as well.
#[expect(clippy::result_large_err, reason = "the error is as large as the success: both carry the sample")]
fn request_of(
    task: &PlannedTask,
    sample: Sample,
    repeat: u64,
) -> Result<(Request, Value), (Value, ErrorNote)> {
    let params = SamplingParams::from_object(own_params(&sample));
    let continuations = match task.spec.steps.inference.request {
        RequestKind::Loglikelihood => continuations_of(task, &sample),
        RequestKind::Generate => Vec::new(),
    };
    let own_messages = if task.prompt.is_none() { sample.conversation() } else { Vec::new() };
    let has_media = own_messages.iter().any(Message::has_media);
    let shown = if task.prompt.is_some() { media_of(&sample) } else { Vec::new() };
    // A server's template has to place media, so the messages are sent where there are some.
    let rendered = sample.rendered_prompt().filter(|_| task.prompt.is_none() && !has_media);
    let rendered = rendered.map(str::to_owned);
    let (id, tools, tool_choice) = (sample.id.clone(), sample.tools.clone(), sample.tool_choice.clone());
    let sample = sample.into_value();
    let note = |kind: &str, message: String, pointer: Option<String>| ErrorNote {
        stage: Stage::Prompt,
        kind: kind.to_owned(),
        message,
        pointer,
    };
    let params = match params {
        Ok(params) => {
            let mut params = params.over(&task.spec.sampling_params).over(&task.role.sampling_params);
            // With one seed for all, the same answer would come each time.
            params.seed = params.seed.map(|seed| seed.wrapping_add(repeat));
            params
        }
        Err(problems) => {
            let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return Err((sample, note("sampling_params", message, Some("/sampling_params".to_owned()))));
        }
    };
    let messages: Vec<Message> = match &task.prompt {
        None => own_messages,
        Some(prompt) => match prompt.render(&prompt_context(task, &sample)) {
            Ok(messages) => messages,
            Err(error) => return Err((sample, note("prompt", error.to_string(), None))),
        },
    };
    let messages = with_shown(messages, shown);
    if messages.is_empty() && rendered.is_none() {
        let message = "the sample has no messages, and the role no prompt that could make some".to_owned();
        return Err((sample, note("no_messages", message, Some("/messages".to_owned()))));
    }
    let request = match task.spec.steps.inference.request {
        RequestKind::Generate => {
            let prompt = rendered;
            Request::Generate(Box::new(GenerateRequest { id, messages, prompt, params, tools, tool_choice }))
        }
        RequestKind::Loglikelihood if continuations.is_empty() => {
            let message = "log-likelihood needs the sample's options, and there are none".to_owned();
            return Err((sample, note("no_options", message, Some("/options".to_owned()))));
        }
        RequestKind::Loglikelihood if continuations.iter().any(|one| one.text.trim().is_empty()) => {
            let message = "log-likelihood needs a text for each option, and one is empty".to_owned();
            return Err((sample, note("empty_option", message, Some("/options".to_owned()))));
        }
        RequestKind::Loglikelihood => {
            Request::Loglikelihood(LoglikelihoodRequest { id, messages, prompt: rendered, continuations })
        }
    };
    Ok((request, sample))
}

/// The sampling parameters of a Sample, and behind them those among its generation parameters that are
/// such. Others, as the width of an image, are for whoever reads the Sample.
fn own_params(sample: &Sample) -> Object {
    let is_known = |name: &str| name == "max_tokens" || SamplingParams::NAMES.contains(&name);
    let generation = sample.generation_params.iter().filter(|(name, _)| is_known(name));
    generation.chain(&sample.sampling_params).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The media of the messages of a Sample, which a prompt's text cannot hold.
fn media_of(sample: &Sample) -> Vec<ContentPart> {
    let parts = sample.messages.iter().flat_map(|message| &message.content);
    parts.filter(|part| matches!(part, ContentPart::Media { .. })).cloned().collect()
}

/// Puts media before the text of the last message of the user.
fn with_shown(mut messages: Vec<Message>, shown: Vec<ContentPart>) -> Vec<Message> {
    if let Some(last) = messages.iter_mut().rfind(|message| message.role == Role::User) {
        last.content.splice(0..0, shown);
    }
    messages
}

/// What the prompt of the model under test sees: there is nothing before it.
fn prompt_context<'c>(task: &'c PlannedTask, sample: &'c Value) -> PromptContext<'c> {
    static NOTHING: LazyLock<Object> = LazyLock::new(Object::new);
    PromptContext {
        sample,
        payload: &NOTHING,
        history: &[],
        adapter_id: &task.role.adapter_id,
        role_type: task.role.role_type.name(),
    }
}

fn continuations_of(task: &PlannedTask, sample: &Sample) -> Vec<Continuation> {
    let step = &task.spec.steps.inference;
    sample
        .options
        .iter()
        .map(|option| {
            let text = match step.continuation {
                ContinuationText::Content => &option.content,
                ContinuationText::Id => &option.id,
            };
            Continuation { id: option.id.clone(), text: format!("{}{text}", step.continuation_prefix) }
        })
        .collect()
}

/// How a sample ends by what the model said, unless the task says that such ends are scored.
fn outcome_of(output: &ModelOutput, scored: &[Outcome]) -> Outcome {
    let outcome = match output.finish_reason {
        FinishReason::ContentFilter => Outcome::Refused,
        FinishReason::Length => Outcome::Truncated,
        FinishReason::Stop | FinishReason::Other if output.answer.trim().is_empty() => Outcome::EmptyOutput,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Scored | FinishReason::Other => {
            Outcome::Scored
        }
    };
    if scored.contains(&outcome) { Outcome::Scored } else { outcome }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
