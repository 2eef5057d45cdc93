//! State of an answer that is being generated.

use crate::sampling::{SampledToken, Sampler};
use crate::text::AnswerText;
use crate::tokenizer::Tokenizer;
use gage_core::{FinishReason, Usage};
use gage_model_protocol::{Completion, TokenLogprob, to_u32, to_usize};
use llama_cpp_2::token::LlamaToken;

/// An answer that is being generated.
pub struct Generation {
    /// Sampler of its tokens.
    pub chooser: Sampler,
    /// Maximum number of tokens.
    pub most_tokens: u32,
    /// Number of prompt tokens that were dropped.
    pub left_out: usize,
    text: AnswerText,
    logprobs: Vec<TokenLogprob>,
    wants_logprobs: bool,
    last: Option<LlamaToken>,
    tokens: u32,
}

impl Generation {
    /// Creates an empty answer.
    pub fn new(
        chooser: Sampler,
        stops: Vec<String>,
        most_tokens: u32,
        left_out: usize,
        wants_logprobs: bool,
    ) -> Generation {
        Generation {
            chooser,
            most_tokens,
            left_out,
            text: AnswerText::new(stops),
            logprobs: Vec::new(),
            wants_logprobs,
            last: None,
            tokens: 0,
        }
    }

    /// Returns the token to compute next, and the number of answer tokens before it.
    pub fn next(&self) -> Option<(LlamaToken, usize)> {
        self.last.map(|last| (last, to_usize(self.tokens).saturating_sub(1)))
    }

    /// Adds a token. Returns `Some` if the answer ends with it.
    pub fn push(&mut self, chosen: SampledToken, tokenizer: &Tokenizer<'_>) -> Option<FinishReason> {
        let SampledToken { token, logprob, is_last } = chosen;
        self.last = Some(token);
        self.tokens += 1;
        self.logprobs.extend(logprob);
        if tokenizer.is_end(token) {
            return Some(FinishReason::Stop);
        }
        let mut bytes = Vec::with_capacity(32);
        tokenizer.piece(token, &mut bytes);
        if self.text.push(&bytes) || is_last {
            return Some(FinishReason::Stop);
        }
        (self.tokens >= self.most_tokens).then_some(FinishReason::Length)
    }

    /// Returns the answer. If its prompt lost its beginning, it counts as cut off.
    pub fn finish(self, reason: FinishReason, prompt_tokens: usize) -> Completion {
        let usage = Usage {
            prompt_tokens: u64::from(to_u32(prompt_tokens)),
            completion_tokens: u64::from(self.tokens),
        };
        let reason = if self.left_out > 0 { FinishReason::Length } else { reason };
        let logprobs = self.wants_logprobs.then_some(self.logprobs);
        Completion { text: self.text.finish(), reason, usage, logprobs, left_out: self.left_out }
    }
}
