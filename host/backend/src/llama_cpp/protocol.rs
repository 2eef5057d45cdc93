//! What the thread or the process of a model is told, and what it says.
//!
//! To a process the same messages go as frames: the length of a message in four bytes, the lowest
//! first, then the message in JSON. Both ends are the same program; the version that the first
//! message names is for the case that the file of the program was replaced meanwhile.

use super::load_options::{ModelOptions, Settings};
use super::model::ModelFacts;
use super::tokenizer::Prompt;
use crate::api::{BackendError, BackendErrorKind};
use gage_core::{ContinuationScore, FinishReason, SamplingParams, Usage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Read, Write};
use std::time::Duration;

/// The version of these messages.
pub const VERSION: u32 = 3;

/// Longest message in bytes, 1 GiB.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;

/// What a model is told.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToModel {
    /// The first message: load this.
    Open {
        /// [`VERSION`].
        version: u32,
        /// What to load.
        options: Box<ModelOptions>,
    },
    /// Work on this.
    Ask(u64, Box<Job>),
    /// Nobody waits for that any more.
    Cancel(u64),
}

/// What a model says.
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
    /// How many alternatives to tell beside the log-probability of each token.
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
        /// Its tokens.
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
    /// Its text; bytes that are no character are replaced.
    pub token: String,
    /// The natural logarithm of its probability.
    pub logprob: f64,
    /// The most likely tokens at its place.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub top: Vec<TokenLogprob>,
}

/// A request that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobError {
    /// Why.
    pub kind: BackendErrorKind,
    /// The same in words.
    pub message: String,
}

impl From<BackendError> for JobError {
    fn from(error: BackendError) -> JobError {
        JobError { kind: error.kind, message: error.message }
    }
}

impl From<JobError> for BackendError {
    fn from(error: JobError) -> BackendError {
        BackendError::new(error.kind, error.message)
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

/// Writes a message as a frame.
///
/// # Errors
/// When nobody reads any more, or the message is too long.
pub fn write_frame(writer: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MAX_MESSAGE_BYTES);
    let length =
        length.ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a message is longer than 1 GiB"))?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&bytes)?;
    writer.flush()
}

/// Reads a frame; `None` at the end.
///
/// # Errors
/// When the stream ends within a frame, or what it holds is not a message.
pub fn read_frame<T: DeserializeOwned>(reader: &mut impl Read) -> std::io::Result<Option<T>> {
    let mut length = [0_u8; 4];
    let mut filled = 0;
    while let Some(rest) = length.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "a frame is longer than 1 GiB"));
    }
    let mut bytes = Vec::new();
    let read = reader.take(u64::from(length)).read_to_end(&mut bytes)?;
    if u32::try_from(read) != Ok(length) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_cross_with_all_their_bits() {
        let vectors = vec![vec![f32::MIN_POSITIVE, 0.1, -1.0 / 3.0, f32::MAX]];
        let logprob = -123.456_789_012_345_67_f64;
        for answer in [
            Answer::Embedded { vectors: vectors.clone(), tokens: u64::MAX },
            Answer::Rolled { logprob, token_count: 3 },
        ] {
            let mut bytes = Vec::new();
            write_frame(&mut bytes, &answer).expect("a frame");
            let mut reader = bytes.as_slice();
            match read_frame::<Answer>(&mut reader).expect("a message").expect("one") {
                Answer::Embedded { vectors: read, tokens } => {
                    assert_eq!((read, tokens), (vectors.clone(), u64::MAX))
                }
                Answer::Rolled { logprob: read, .. } => assert_eq!(read.to_bits(), logprob.to_bits()),
                other => panic!("{other:?}"),
            }
            assert!(read_frame::<Answer>(&mut reader).expect("the end").is_none());
        }
    }

    #[test]
    fn what_is_cut_off_or_no_message_is_an_error() {
        let mut whole = Vec::new();
        write_frame(&mut whole, &ToModel::Cancel(7)).expect("a frame");
        for length in 1..whole.len() {
            assert!(read_frame::<ToModel>(&mut &whole[..length]).is_err(), "{length}");
        }
        assert!(read_frame::<ToModel>(&mut [255_u8; 8].as_slice()).is_err());
        assert!(read_frame::<ToModel>(&mut [2_u8, 0, 0, 0, b'{', b'}'].as_slice()).is_err());
    }
}
