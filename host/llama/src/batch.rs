//! A batch of tokens that cannot be filled wrongly, and the memory of sequences.
//!
//! `LlamaBatch::add` writes past an array when it is given more sequences than the batch was
//! made for; [`TokenBatch`] is the only place that calls it.

use crate::runtime::internal;
use gage_model_protocol::{JobError, to_u32};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

/// Tokens that are computed in one call.
pub struct TokenBatch {
    batch: LlamaBatch<'static>,
    most_tokens: usize,
    most_rows: usize,
    /// Tokens whose logits are wanted.
    rows: usize,
    most_sequences: usize,
}

impl TokenBatch {
    /// An empty batch for `most_tokens` tokens, `most_rows` of them with logits, each of which may belong to `most_sequences`
    /// sequences.
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

    /// Takes all tokens out.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.rows = 0;
    }

    /// Returns how many tokens it holds.
    pub fn len(&self) -> usize {
        usize::try_from(self.batch.n_tokens()).unwrap_or(0)
    }

    /// Returns whether it holds no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether it holds all that it can.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most_tokens || self.rows >= self.most_rows
    }

    /// Adds a token at a position of its sequences, and gives the row under which its logits
    /// are found after the call, if they are wanted.
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

    /// Computes the tokens; an empty batch is nothing to compute.
    pub fn decode(&mut self, context: &mut LlamaContext<'_>) -> Result<(), JobError> {
        if self.is_empty() {
            return Ok(());
        }
        context.decode(&mut self.batch).map_err(|error| {
            internal(format!("llama.cpp failed to compute {} tokens: {error}", self.batch.n_tokens()))
        })
    }
}

/// Shortens a sequence to its first tokens and gives how many are left: as many as asked, or
/// none where the model's memory cannot be cut (that of recurrent models) or has lost them.
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
