//! A bare loop over llama.cpp, which a benchmark compares the scheduler with.

use super::{AnswerTokens, OPTIONS};
use crate::batch::{TokenBatch, shorten};
use crate::likelihood::{Distribution, most_likely};
use crate::tokenizer::Tokenizer;
use gage_model_protocol::{JobError, Prompt};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;
use std::time::Instant;

/// A bare loop over llama.cpp.
pub(super) struct Bare<'m> {
    /// Context of its own, as large as the scheduler's.
    pub(super) context: LlamaContext<'m>,
    /// Tokenizer of the model.
    pub(super) tokenizer: Tokenizer<'m>,
    /// Batch for the tokens of a call.
    pub(super) batch: TokenBatch,
    /// Maximum number of tokens of a call.
    pub(super) call_tokens: usize,
}

impl Bare<'_> {
    /// Answers a set of prompts together.
    ///
    /// # Errors
    /// If llama.cpp fails.
    pub(super) fn answers(
        &mut self,
        prompts: &[String],
        answer_tokens: u32,
        deadline: Instant,
    ) -> Result<AnswerTokens, JobError> {
        let mut done = AnswerTokens { asked: 0, answered: 0, is_cut_short: false };
        let mut open: Vec<(i32, usize, LlamaToken)> = Vec::new();
        for (sequence, prompt) in (0_i32..).zip(prompts) {
            let tokens = self.tokenizer.tokens(&Prompt::plain(prompt), &[], "")?;
            if Instant::now() >= deadline {
                done.is_cut_short = true;
                break;
            }
            let row = self.prompt(sequence, &tokens)?;
            done.asked += u64::try_from(tokens.len()).unwrap_or(0);
            done.answered += 1;
            open.push((sequence, tokens.len(), best(&self.context, row)));
        }
        for _ in 1..answer_tokens {
            done.is_cut_short |= Instant::now() >= deadline;
            if done.is_cut_short {
                break;
            }
            open.retain(|(_, _, token)| !self.tokenizer.is_end(*token));
            self.batch.clear();
            let mut rows = Vec::new();
            for (sequence, position, token) in &open {
                rows.push(self.batch.add(*token, *position, &[*sequence], true)?);
            }
            self.batch.decode(&mut self.context)?;
            for ((_, position, token), row) in open.iter_mut().zip(rows) {
                *position += 1;
                *token = best(&self.context, row);
                done.answered += 1;
            }
        }
        for (sequence, _) in (0_i32..).zip(prompts) {
            shorten(&mut self.context, sequence, 0);
        }
        Ok(done)
    }

    /// Scores each option, computing the whole prompt again for each. Returns the number of questions done, in parts of
    /// their options.
    ///
    /// # Errors
    /// If llama.cpp fails.
    pub(super) fn choices(&mut self, questions: &[String], deadline: Instant) -> Result<f64, JobError> {
        let mut options = 0_usize;
        for question in questions {
            let prompt = self.tokenizer.tokens(&Prompt::plain(question), &[], "")?.len();
            for option in OPTIONS {
                if Instant::now() >= deadline {
                    return Ok(options as f64 / OPTIONS.len() as f64);
                }
                let tokens = self.tokenizer.tokens(&Prompt::plain(question), &[], option)?;
                let mut sum = 0.0;
                for (piece, begin) in tokens.chunks(self.call_tokens).zip((0..).step_by(self.call_tokens)) {
                    self.batch.clear();
                    let mut rows = Vec::new();
                    for (position, token) in (begin..).zip(piece) {
                        let next = tokens.get(position + 1).filter(|_| position + 1 >= prompt);
                        let row = self.batch.add(*token, position, &[0], next.is_some())?;
                        rows.extend(next.map(|next| (row, *next)));
                    }
                    self.batch.decode(&mut self.context)?;
                    for (row, next) in rows {
                        let logits = self.context.get_logits_ith(row);
                        let logit = usize::try_from(next.0).ok().and_then(|next| logits.get(next));
                        if let (Some(distribution), Some(logit)) = (Distribution::of(logits), logit) {
                            sum += distribution.log_probability(*logit);
                        }
                    }
                }
                std::hint::black_box(sum);
                shorten(&mut self.context, 0, 0);
                options += 1;
            }
        }
        Ok(options as f64 / OPTIONS.len() as f64)
    }

    /// Computes a prompt and returns the row of its last token.
    fn prompt(&mut self, sequence: i32, tokens: &[LlamaToken]) -> Result<i32, JobError> {
        let mut row = 0;
        for (piece, begin) in tokens.chunks(self.call_tokens).zip((0..).step_by(self.call_tokens)) {
            self.batch.clear();
            for (position, token) in (begin..).zip(piece) {
                row = self.batch.add(*token, position, &[sequence], position + 1 == tokens.len())?;
            }
            self.batch.decode(&mut self.context)?;
        }
        Ok(row)
    }
}

fn best(context: &LlamaContext<'_>, row: i32) -> LlamaToken {
    let best = most_likely(context.get_logits_ith(row)).and_then(|token| i32::try_from(token).ok());
    LlamaToken::new(best.unwrap_or(0))
}
