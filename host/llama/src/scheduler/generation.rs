//! An answer that is being generated.

use crate::sampling::{SampledToken, Sampler};
use crate::text::AnswerText;
use crate::tokenizer::Tokenizer;
use gage_core::{FinishReason, Usage};
use gage_model_protocol::{Completion, TokenLogprob, to_u32, to_usize};
use llama_cpp_2::token::LlamaToken;

/// An answer that is being generated.
pub struct Generation {
    /// Chooses its tokens.
    pub chooser: Sampler,
    /// Most tokens that it may have.
    pub most_tokens: u32,
    /// Tokens of the prompt that were left out.
    pub left_out: usize,
    text: AnswerText,
    logprobs: Vec<TokenLogprob>,
    wants_logprobs: bool,
    last: Option<LlamaToken>,
    tokens: u32,
}

impl Generation {
    /// An empty answer.
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

    /// The token that is to be computed next, and how many tokens of the answer stand before it.
    pub fn next(&self) -> Option<(LlamaToken, usize)> {
        self.last.map(|last| (last, to_usize(self.tokens).saturating_sub(1)))
    }

    /// Takes a token in; `Some` when the answer ends with it.
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

    /// The answer; one to a prompt that lost its beginning counts as cut off.
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
