//! Requests to a backend, and their answers.

use async_trait::async_trait;
use gage_core::{
    ContentPart, ContinuationScore, MediaKind, Message, Messages, ModelOutput, Object, SamplingParams, Usage,
};
use gage_plugin::Models;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Identifies one of several answers to the same question.
///
/// Requests that share a draw index may get the same answer from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawIndex {
    /// Repeat of the sample, from 0.
    pub repeat: u64,
    /// Index of the judge's conversation about the sample, from 0.
    pub prompt: usize,
    /// Number of earlier attempts that gave no readable reply.
    pub attempt: u32,
}

/// Identifies a sample of a run, and its repeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SamplePlace {
    /// The task.
    pub task_id: Arc<str>,
    /// Number of the row in the task, from 0.
    pub row: u64,
    /// Repeat of the sample, from 0.
    pub repeat: u64,
}

/// A conversation to continue.
#[derive(Clone, Debug)]
pub struct GenerateRequest {
    /// Name of the request in logs; the sample's id.
    pub id: String,
    /// Conversation; its last message is the one to answer.
    pub messages: Messages,
    /// Conversation rendered as the text that the model reads, if already rendered. No template is applied to it.
    pub prompt: Option<String>,
    /// Sampling parameters, merged from all higher levels; the backend adds its own defaults.
    pub params: SamplingParams,
    /// Tool definitions of the sample.
    pub tools: Vec<serde_json::Value>,
    /// Tool to use, in the form of the OpenAI API.
    pub tool_choice: Option<serde_json::Value>,
    /// Draw index of the answer. `None` bypasses the cache.
    pub draw: Option<DrawIndex>,
    /// Place of the sample in the run, for the only request about it to the model under test. `None` for other requests.
    pub place: Option<SamplePlace>,
}

/// A text whose likelihood is requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// Id of the option that it represents.
    pub id: String,
    /// Text as it follows the prompt.
    pub text: String,
}

/// A conversation and its candidate continuations.
#[derive(Clone, Debug)]
pub struct LoglikelihoodRequest {
    /// Name of the request in logs; the sample's id.
    pub id: String,
    /// Conversation that the continuations follow.
    pub messages: Messages,
    /// Conversation rendered as the text that the model reads, if already rendered.
    pub prompt: Option<String>,
    /// Continuations to score, at least one.
    pub continuations: Vec<Continuation>,
}

/// Log-likelihood of each continuation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoglikelihoodOutput {
    /// One score per continuation, in order.
    pub scores: Vec<ContinuationScore>,
    /// Tokens of the prompt and of all continuations.
    pub usage: Option<Usage>,
}

/// Texts to embed.
#[derive(Clone, Debug)]
pub struct EmbedRequest {
    /// Name of the request in logs.
    pub id: String,
    /// Texts, at least one.
    pub texts: Vec<String>,
}

/// Embeddings of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedOutput {
    /// One vector per text, in order and of equal length. Vectors are as the model returns them, not normalized.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of all texts.
    pub usage: Option<Usage>,
}

/// A whole text whose likelihood is requested.
#[derive(Clone, Debug)]
pub struct RollingRequest {
    /// Name of the request in logs.
    pub id: String,
    /// Text of any length; not empty.
    pub text: String,
    /// True if special tokens spelled in the text are intended, because a chat template rendered it.
    pub has_special_tokens: bool,
}

/// Log-likelihood of a whole text, each token given as much preceding text as the context holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollingOutput {
    /// Natural logarithm of its probability. Its perplexity per token is `exp(-logprob / token_count)`.
    pub logprob: f64,
    /// Number of tokens.
    pub token_count: u64,
    /// Number of bytes.
    pub byte_count: u64,
}

/// Duration of a request; varies from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestTiming {
    /// Time from when the backend began to work on the request to the answer, for the last attempt only.
    pub latency: Duration,
    /// Number of times that the request was sent.
    pub attempts: u32,
    /// Time from the same start to the first piece of the answer, if the backend sees pieces.
    pub first_token: Option<Duration>,
}

/// An answer, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The answer.
    pub output: T,
    /// Duration of the request.
    pub timing: RequestTiming,
}

/// Media that a backend accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaSupport {
    /// Text only.
    #[default]
    Nothing,
    /// Images.
    Images,
    /// Images and files.
    ImagesAndFiles,
    /// Everything that the protocol can express. Other media are refused request by request.
    Everything,
}

impl MediaSupport {
    /// Returns true if it accepts this kind of medium.
    pub fn takes(self, kind: MediaKind) -> bool {
        match self {
            MediaSupport::Nothing => false,
            MediaSupport::Images => kind == MediaKind::Image,
            MediaSupport::ImagesAndFiles => matches!(kind, MediaKind::Image | MediaKind::File),
            MediaSupport::Everything => true,
        }
    }

    /// Returns the kinds of media that it accepts.
    pub fn kinds(self) -> impl Iterator<Item = MediaKind> {
        let all = [MediaKind::Image, MediaKind::Audio, MediaKind::Video, MediaKind::File];
        all.into_iter().filter(move |kind| self.takes(*kind))
    }

    /// Returns the first medium in the messages that it does not accept.
    pub fn refuses<'m>(self, messages: impl IntoIterator<Item = &'m Message>) -> Option<MediaKind> {
        let parts = messages.into_iter().flat_map(|message| &message.content);
        let mut kinds = parts.filter_map(|part| match part {
            ContentPart::Media { kind, .. } => Some(*kind),
            ContentPart::Text { .. } => None,
        });
        kinds.find(|kind| !self.takes(*kind))
    }

    /// Describes what it accepts.
    pub fn described(self) -> &'static str {
        match self {
            MediaSupport::Nothing => "text only",
            MediaSupport::Images => "text and images only",
            MediaSupport::ImagesAndFiles => "text, images and files only",
            MediaSupport::Everything => "all media",
        }
    }
}

/// Key of a backend's details with the chat template that the program applies: its `text`, `bos_token` and `eos_token`.
pub const CHAT_TEMPLATE_FACT: &str = "chat_template_source";

/// Key of a backend's facts with the kinds of media that it accepts, as a list of their type names.
pub const ACCEPTED_MEDIA_FACT: &str = "accepted_media";

/// Capabilities of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Generates answers to conversations.
    pub generate: bool,
    /// Scores continuations.
    pub loglikelihood: bool,
    /// Scores whole texts.
    pub rolling_loglikelihood: bool,
    /// Turns texts into vectors.
    pub embeddings: bool,
    /// Media accepted in messages.
    pub media: MediaSupport,
}

/// Description of a backend.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// `type` in the configuration.
    pub kind: &'static str,
    /// Name or file of the model.
    pub model: String,
    /// Capabilities of the backend.
    pub capabilities: Capabilities,
    /// Maximum useful number of requests in flight.
    pub max_concurrency: usize,
    /// Details for the record of a run: digests, context length, versions. Contains no secrets.
    pub details: Object,
}

/// Reason why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum BackendErrorKind {
    /// The connection failed or broke.
    Connection,
    /// No answer arrived in time.
    Timeout,
    /// The server asks for fewer requests.
    RateLimited,
    /// The server failed (5xx).
    Server,
    /// The server refuses the request (4xx).
    Rejected,
    /// The server refuses the key, or the key lacks a permission (401, 403). No request will fare better.
    Unauthorized,
    /// The account has no credit left. No request will fare better.
    QuotaExhausted,
    /// The answer violates the protocol.
    Protocol,
    /// The prompt is longer than the model's context.
    ContextLength,
    /// The backend does not support the request.
    Unsupported,
    /// The recording has no answer to the request.
    NotRecorded,
    /// The file of answers has none for the sample.
    NoGivenAnswer,
    /// The request waits for the results of its batch, and its sample stays open.
    AwaitsBatch,
    /// The answer could not be written to the recording of the run. The next answers could not either.
    RecordingFailed,
    /// The model process crashed or hung twice on the request.
    ModelCrashed,
    /// The model is no longer available. No request will fare better.
    ModelLost,
    /// The server answered no request for as long as the limits allow. No request will fare better now, but may later.
    ServerLost,
    /// The first requests all failed in the same way, and none was ever answered. No request will fare better.
    NeverAnswered,
    /// A component failed.
    Plugin,
    /// A bug in this program.
    Internal,
}

impl BackendErrorKind {
    /// Returns the name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns true if every further request would fail in the same way, so that the run has to end.
    pub fn stops_run(self) -> bool {
        matches!(
            self,
            BackendErrorKind::Unauthorized
                | BackendErrorKind::QuotaExhausted
                | BackendErrorKind::ModelLost
                | BackendErrorKind::ServerLost
                | BackendErrorKind::NeverAnswered
                | BackendErrorKind::RecordingFailed
        )
    }
}

/// Error of a request that failed after all attempts.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// Kind of the error.
    pub kind: BackendErrorKind,
    /// Description, including what was tried.
    pub message: String,
    /// Number of times that the request was sent.
    pub attempts: u32,
}

impl BackendError {
    /// Creates an error after one attempt.
    pub fn new(kind: BackendErrorKind, message: impl Into<String>) -> BackendError {
        BackendError { kind, message: message.into(), attempts: 1 }
    }

    /// Creates the error for a request that this kind of backend does not support.
    fn lacking(id: &str, kind: &str, what: &str) -> BackendError {
        BackendError::new(BackendErrorKind::Unsupported, format!("request '{id}': {kind} has no {what}"))
    }
}

/// A source of answers to requests.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Returns the backend's description and capabilities.
    fn info(&self) -> &BackendInfo;

    /// Continues a conversation. The request is boxed because it passes through many futures.
    ///
    /// # Errors
    /// If no answer was obtained after all retries.
    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError>;

    /// Scores continuations of a conversation.
    ///
    /// # Errors
    /// As for [`Backend::generate`]; always for a backend without this capability.
    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        Err(BackendError::lacking(&request.id, self.info().kind, "log-likelihood"))
    }

    /// Scores a whole text.
    ///
    /// # Errors
    /// As for [`Backend::generate`]; always for a backend without this capability.
    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        Err(BackendError::lacking(&request.id, self.info().kind, "log-likelihood of whole texts"))
    }

    /// Checks that the files that the model was loaded from have not changed. May read them in full.
    ///
    /// # Errors
    /// If a file changed; the message names it.
    fn check_files(&self) -> Result<(), String> {
        Ok(())
    }

    /// Describes answers of a file that no request has taken. `None` if there are none.
    fn unused_answers(&self) -> Option<String> {
        None
    }

    /// Turns texts into vectors.
    ///
    /// # Errors
    /// As for [`Backend::generate`]; always for a backend without this capability.
    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        Err(BackendError::lacking(&request.id, self.info().kind, "embeddings"))
    }

    /// Returns counters and learned values so far: requests, attempts, retries by cause, the limit of requests in
    /// flight.
    ///
    /// Varies from run to run; empty for a backend without counters.
    fn statistics(&self) -> Object {
        Object::new()
    }

    /// Passes the models of the run to a backend that is a component and was granted some.
    fn set_models(&self, _models: Arc<dyn Models>) {}
}
