//! Bounds-checked batch of tokens, and helpers for the memory of sequences.
//!
//! `LlamaBatch::add` writes past the end of an array if it is given more sequences than the batch was created for.
//! [`TokenBatch`] is the only code that calls it.

use crate::runtime::internal;
use gage_model_protocol::{JobError, to_u32};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

/// A batch of tokens that are computed in one call.
pub struct TokenBatch {
    batch: LlamaBatch<'static>,
    most_tokens: usize,
    most_rows: usize,
    /// Number of tokens whose logits are needed.
    rows: usize,
    most_sequences: usize,
}

impl TokenBatch {
    /// Creates an empty batch for `most_tokens` tokens, up to `most_rows` of them with logits.
    ///
    /// Each token may belong to up to `most_sequences` sequences.
    pub fn new(most_tokens: usize, most_rows: usize, most_sequences: usize) -> TokenBatch {
        let sequences = i32::try_from(most_sequences).unwrap_or(i32::MAX);
        TokenBatch {
            batch: LlamaBatch::new(most_tokens, sequences),
            most_tokens,
            most_rows,
            rows: 0,
            most_sequences,
        }
    }

    /// Removes all tokens.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.rows = 0;
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        usize::try_from(self.batch.n_tokens()).unwrap_or(0)
    }

    /// Returns true if the batch has no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the batch has no room for another token.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most_tokens || self.rows >= self.most_rows
    }

    /// Adds a token at a position of its sequences.
    ///
    /// If its logits are wanted, returns the row that holds them after the call.
    pub fn add(
        &mut self,
        token: LlamaToken,
        position: usize,
        sequences: &[i32],
        wants_logits: bool,
    ) -> Result<i32, JobError> {
        if sequences.is_empty() || sequences.len() > self.most_sequences {
            let message =
                format!("a token of {} sequences in a batch for {}", sequences.len(), self.most_sequences);
            return Err(internal(message));
        }
        let row = self.batch.n_tokens();
        let position = i32::try_from(position).map_err(|_| internal("a position beyond all contexts"))?;
        self.batch
            .add(token, position, sequences, wants_logits)
            .map_err(|error| internal(format!("a batch was filled beyond its size: {error}")))?;
        self.rows += usize::from(wants_logits);
        Ok(row)
    }

    /// Computes the tokens. Does nothing if the batch is empty.
    pub fn decode(&mut self, context: &mut LlamaContext<'_>) -> Result<(), JobError> {
        if self.is_empty() {
            return Ok(());
        }
        context.decode(&mut self.batch).map_err(|error| {
            internal(format!("llama.cpp failed to compute {} tokens: {error}", self.batch.n_tokens()))
        })
    }
}

/// Truncates a sequence to its first `length` tokens and returns the number of tokens left.
///
/// Returns 0 if the model's memory cannot be truncated (as in recurrent models) or no longer has these tokens.
pub fn shorten(context: &mut LlamaContext<'_>, sequence: i32, length: usize) -> usize {
    let number = u32::try_from(sequence).ok();
    if length > 0 {
        let cut = context.clear_kv_cache_seq(number, Some(to_u32(length)), None);
        let last = i32::try_from(length - 1).ok();
        if cut == Ok(true)
            && context.kv_cache_seq_pos_min(sequence) == 0
            && Some(context.kv_cache_seq_pos_max(sequence)) == last
        {
            return length;
        }
    }
    if context.clear_kv_cache_seq(number, None, None) != Ok(true) {
        tracing::warn!(sequence, "a sequence could not be cleared; all are");
        context.clear_kv_cache();
    }
    0
}
