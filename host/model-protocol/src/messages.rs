//! Messages between `gage-host` and the model process.
//!
//! The process receives one [`Command`], confines itself to the files that the command names, and sends its
//! [`Greeting`]. After [`Command::Serve`] it receives [`ToModel`] and sends [`FromModel`]. The thread that computes sends
//! every message, so that a call that never ends is noticed by their absence. The other commands document what they send.

use crate::bench::BenchOptions;
use crate::build_info::{BuildInfo, GpuDevice, UnusedKernels};
use crate::confinement::Confinement;
use crate::load_options::ModelOptions;
use crate::settings::Settings;
use gage_core::{ContinuationScore, FinishReason, SamplingParams, Usage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Default seed, fixed so that every run is reproducible.
pub const DEFAULT_SEED: u32 = 42;

/// Default maximum length of an answer, in tokens.
pub const DEFAULT_MAX_NEW_TOKENS: u32 = 256;

/// First message from a model process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Build of the program.
    pub build: BuildInfo,
    /// Confinement of the process.
    pub confinement: Confinement,
    /// Kernels that the process was given and does not use.
    pub unused_kernels: Vec<UnusedKernels>,
    /// Free memory of its GPUs in bytes, by the name of the device.
    pub free_gpu_memory: BTreeMap<String, u64>,
    /// Reason why the process cannot compute, such as that it has no kernels for the processor.
    pub problem: Option<String>,
}

impl Greeting {
    /// Returns the free memory of each GPU in bytes, in the order in which `devices` counts them.
    pub fn free_memory_of_gpus(&self) -> Vec<u64> {
        let free = |gpu: &GpuDevice| self.free_gpu_memory.get(&gpu.name).copied().unwrap_or(0);
        self.build.devices.iter().map(free).collect()
    }
}

/// First message to a model process: what it is started for.
#[derive(Debug, Serialize, Deserialize)]
pub enum Command {
    /// Load a model and answer [`ToModel`] until the stream ends.
    Serve(Box<ModelOptions>),
    /// Read the vocabulary of this file and send `Result<(), String>`. Then answer each text with its number of tokens.
    CountTokens(PathBuf),
    /// Measure a model and send `Result<BenchReport, String>`.
    Bench(BenchOptions),
}

impl Command {
    /// Returns the model files that the command reads.
    pub fn model_files(&self) -> Vec<PathBuf> {
        match self {
            Command::Serve(options) => {
                let adapter = options.lora.as_ref().map(|(path, _)| path);
                let further = adapter.into_iter().chain(&options.mmproj).cloned();
                std::iter::once(options.model_path.clone()).chain(further).collect()
            }
            Command::CountTokens(path) => vec![path.clone()],
            Command::Bench(options) => vec![options.model_path.clone()],
        }
    }
}

/// A message to the model process.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToModel {
    /// Work on this request.
    Ask(u64, Box<Job>),
    /// Stop working on this request.
    Cancel(u64),
}

/// A message from the model process.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromModel {
    /// The model is loaded.
    Opened(Box<LoadedModel>),
    /// The model cannot be loaded, for this reason.
    Refused(String),
    /// A request is being worked on, even if only its text is being tokenized.
    Started(u64),
    /// A request is waiting for room and is not being worked on.
    Queued(u64),
    /// A call of the model has ended, or more of its file was loaded. Sent only if no other message was sent for a while.
    Progress,
    /// A request is done.
    Done(u64, Box<Result<JobResult, JobError>>, Counts),
}

/// Facts about a loaded model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedModel {
    /// Metadata of the model.
    pub facts: ModelFacts,
    /// Options with defaults filled in, reduced if memory did not suffice.
    pub settings: Settings,
    /// llama.cpp's description of itself and the machine: the kernels in use.
    pub kernels: String,
    /// Name of the projector in its file. `None` if the model takes no images.
    pub projector: Option<String>,
    /// Grammar that constrains answers, if one was requested. For a JSON Schema, the grammar that llama.cpp makes of
    /// it.
    pub grammar: Option<String>,
    /// Build of the program that loaded the model.
    pub build: BuildInfo,
}

/// Metadata of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Architecture, such as `llama` or `gemma3`.
    pub architecture: Option<String>,
    /// Name given by its makers.
    pub name: Option<String>,
    /// Number of parameters.
    pub parameters: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// Storage type of most tensors, such as `Q4_K_M`.
    pub quantization: Option<String>,
    /// Context length in training, in tokens.
    pub training_context: u32,
    /// Number of tokens in the vocabulary.
    pub vocabulary_size: i32,
    /// Length of the embedding vectors.
    pub embedding_length: i32,
    /// Chat template in the file.
    pub chat_template: Option<String>,
    /// Text of the BOS token.
    pub bos_token: String,
    /// Text of the EOS token.
    pub eos_token: String,
    /// Texts of all control tokens.
    pub special_tokens: Vec<String>,
}

/// A conversation rendered as the text that a model reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// True if special tokens spelled in the text are intended, because a chat template rendered it.
    pub has_special_tokens: bool,
    /// Marker code point; no token may span it.
    pub mark: Option<char>,
    /// Code point that marks the place of the next image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_mark: Option<char>,
    /// Image files in base64, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

impl Prompt {
    /// Creates a prompt in which no special tokens are intended.
    pub fn plain(text: &str) -> Prompt {
        Prompt { text: text.to_owned(), ..Prompt::default() }
    }
}

/// A request to the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Name of the request in errors.
    pub name: String,
    /// Work to do.
    pub task: Task,
}

/// Work that a request asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Task {
    /// Continue a conversation.
    Generate(GenerateTask),
    /// Score what might follow a conversation.
    Score {
        /// The conversation.
        prompt: Prompt,
        /// Candidate continuations.
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
    /// Sampling parameters, including the backend's defaults.
    pub params: SamplingParams,
    /// Constraint on the answer.
    pub constraint: Option<Constraint>,
    /// Number of alternatives to report with the log-probability of each token.
    pub logprobs: Option<u32>,
}

/// Constraint on an answer.
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
    /// Id of the option.
    pub id: String,
    /// Text, marked as the prompt is.
    pub text: String,
    /// Length in bytes of the text without markers.
    pub byte_count: u32,
}

/// Result of a finished request, and how long it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobResult {
    /// Answer to the request.
    pub answer: Answer,
    /// Time since the model began to work on the request.
    pub latency: Duration,
    /// Time from the same start to the first token of an answer.
    pub first_token: Option<Duration>,
}

/// Answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Answer to [`Task::Generate`].
    Generated(Completion),
    /// Answer to [`Task::Score`].
    Scored {
        /// One score per continuation.
        scores: Vec<ContinuationScore>,
        /// Tokens of the prompt and of all continuations.
        usage: Usage,
    },
    /// Answer to [`Task::Roll`].
    Rolled {
        /// Natural logarithm of the probability of the text.
        logprob: f64,
        /// Number of tokens.
        token_count: u64,
    },
    /// Answer to [`Task::Embed`].
    Embedded {
        /// One vector per text.
        vectors: Vec<Vec<f32>>,
        /// Number of tokens in all texts.
        tokens: u64,
    },
}

/// A generated answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Reason why the answer ended.
    pub reason: FinishReason,
    /// Tokens of the prompt and of the answer.
    pub usage: Usage,
    /// Log-probability of each token, if requested.
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// Number of prompt tokens that were dropped.
    pub left_out: usize,
}

/// Log-probability of a token before temperature, penalties and constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// Text of the token; invalid UTF-8 is replaced.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// Most likely tokens at this position.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub top: Vec<TokenLogprob>,
}

/// Reason why the model could not answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobErrorKind {
    /// The request cannot be answered in this form.
    Rejected,
    /// The prompt is longer than the model's context.
    ContextLength,
    /// The model does not support the request.
    Unsupported,
    /// A bug in the program or in llama.cpp.
    Internal,
}

/// Error of a failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct JobError {
    /// Kind of the error.
    pub kind: JobErrorKind,
    /// Description of the error.
    pub message: String,
}

impl JobError {
    /// Creates an error with a message.
    pub fn new(kind: JobErrorKind, message: impl Into<String>) -> JobError {
        JobError { kind, message: message.into() }
    }
}

/// Counters of a model since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tokens computed, including those of images.
    pub evaluated_tokens: u64,
    /// Prompt tokens reused from other prompts.
    pub reused_tokens: u64,
    /// Tokens generated.
    pub generated_tokens: u64,
    /// Images computed.
    pub images: u64,
    /// Calls of the model.
    pub calls: u64,
    /// Maximum number of requests worked on at once.
    pub most_requests: u64,
}

impl Counts {
    /// Combines the counters of two processes of a model. `most_requests` is the larger one.
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
