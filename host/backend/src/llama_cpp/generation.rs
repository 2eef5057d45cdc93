//! Generates answers, several at once.
//!
//! Each slot is a sequence with memory of its own. A new prompt is computed at once, in calls
//! that hold nothing else, because a slot that waits for its prompt makes every step of the
//! others cost the same for less; then one call after another takes one token of every slot.
//! (With memory of its own for each sequence llama.cpp computes only pieces of equal length
//! together, so that nothing is gained by mixing prompts and answers in one call.) A slot whose
//! answer is done takes the next request before the next step, and keeps the whole chunks of its
//! prompt for it; see [`super::prefix`].
//!
//! So what is computed for a prompt does not depend on what else is in flight. The tokens of an
//! answer do, in their last bits, through the number of sequences in a step; unless llama.cpp is
//! built and run so that they do not, greedy answers can differ between concurrencies.

use super::batch::{TokenBatch, shorten};
use super::model::keeps_prefixes;
use super::options::{Settings, to_u32, to_usize};
use super::prefix::{pieces, reusable, whole_chunks};
use super::runtime::{internal, new_context};
use super::sampling::Chooser;
use super::text::AnswerText;
use super::tokenizer::Tokenizer;
use super::worker::{GenerateJob, ReplySender};
use crate::api::{BackendError, BackendErrorKind, Reply, RequestTiming};
use gage_core::{FinishReason, ModelOutput, Usage};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Instant;

/// Longest answer where no request says otherwise, in tokens.
pub const DEFAULT_MAX_NEW_TOKENS: u32 = 256;

/// The context in which answers are generated.
pub struct Generator<'m> {
    context: LlamaContext<'m>,
    tokenizer: Tokenizer<'m>,
    batch: TokenBatch,
    slots: Vec<Slot>,
    settings: Settings,
    keeps_prefixes: bool,
}

/// One sequence.
#[derive(Default)]
struct Slot {
    /// The tokens that its memory begins with and that a later prompt may take over.
    held: Vec<LlamaToken>,
    answer: Option<Answer>,
}

/// An answer that is being generated.
struct Answer {
    id: String,
    reply: ReplySender<ModelOutput>,
    started: Instant,
    chooser: Chooser,
    text: AnswerText,
    prompt_tokens: usize,
    /// The token that was chosen last, not computed yet.
    last: LlamaToken,
    tokens: u32,
    most_tokens: u32,
}

/// A prompt that was computed.
struct Prefilled {
    slot: usize,
    tokens: Vec<LlamaToken>,
    row: i32,
}

impl<'m> Generator<'m> {
    /// Makes the context.
    pub fn new(model: &'m LlamaModel, settings: Settings) -> Result<Generator<'m>, BackendError> {
        let most_tokens = settings.chunk.max(settings.slots);
        let parameters = settings
            .context_parameters(settings.cells().saturating_mul(settings.slots), most_tokens)
            .with_n_seq_max(to_u32(settings.slots))
            .with_kv_unified(false);
        Ok(Generator {
            context: new_context(model, parameters)?,
            tokenizer: Tokenizer::new(model),
            batch: TokenBatch::new(most_tokens, 1),
            slots: (0..settings.slots).map(|_| Slot::default()).collect(),
            settings,
            keeps_prefixes: keeps_prefixes(model),
        })
    }

    /// Whether no answer is being generated.
    pub fn is_idle(&self) -> bool {
        self.slots.iter().all(|slot| slot.answer.is_none())
    }

    /// Takes requests while there are free slots.
    pub fn admit(&mut self, queue: &mut VecDeque<GenerateJob>) {
        while self.slots.iter().any(|slot| slot.answer.is_none()) {
            let Some(job) = queue.pop_front() else { return };
            if job.reply.is_closed() {
                continue;
            }
            let started = Instant::now();
            match self.prefill(&job) {
                Ok(prefilled) => self.start(job, &prefilled, started),
                Err(error) => {
                    let _ = job.reply.send(Err(error));
                }
            }
        }
    }

    /// Computes the last token of every answer and chooses the next one.
    pub fn step(&mut self) {
        self.batch.clear();
        let mut rows = Vec::with_capacity(self.slots.len());
        for (index, slot) in self.slots.iter_mut().enumerate() {
            // Nobody waits any more when the request was given up.
            drop(slot.answer.take_if(|answer| answer.reply.is_closed()));
            let Some(answer) = &slot.answer else { continue };
            match self.batch.add(answer.last, answer.position(), &[sequence(index)], true) {
                Ok(row) => rows.push((index, row)),
                Err(error) => return self.fail(&error),
            }
        }
        if let Err(error) = self.batch.decode(&mut self.context) {
            return self.fail(&error);
        }
        for (index, row) in rows {
            self.advance(index, row);
        }
    }

    /// Computes the prompt of a request in the free slot that holds most of it.
    fn prefill(&mut self, job: &GenerateJob) -> Result<Prefilled, BackendError> {
        let mut tokens = self.tokenizer.tokens(&job.prompt, "")?;
        if tokens.is_empty() {
            let lead = self.tokenizer.lead().ok_or_else(|| {
                let message = format!("request '{}': the prompt is empty", job.id);
                BackendError::new(BackendErrorKind::Rejected, message)
            })?;
            tokens.push(lead);
        }
        if tokens.len() >= self.settings.context_length {
            let message = format!(
                "request '{}': the prompt has {} tokens and leaves no room for an answer in a context of {}",
                job.id,
                tokens.len(),
                self.settings.context_length
            );
            return Err(BackendError::new(BackendErrorKind::ContextLength, message));
        }
        let chunk = self.settings.chunk;
        let free = self.slots.iter().enumerate().filter(|(_, slot)| slot.answer.is_none());
        let best = free
            .map(|(index, slot)| {
                (reusable(&slot.held, &tokens, chunk), Reverse(slot.held.len()), Reverse(index))
            })
            .max();
        let Some((reuse, _, Reverse(slot))) = best else { return Err(internal("no slot is free")) };
        let kept = shorten(&mut self.context, sequence(slot), reuse);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.held.truncate(kept);
        }
        match self.compute(slot, &tokens, kept) {
            Ok(row) => {
                if self.keeps_prefixes
                    && let Some(slot) = self.slots.get_mut(slot)
                {
                    slot.held = tokens.iter().copied().take(whole_chunks(tokens.len(), chunk)).collect();
                }
                Ok(Prefilled { slot, tokens, row })
            }
            Err(error) => {
                shorten(&mut self.context, sequence(slot), 0);
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.held.clear();
                }
                Err(error)
            }
        }
    }

    /// Computes a prompt from one of its tokens on and gives the row of the last one's logits.
    fn compute(&mut self, slot: usize, tokens: &[LlamaToken], from: usize) -> Result<i32, BackendError> {
        let mut row = 0;
        for piece in pieces(from, tokens.len(), self.settings.chunk) {
            self.batch.clear();
            for (index, token) in tokens.iter().enumerate().take(piece.end).skip(piece.start) {
                row = self.batch.add(*token, index, &[sequence(slot)], index + 1 == tokens.len())?;
            }
            self.batch.decode(&mut self.context)?;
        }
        Ok(row)
    }

    fn start(&mut self, job: GenerateJob, prefilled: &Prefilled, started: Instant) {
        let Some(slot) = self.slots.get_mut(prefilled.slot) else { return };
        let GenerateJob { id, prompt: _, params, reply } = job;
        let context_length = self.settings.context_length;
        let room = to_u32(context_length - prefilled.tokens.len());
        slot.answer = Some(Answer {
            id,
            reply,
            started,
            chooser: Chooser::new(&params, self.tokenizer.size(), &prefilled.tokens, context_length),
            text: AnswerText::new(params.stop.unwrap_or_default()),
            prompt_tokens: prefilled.tokens.len(),
            last: LlamaToken::new(0),
            tokens: 0,
            most_tokens: params.max_new_tokens.unwrap_or(DEFAULT_MAX_NEW_TOKENS).min(room),
        });
        self.advance(prefilled.slot, prefilled.row);
    }

    /// Chooses the next token of an answer, and answers the request if it was the last one.
    fn advance(&mut self, slot: usize, row: i32) {
        let Some(place) = self.slots.get_mut(slot).map(|slot| &mut slot.answer) else { return };
        let Some(answer) = place else { return };
        let done = match answer.chooser.choose(&self.context, row) {
            Some(token) => answer.push(token, &self.tokenizer).map(Ok),
            None => {
                let message = format!("request '{}': the model's logits are not numbers", answer.id);
                Some(Err(internal(message)))
            }
        };
        if let Some(done) = done
            && let Some(answer) = place.take()
        {
            answer.finish(done);
        }
    }

    /// Answers every request that is under way with an error, and begins afresh.
    fn fail(&mut self, error: &BackendError) {
        tracing::error!(%error, "generation failed");
        for slot in &mut self.slots {
            slot.held.clear();
            if let Some(answer) = slot.answer.take() {
                answer.finish(Err(error.clone()));
            }
        }
        self.batch.clear();
        self.context.clear_kv_cache();
    }
}

impl Answer {
    /// Where the last token stands in the sequence.
    fn position(&self) -> usize {
        (self.prompt_tokens + to_usize(self.tokens)).saturating_sub(1)
    }

    /// Takes a token in; `Some` when the answer ends with it.
    fn push(&mut self, token: LlamaToken, tokenizer: &Tokenizer<'_>) -> Option<FinishReason> {
        self.last = token;
        self.tokens += 1;
        if tokenizer.is_end(token) {
            return Some(FinishReason::Stop);
        }
        let mut bytes = Vec::with_capacity(32);
        tokenizer.piece(token, &mut bytes);
        if self.text.push(&bytes) {
            return Some(FinishReason::Stop);
        }
        (self.tokens >= self.most_tokens).then_some(FinishReason::Length)
    }

    fn finish(self, done: Result<FinishReason, BackendError>) {
        let reply = done.map(|reason| {
            let usage = Usage {
                prompt_tokens: u64::from(to_u32(self.prompt_tokens)),
                completion_tokens: u64::from(self.tokens),
            };
            Reply {
                output: ModelOutput::generated(self.text.finish(), reason, Some(usage)),
                timing: RequestTiming { latency: self.started.elapsed(), attempts: 1, first_token: None },
            }
        });
        // Nobody waits any more when the request was given up.
        let _ = self.reply.send(reply);
    }
}

/// The sequence of a slot.
fn sequence(slot: usize) -> i32 {
    i32::try_from(slot).unwrap_or(i32::MAX)
}
