//! Requests to a backend, and its answers.

use async_trait::async_trait;
use gage_core::{
    ContentPart, ContinuationScore, MediaKind, Message, Messages, ModelOutput, Object, SamplingParams, Usage,
};
use gage_plugin::Models;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Which of several answers to the same question is asked for. What cannot be told apart by it may be answered
/// once for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawIndex {
    /// The repeat of the sample, from 0.
    pub repeat: u64,
    /// Which of the conversations that a judge has about it, from 0.
    pub prompt: usize,
    /// How often it was asked before without a reply that could be read.
    pub attempt: u32,
}

/// A conversation to continue.
#[derive(Clone, Debug)]
pub struct GenerateRequest {
    /// Names the request in logs; the sample's id.
    pub id: String,
    /// The conversation; its last message is what is answered.
    pub messages: Messages,
    /// The same as the text that the model reads, where somebody rendered it already: no template
    /// is applied to it.
    pub prompt: Option<String>,
    /// Sampling parameters, merged from all higher places; the backend adds its own defaults.
    pub params: SamplingParams,
    /// Tool definitions of the sample.
    pub tools: Vec<serde_json::Value>,
    /// Which tool to use.
    pub tool_choice: Option<serde_json::Value>,
    /// Which answer is wanted; without it the cache is not used.
    pub draw: Option<DrawIndex>,
}

/// A text whose likelihood is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// The id of the option that it stands for.
    pub id: String,
    /// The text as it follows the prompt.
    pub text: String,
}

/// A conversation and what might follow it.
#[derive(Clone, Debug)]
pub struct LoglikelihoodRequest {
    /// Names the request in logs; the sample's id.
    pub id: String,
    /// The conversation that the continuations follow.
    pub messages: Messages,
    /// The same as the text that the model reads, where somebody rendered it already.
    pub prompt: Option<String>,
    /// At least one.
    pub continuations: Vec<Continuation>,
}

/// How likely each continuation is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoglikelihoodOutput {
    /// One score for each continuation, in order.
    pub scores: Vec<ContinuationScore>,
    /// Prompt tokens, and the tokens of all continuations.
    pub usage: Option<Usage>,
}

/// Texts whose meaning is asked for as vectors.
#[derive(Clone, Debug)]
pub struct EmbedRequest {
    /// Names the request in logs.
    pub id: String,
    /// At least one.
    pub texts: Vec<String>,
}

/// The meaning of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedOutput {
    /// One vector for each text, in order, all of one length; as the model gives them, of whatever norm.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of all texts.
    pub usage: Option<Usage>,
}

/// A whole text whose likelihood is asked for.
#[derive(Clone, Debug)]
pub struct RollingRequest {
    /// Names the request in logs.
    pub id: String,
    /// The text, of any length; not empty.
    pub text: String,
    /// Whether special tokens that it spells are meant: a chat template rendered it.
    pub has_special_tokens: bool,
}

/// How likely a whole text is, each token given what stands before it, as far back as the context reaches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollingOutput {
    /// The natural logarithm of its probability. Its perplexity per token is `exp(-logprob / token_count)`.
    pub logprob: f64,
    /// The tokens.
    pub token_count: u64,
    /// The bytes.
    pub byte_count: u64,
}

/// How long a request took; varies from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestTiming {
    /// From the moment the backend began to work on it to the answer, the last attempt only.
    pub latency: Duration,
    /// How often it was sent.
    pub attempts: u32,
    /// From the same moment to the first piece of the answer, where the backend sees pieces.
    pub first_token: Option<Duration>,
}

/// An answer and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The answer.
    pub output: T,
    /// How long it took.
    pub timing: RequestTiming,
}

/// Which media a backend takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaSupport {
    /// None: text only.
    #[default]
    Nothing,
    /// Images.
    Images,
    /// Images and files.
    ImagesAndFiles,
    /// Whatever the protocol has words for; what it has none for is refused request by request.
    Everything,
}

impl MediaSupport {
    /// Returns whether it takes such a medium.
    pub fn takes(self, kind: MediaKind) -> bool {
        match self {
            MediaSupport::Nothing => false,
            MediaSupport::Images => kind == MediaKind::Image,
            MediaSupport::ImagesAndFiles => matches!(kind, MediaKind::Image | MediaKind::File),
            MediaSupport::Everything => true,
        }
    }

    /// The first medium of messages that it does not take.
    pub fn refuses<'m>(self, messages: impl IntoIterator<Item = &'m Message>) -> Option<MediaKind> {
        let parts = messages.into_iter().flat_map(|message| &message.content);
        let mut kinds = parts.filter_map(|part| match part {
            ContentPart::Media { kind, .. } => Some(*kind),
            ContentPart::Text { .. } => None,
        });
        kinds.find(|kind| !self.takes(*kind))
    }

    /// In words: what it takes.
    pub fn described(self) -> &'static str {
        match self {
            MediaSupport::Nothing => "text only",
            MediaSupport::Images => "text and images only",
            MediaSupport::ImagesAndFiles => "text, images and files only",
            MediaSupport::Everything => "all media",
        }
    }
}

/// What a backend can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Answers conversations.
    pub generate: bool,
    /// Scores continuations.
    pub loglikelihood: bool,
    /// Scores whole texts.
    pub rolling_loglikelihood: bool,
    /// Turns texts into vectors.
    pub embeddings: bool,
    /// Which media it takes in messages.
    pub media: MediaSupport,
}

/// What a backend is.
#[derive(Clone, Debug)]
pub struct BackendInfo {
    /// The `type` of the configuration.
    pub kind: &'static str,
    /// The model's name or file.
    pub model: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Most requests that are worth having in flight.
    pub max_concurrency: usize,
    /// What a record of the run should say about it: digests, context length, versions. Holds
    /// no secret.
    pub details: Object,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum BackendErrorKind {
    /// No connection, or it broke.
    Connection,
    /// No answer in time.
    Timeout,
    /// The server asks for fewer requests.
    RateLimited,
    /// The server failed (5xx).
    Server,
    /// The server refuses the request (4xx).
    Rejected,
    /// The server refuses the key, or what it may do (401, 403): no request will fare better.
    Unauthorized,
    /// The account has nothing left to spend: no request will fare better.
    QuotaExhausted,
    /// The answer is not what the protocol promises.
    Protocol,
    /// The prompt is longer than the model's context.
    ContextLength,
    /// The backend does not offer what was asked.
    Unsupported,
    /// What is played back holds no answer to it.
    NotRecorded,
    /// The process of the model crashed over it, twice.
    ModelCrashed,
    /// The model cannot be had any more: no request will fare better.
    ModelLost,
    /// A component failed.
    Plugin,
    /// A fault of this program.
    Internal,
}

impl BackendErrorKind {
    /// The name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether every further request would fail in the same way, so that the run has to end.
    pub fn stops_run(self) -> bool {
        matches!(
            self,
            BackendErrorKind::Unauthorized | BackendErrorKind::QuotaExhausted | BackendErrorKind::ModelLost
        )
    }
}

/// A request that failed, after all attempts.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// Why.
    pub kind: BackendErrorKind,
    /// The same in words, with what was tried.
    pub message: String,
    /// How often the request was sent.
    pub attempts: u32,
}

impl BackendError {
    /// An error after one attempt.
    pub fn new(kind: BackendErrorKind, message: impl Into<String>) -> BackendError {
        BackendError { kind, message: message.into(), attempts: 1 }
    }

    /// The error of a request for what a kind of backend does not have.
    fn lacking(id: &str, kind: &str, what: &str) -> BackendError {
        BackendError::new(BackendErrorKind::Unsupported, format!("request '{id}': {kind} has no {what}"))
    }
}

/// Something that answers requests.
#[async_trait]
pub trait Backend: Send + Sync {
    /// What it is and what it can do.
    fn info(&self) -> &BackendInfo;

    /// Continues a conversation. The request is boxed because it passes through many futures.
    ///
    /// # Errors
    /// When no answer could be had, after all retries.
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
    /// As for [`Backend::generate`]; always for a backend that cannot.
    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        Err(BackendError::lacking(&request.id, self.info().kind, "log-likelihood of whole texts"))
    }

    /// Checks that the files that the model was loaded from have not changed. May read them whole.
    ///
    /// # Errors
    /// Names the file that changed.
    fn check_files(&self) -> Result<(), String> {
        Ok(())
    }

    /// Turns texts into vectors.
    ///
    /// # Errors
    /// As for [`Backend::generate`]; always for a backend without this capability.
    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        Err(BackendError::lacking(&request.id, self.info().kind, "embeddings"))
    }

    /// What it counted and learned so far: requests, attempts, retries by cause, the limit of requests in
    /// flight. Varies from run to run; empty for a backend that counts nothing.
    fn statistics(&self) -> Object {
        Object::new()
    }

    /// Gives it the models of the run, for a backend that is a component and was granted some.
    fn set_models(&self, _models: Arc<dyn Models>) {}
}
