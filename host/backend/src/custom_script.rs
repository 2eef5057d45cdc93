//! `custom_script`: a component that answers in place of a model.

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, LoglikelihoodOutput,
    LoglikelihoodRequest, Reply, RequestTiming,
};
use async_trait::async_trait;
use gage_core::{ContinuationScore, FinishReason, Message, ModelOutput, Object, Role, SamplingParams, Usage};
use gage_plugin::{BackendComponent, ItemError};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Requests that may wait for the component.
const QUEUE: usize = 1024;

/// A component behind a queue: what waits is answered in batches, on a thread of its own.
pub(crate) struct CustomScript {
    jobs: mpsc::Sender<Job>,
    defaults: SamplingParams,
    info: BackendInfo,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

enum Job {
    Generate(gage_plugin::GenerateRequest, oneshot::Sender<Answer<ModelOutput>>),
    Loglikelihood(LoglikelihoodRequest, oneshot::Sender<Answer<LoglikelihoodOutput>>),
}

type Answer<T> = Result<Reply<T>, BackendError>;

impl CustomScript {
    /// Starts the thread that calls the component.
    pub(crate) fn new(component: BackendComponent, defaults: SamplingParams) -> Result<CustomScript, String> {
        let identity = component.identity();
        let description = component.description().clone();
        let details = match serde_json::to_value(identity) {
            Ok(Value::Object(object)) => object,
            _ => Object::new(),
        };
        let info = BackendInfo {
            kind: "custom_script",
            model: identity.name.clone(),
            capabilities: Capabilities {
                generate: description.supports_generate,
                loglikelihood: description.supports_loglikelihood,
                media: false,
            },
            max_concurrency: description.max_batch.saturating_mul(4).min(QUEUE),
            details,
        };
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let component = Arc::new(component);
        let thread = std::thread::Builder::new()
            .name("custom-script".to_owned())
            .spawn(move || work(&component, waiting, description.max_batch))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(CustomScript { jobs, defaults, info, thread: Mutex::new(Some(thread)) })
    }

    async fn ask<T>(&self, job: Job, answer: oneshot::Receiver<Answer<T>>) -> Answer<T> {
        let gone = || BackendError::new(BackendErrorKind::Internal, "the thread of the component has ended");
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for CustomScript {
    fn drop(&mut self) {
        // The thread ends when the last sender is gone, which is this one; it is not waited
        // for, since it may be within a call.
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[async_trait]
impl Backend for CustomScript {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: GenerateRequest) -> Result<Reply<ModelOutput>, BackendError> {
        let params = serde_json::to_string(&request.params.over(&self.defaults))
            .map_err(|error| BackendError::new(BackendErrorKind::Internal, error.to_string()))?;
        let messages = request.messages.into_iter().map(message_to_guest).collect();
        let (sender, receiver) = oneshot::channel();
        let request = gage_plugin::GenerateRequest { id: request.id, messages, params };
        self.ask(Job::Generate(request, sender), receiver).await
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let (sender, receiver) = oneshot::channel();
        self.ask(Job::Loglikelihood(request, sender), receiver).await
    }
}

/// Answers jobs until no sender is left: takes one, and whatever else waits, up to a batch.
fn work(component: &BackendComponent, mut waiting: mpsc::Receiver<Job>, most: usize) {
    while let Some(first) = waiting.blocking_recv() {
        let mut generate = Vec::new();
        let mut loglikelihood = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Generate(request, sender) => generate.push((request, sender)),
                Job::Loglikelihood(request, sender) => loglikelihood.push((request, sender)),
            }
            let is_full = generate.len() + loglikelihood.len() >= most;
            next = if is_full { None } else { waiting.try_recv().ok() };
        }
        answer_generate(component, generate);
        answer_loglikelihood(component, loglikelihood);
    }
}

fn answer_generate(
    component: &BackendComponent,
    jobs: Vec<(gage_plugin::GenerateRequest, oneshot::Sender<Answer<ModelOutput>>)>,
) {
    let (requests, senders): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
    let began = Instant::now();
    for (result, sender) in component.generate(&requests).into_iter().zip(senders) {
        let timing = RequestTiming { latency: began.elapsed(), attempts: 1 };
        let answer = result
            .map(|generation| Reply { output: output_of(generation), timing })
            .map_err(|error| backend_error(&error));
        // Nobody waits any more where the run was stopped.
        let _ = sender.send(answer);
    }
}

fn answer_loglikelihood(
    component: &BackendComponent,
    jobs: Vec<(LoglikelihoodRequest, oneshot::Sender<Answer<LoglikelihoodOutput>>)>,
) {
    let (asked, senders): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
    let requests: Vec<gage_plugin::LoglikelihoodRequest> = asked
        .iter()
        .map(|request| gage_plugin::LoglikelihoodRequest {
            id: request.id.clone(),
            messages: request.messages.iter().cloned().map(message_to_guest).collect(),
            continuations: request.continuations.iter().map(|one| one.text.clone()).collect(),
        })
        .collect();
    let began = Instant::now();
    let results = component.loglikelihood(&requests);
    for ((result, request), sender) in results.into_iter().zip(asked).zip(senders) {
        let timing = RequestTiming { latency: began.elapsed(), attempts: 1 };
        let scores = result.map_err(|error| backend_error(&error)).map(|scores| {
            let scores = scores.into_iter().zip(request.continuations).map(|(score, continuation)| {
                ContinuationScore {
                    id: continuation.id,
                    logprob: score.logprob,
                    token_count: score.token_count,
                    byte_count: u32::try_from(continuation.text.len()).unwrap_or(u32::MAX),
                    is_greedy: score.is_greedy,
                }
            });
            Reply { output: LoglikelihoodOutput { scores: scores.collect(), usage: None }, timing }
        });
        let _ = sender.send(scores);
    }
}

fn backend_error(error: &ItemError) -> BackendError {
    BackendError::new(BackendErrorKind::Plugin, format!("{}: {}", error.kind, error.message))
}

fn message_to_guest(message: Message) -> gage_plugin::Message {
    let role = match message.role {
        Role::System => gage_plugin::Role::System,
        Role::User => gage_plugin::Role::User,
        Role::Assistant => gage_plugin::Role::Assistant,
        Role::Tool => gage_plugin::Role::Tool,
    };
    let content = gage_core::text_of(&message.content);
    let has_media = message.has_media();
    let mut extra = match message.into_value() {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    extra.shift_remove("role");
    if let Some(parts) = extra.shift_remove("content").filter(|_| has_media) {
        extra.insert("parts".to_owned(), parts);
    }
    gage_plugin::Message { role, content, extra: Value::Object(extra).to_string() }
}

fn output_of(generation: gage_plugin::Generation) -> ModelOutput {
    let finish = match generation.finish {
        gage_plugin::FinishReason::Stop => FinishReason::Stop,
        gage_plugin::FinishReason::Length => FinishReason::Length,
        gage_plugin::FinishReason::ToolCalls => FinishReason::ToolCalls,
        gage_plugin::FinishReason::ContentFilter => FinishReason::ContentFilter,
        gage_plugin::FinishReason::Other => FinishReason::Other,
    };
    let usage = generation.usage.map(|usage| Usage {
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
    });
    let mut output = ModelOutput::generated(generation.answer, finish, usage);
    // It was checked to be an object when it came out of the component.
    if let Ok(Value::Object(extra)) = serde_json::from_str(&generation.extra) {
        output.extra = extra;
    }
    output
}
