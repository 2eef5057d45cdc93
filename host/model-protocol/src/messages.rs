//! Messages between `gage-host` and the process of a model.
//!
//! The process greets with its [`BuildInfo`] and gets one [`Command`]. For [`Command::Serve`] it then gets [`ToModel`]
//! and sends [`FromModel`]; the other commands say what they send.

use crate::bench::BenchOptions;
use crate::build_info::BuildInfo;
use crate::load_options::ModelOptions;
use crate::settings::Settings;
use gage_core::{ContinuationScore, FinishReason, SamplingParams, Usage};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The seed of a request that names none, so that every run is reproducible.
pub const DEFAULT_SEED: u32 = 42;

/// Longest answer where no request says otherwise, in tokens.
pub const DEFAULT_MAX_NEW_TOKENS: u32 = 256;

/// The first message to a process: what it is started for.
#[derive(Debug, Serialize, Deserialize)]
pub enum Command {
    /// Load a model and answer [`ToModel`] until the stream ends.
    Serve(Box<ModelOptions>),
    /// Read the vocabulary of this file, send `Result<(), String>`, and then answer each text with the number of its tokens.
    CountTokens(PathBuf),
    /// Measure a model and send `Result<BenchReport, String>`.
    Bench(BenchOptions),
}

/// A message to the process of a model.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToModel {
    /// Work on this.
    Ask(u64, Box<Job>),
    /// Stop work on that request.
    Cancel(u64),
}

/// A message from the process of a model.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromModel {
    /// It is loaded.
    Opened(Box<LoadedModel>),
    /// It cannot be loaded, for this reason.
    Refused(String),
    /// A request is being worked on, be it only that its text is made tokens.
    Started(u64),
    /// It waits for room, and is not worked on.
    Queued(u64),
    /// A request is done.
    Done(u64, Box<Result<JobResult, JobError>>, Counts),
}

/// What is known when a model is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedModel {
    /// What the model says about itself.
    pub facts: ModelFacts,
    /// The options with their defaults, and after whatever had to be given up for want of memory.
    pub settings: Settings,
    /// What llama.cpp says about itself and the machine: the kernels in use.
    pub kernels: String,
    /// What makes tokens of images, as its file calls it.
    pub projector: Option<String>,
    /// The grammar that answers are held to, where one was asked for: of a JSON Schema, what llama.cpp makes of it.
    pub grammar: Option<String>,
    /// The program that loaded it.
    pub build: BuildInfo,
}

/// What a model says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Such as `llama` or `gemma3`.
    pub architecture: Option<String>,
    /// The name that its makers gave it.
    pub name: Option<String>,
    /// Number of parameters.
    pub parameters: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// How most tensors are stored, such as `Q4_K_M`.
    pub quantization: Option<String>,
    /// The context that it was trained for, in tokens.
    pub training_context: u32,
    /// Number of tokens.
    pub vocabulary_size: i32,
    /// Length of its vectors.
    pub embedding_length: i32,
    /// The chat template that the file carries.
    pub chat_template: Option<String>,
    /// The text of the token at which sequences begin.
    pub bos_token: String,
    /// The text of the token at which they end.
    pub eos_token: String,
    /// The texts of all control tokens.
    pub special_tokens: Vec<String>,
}

/// A conversation as the text that a model reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Whether special tokens that the text spells are meant: a chat template rendered it.
    pub has_special_tokens: bool,
    /// Where this code point stands, no token may span it.
    pub mark: Option<char>,
    /// Where this code point stands, the next image does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_mark: Option<char>,
    /// The files of the images in base64, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

impl Prompt {
    /// A text in which nothing special is meant.
    pub fn plain(text: &str) -> Prompt {
        Prompt { text: text.to_owned(), ..Prompt::default() }
    }
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Names the request in errors.
    pub name: String,
    /// What to do.
    pub task: Task,
}

/// What there is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// Continue a conversation.
    Generate(GenerateTask),
    /// Score what might follow a conversation.
    Score {
        /// The conversation.
        prompt: Prompt,
        /// What might follow.
        continuations: Vec<ScoredText>,
    },
    /// Score a whole text.
    Roll(Prompt),
    /// Turn texts into vectors.
    Embed(Vec<String>),
}

/// A conversation to continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GenerateTask {
    /// The conversation.
    pub prompt: Prompt,
    /// Sampling parameters, with the defaults of the backend.
    pub params: SamplingParams,
    /// What the answer is held to.
    pub constraint: Option<Constraint>,
    /// How many alternatives to report with the log-probability of each token.
    pub logprobs: Option<u32>,
}

/// What an answer is held to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Constraint {
    /// A grammar in GBNF.
    Grammar(String),
    /// One of these texts.
    Choices(Vec<String>),
}

/// A continuation to score.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScoredText {
    /// The id of the option.
    pub id: String,
    /// The text, marked as the prompt is.
    pub text: String,
    /// Bytes of the text as it was given.
    pub byte_count: u32,
}

/// A request that is done, and how long it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobResult {
    /// What came of it.
    pub answer: Answer,
    /// Since the model began to work on it.
    pub latency: Duration,
    /// From the same moment to the first token of an answer.
    pub first_token: Option<Duration>,
}

/// What came of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Of [`Task::Generate`].
    Generated(Completion),
    /// Of [`Task::Score`].
    Scored {
        /// One for each continuation.
        scores: Vec<ContinuationScore>,
        /// Tokens of the prompt, and of all continuations.
        usage: Usage,
    },
    /// Of [`Task::Roll`].
    Rolled {
        /// The natural logarithm of the probability of the text.
        logprob: f64,
        /// The tokens.
        token_count: u64,
    },
    /// Of [`Task::Embed`].
    Embedded {
        /// One for each text.
        vectors: Vec<Vec<f32>>,
        /// Tokens of all texts.
        tokens: u64,
    },
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Why it ended.
    pub reason: FinishReason,
    /// Tokens of the prompt and of the answer.
    pub usage: Usage,
    /// Of each token, where they are asked for.
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// Tokens of the prompt that were left out.
    pub left_out: usize,
}

/// How likely a token was before temperature, penalties and constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The text; bytes that are no character are replaced.
    pub token: String,
    /// The natural logarithm of its probability.
    pub logprob: f64,
    /// The most likely tokens at its place.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub top: Vec<TokenLogprob>,
}

/// Why the model could not answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobErrorKind {
    /// The request cannot be answered as it is.
    Rejected,
    /// The prompt is longer than the model's context.
    ContextLength,
    /// The model does not offer what was asked.
    Unsupported,
    /// A fault of the program or of llama.cpp.
    Internal,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct JobError {
    /// Why.
    pub kind: JobErrorKind,
    /// The same in words.
    pub message: String,
}

impl JobError {
    /// An error in words.
    pub fn new(kind: JobErrorKind, message: impl Into<String>) -> JobError {
        JobError { kind, message: message.into() }
    }
}

/// What a model counted since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tokens that were computed, those of images among them.
    pub evaluated_tokens: u64,
    /// Tokens of prompts that were taken over from other prompts.
    pub reused_tokens: u64,
    /// Tokens of answers.
    pub generated_tokens: u64,
    /// Images that were computed.
    pub images: u64,
    /// Calls of the model.
    pub calls: u64,
    /// Most requests that were worked on at once.
    pub most_requests: u64,
}

impl Counts {
    /// What two models counted, of which one came after the other.
    pub fn and(self, later: Counts) -> Counts {
        Counts {
            evaluated_tokens: self.evaluated_tokens.saturating_add(later.evaluated_tokens),
            reused_tokens: self.reused_tokens.saturating_add(later.reused_tokens),
            generated_tokens: self.generated_tokens.saturating_add(later.generated_tokens),
            images: self.images.saturating_add(later.images),
            calls: self.calls.saturating_add(later.calls),
            most_requests: self.most_requests.max(later.most_requests),
        }
    }
}
