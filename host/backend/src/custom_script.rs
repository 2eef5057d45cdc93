//! `custom_script`: a component that answers in place of a model.

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, LoglikelihoodOutput,
    LoglikelihoodRequest, MediaSupport, Reply, RequestTiming,
};
use crate::guest::{clean, message_to_guest, output_of};
use async_trait::async_trait;
use gage_core::{ContinuationScore, Message, ModelOutput, Object, Role, SamplingParams, spawn_thread};
use gage_plugin::{BackendComponent, ItemError, MediaSet, Models};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of requests queued for the component.
const QUEUE: usize = 1024;

/// Number of threads for a component that waits for servers or models, and the maximum for one that computes.
const WAITING_THREADS: usize = 16;
const COMPUTING_THREADS: usize = 4;

/// A component with a queue. Its own threads answer queued requests in batches.
///
/// The threads end when the queue is closed. They are not joined, since they may be within a call.
pub(crate) struct CustomScript {
    component: Arc<BackendComponent>,
    jobs: mpsc::Sender<Job>,
    defaults: SamplingParams,
    info: BackendInfo,
}

enum Job {
    Generate(Conversation, oneshot::Sender<Answer<ModelOutput>>),
    Loglikelihood(LoglikelihoodRequest, oneshot::Sender<Answer<LoglikelihoodOutput>>),
}

/// A request whose messages are converted for the component when its batch is called.
struct Conversation {
    id: String,
    messages: Vec<Message>,
    params: String,
}

type Answer<T> = Result<Reply<T>, BackendError>;

impl CustomScript {
    /// Starts the threads that call the component.
    pub(crate) fn new(component: BackendComponent, defaults: SamplingParams) -> Result<CustomScript, String> {
        let identity = component.identity();
        let offer = component.offer();
        let grants = component.grants();
        let details = match serde_json::to_value(identity) {
            Ok(Value::Object(object)) => object,
            _ => Object::new(),
        };
        let threads = match grants.http.is_empty() && grants.llm.is_empty() {
            true => std::thread::available_parallelism().map_or(1, usize::from).min(COMPUTING_THREADS),
            false => WAITING_THREADS,
        };
        let info = BackendInfo {
            kind: "custom_script",
            model: identity.name.clone(),
            capabilities: Capabilities {
                generate: offer.supports_generate,
                loglikelihood: offer.supports_loglikelihood,
                // The component interface supports neither.
                rolling_loglikelihood: false,
                embeddings: false,
                media: if grants.media { MediaSupport::Everything } else { MediaSupport::Nothing },
            },
            max_concurrency: offer.max_batch.saturating_mul(2 * threads).min(QUEUE),
            details,
        };
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(waiting));
        let component = Arc::new(component);
        for _ in 0..threads {
            let (component, waiting) = (Arc::clone(&component), Arc::clone(&waiting));
            // If it fails, the queue closes, which ends the threads that were started.
            spawn_thread("custom-script", move || run_worker(&component, &waiting, offer.max_batch))
                .map_err(|shortage| shortage.report().to_string())?;
        }
        Ok(CustomScript { component, jobs, defaults, info })
    }

    async fn ask<T>(&self, job: Job, answer: oneshot::Receiver<Answer<T>>) -> Answer<T> {
        let gone = || BackendError::new(BackendErrorKind::Internal, "the thread of the component has ended");
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

#[async_trait]
impl Backend for CustomScript {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let params = serde_json::to_string(&request.params.over(&self.defaults))
            .map(clean)
            .map_err(|error| BackendError::new(BackendErrorKind::Internal, error.to_string()))?;
        let (sender, receiver) = oneshot::channel();
        let messages = as_messages(request.messages.into_vec(), request.prompt);
        let request = Conversation { id: request.id, messages, params };
        self.ask(Job::Generate(request, sender), receiver).await
    }

    async fn loglikelihood(
        &self,
        mut request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        request.messages = as_messages(request.messages.into_vec(), request.prompt.take()).into();
        let (sender, receiver) = oneshot::channel();
        self.ask(Job::Loglikelihood(request, sender), receiver).await
    }

    fn set_models(&self, models: Arc<dyn Models>) {
        self.component.set_models(models);
    }
}

/// Converts a conversation for a component. An already rendered prompt becomes one user message with `rendered: true`.
fn as_messages(messages: Vec<Message>, prompt: Option<String>) -> Vec<Message> {
    let Some(prompt) = prompt else { return messages };
    let mut message = Message::text(Role::User, prompt);
    message.extra.insert("rendered".to_owned(), Value::Bool(true));
    vec![message]
}

/// Answers jobs in batches until no sender is left.
fn run_worker(component: &BackendComponent, waiting: &Mutex<mpsc::Receiver<Job>>, most: usize) {
    loop {
        let mut batch = Vec::new();
        if waiting.lock().blocking_recv_many(&mut batch, most) == 0 {
            return;
        }
        let (mut generate, mut loglikelihood) = (Vec::new(), Vec::new());
        for job in batch {
            match job {
                Job::Generate(request, sender) => generate.push((request, sender)),
                Job::Loglikelihood(request, sender) => loglikelihood.push((request, sender)),
            }
        }
        if !generate.is_empty() {
            answer_generate(component, generate);
        }
        if !loglikelihood.is_empty() {
            answer_loglikelihood(component, loglikelihood);
        }
    }
}

fn answer_generate(
    component: &BackendComponent,
    jobs: Vec<(Conversation, oneshot::Sender<Answer<ModelOutput>>)>,
) {
    let (asked, senders): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
    let mut media = MediaSet::default();
    let may_read = component.grants().media;
    let requests: Vec<gage_plugin::GenerateRequest> = asked
        .into_iter()
        .map(|Conversation { id, messages, params }| gage_plugin::GenerateRequest {
            id,
            messages: messages
                .into_iter()
                .map(|message| message_to_guest(message, may_read.then_some(&mut media)))
                .collect(),
            params,
        })
        .collect();
    let began = Instant::now();
    for (result, sender) in component.generate(&requests, media).into_iter().zip(senders) {
        let timing = RequestTiming { latency: began.elapsed(), attempts: 1, first_token: None };
        let answer = result
            .map(|generation| Reply { output: output_of(generation), timing })
            .map_err(|error| backend_error(&error));
        // The receiver is gone if the run was stopped.
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
            messages: request
                .messages
                .iter()
                .cloned()
                .map(|message| message_to_guest(message, None))
                .collect(),
            continuations: request.continuations.iter().map(|one| clean(one.text.clone())).collect(),
        })
        .collect();
    let began = Instant::now();
    let results = component.loglikelihood(&requests);
    for ((result, request), sender) in results.into_iter().zip(asked).zip(senders) {
        let timing = RequestTiming { latency: began.elapsed(), attempts: 1, first_token: None };
        let scores = result.map_err(|error| backend_error(&error)).map(|scores| {
            let scores = scores.into_iter().zip(request.continuations).map(|(score, continuation)| {
                ContinuationScore {
                    id: continuation.id,
                    logprob: score.logprob,
                    unconditioned_logprob: None,
                    character_count: None,
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
