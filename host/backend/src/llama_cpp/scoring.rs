//! Log-likelihoods of continuations.
//!
//! **The figures of a request depend on nothing but the request, the model and the settings**,
//! not on what else is in flight or what was asked before. They are computed in a context of
//! their own, one request at a time, in calls that are laid out by the request alone:
//!
//! 1. The part of the prompt that all continuations share is computed in whole chunks, each in
//!    a call of its own ([`super::prefix`]). Chunks that an earlier request left in the memory
//!    are kept; they hold the same bits as if they were computed again, because they were
//!    computed in the same calls and lie in the same cells: everything behind them is removed
//!    first, and llama.cpp then fills the cells from there on.
//! 2. Its tail and the continuations follow, each continuation a sequence that shares the cells
//!    of the prompt. They are computed afresh for every request, several in a call.
//!
//! What remains in cells that are free cannot matter: it is masked, and adds exact zeros.

use super::batch::{TokenBatch, shorten};
use super::continuations::{Branch, branches, rounds, shared};
use super::likelihood::Distribution;
use super::model::keeps_prefixes;
use super::options::{Settings, to_u32};
use super::prefix::{pieces, reusable, whole_chunks};
use super::runtime::{internal, new_context};
use super::tokenizer::Tokenizer;
use super::worker::{ScoreJob, ScoredText};
use crate::api::{BackendError, BackendErrorKind, LoglikelihoodOutput};
use gage_core::{ContinuationScore, Usage};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use std::ops::Range;

/// The sequence that holds the prompt.
const PROMPT: i32 = 0;

/// Most continuations that are computed together.
const MOST_SEQUENCES: usize = 32;

/// Most memory for the logits of one call, in bytes.
const LOGITS_BYTES: usize = 128 << 20;

/// The context in which continuations are scored.
pub struct Scorer<'m> {
    context: LlamaContext<'m>,
    tokenizer: Tokenizer<'m>,
    batch: TokenBatch,
    /// The whole chunks that the memory holds.
    held: Vec<LlamaToken>,
    settings: Settings,
    most_sequences: usize,
    keeps_prefixes: bool,
}

/// What was found about a continuation so far.
#[derive(Clone, Copy)]
struct Tally {
    log_probability: f64,
    is_greedy: bool,
}

/// A row of logits that is wanted after a call.
struct Wanted {
    row: i32,
    /// The branch whose next token it predicts; `None` for the last token that all share.
    branch: Option<usize>,
    /// Where the token stands that the row belongs to.
    position: usize,
}

/// A request that is being computed.
struct Work<'a> {
    branches: &'a [Branch<LlamaToken>],
    tallies: Vec<Tally>,
    wanted: Vec<Wanted>,
}

impl<'m> Scorer<'m> {
    /// Makes the context.
    pub fn new(model: &'m LlamaModel, settings: Settings) -> Result<Scorer<'m>, BackendError> {
        let tokenizer = Tokenizer::new(model);
        let keeps_prefixes = keeps_prefixes(model);
        // A recurrent model has a state for each sequence, whether it is used or not.
        let most_sequences = if keeps_prefixes { MOST_SEQUENCES } else { settings.slots.min(MOST_SEQUENCES) };
        let row_bytes =
            usize::try_from(tokenizer.size()).unwrap_or(0).max(1).saturating_mul(size_of::<f32>());
        let most_tokens = settings.batch_size.min(LOGITS_BYTES / row_bytes).max(settings.chunk);
        let parameters = settings
            .context_parameters(settings.cells(), most_tokens)
            .with_n_seq_max(to_u32(most_sequences + 1))
            .with_kv_unified(true);
        let context = new_context(model, parameters)?;
        let most_tokens = most_tokens.min(usize::try_from(context.n_batch()).unwrap_or(most_tokens));
        Ok(Scorer {
            context,
            tokenizer,
            batch: TokenBatch::new(most_tokens, most_sequences + 1),
            held: Vec::new(),
            settings,
            most_sequences,
            keeps_prefixes,
        })
    }

    /// Scores the continuations of a request.
    ///
    /// # Errors
    /// When a continuation is empty, or too long together with the prompt; when the model fails.
    pub fn score(&mut self, job: &ScoreJob) -> Result<LoglikelihoodOutput, BackendError> {
        let (branches, prompt_tokens) = self.split(job)?;
        let tallies = self.compute(&branches).inspect_err(|_| {
            self.held.clear();
            self.batch.clear();
            self.context.clear_kv_cache();
        })?;
        let mut completion_tokens = 0;
        let mut scores = Vec::with_capacity(branches.len());
        for ((text, branch), tally) in job.continuations.iter().zip(&branches).zip(tallies) {
            if !tally.log_probability.is_finite() {
                let message =
                    format!("request '{}': the likelihood of '{}' is not a number", job.id, text.id);
                return Err(internal(message));
            }
            let token_count = to_u32(branch.tokens.len() - branch.scored_from);
            completion_tokens += u64::from(token_count);
            scores.push(ContinuationScore {
                id: text.id.clone(),
                logprob: tally.log_probability,
                token_count,
                byte_count: text.byte_count,
                is_greedy: tally.is_greedy,
            });
        }
        let usage = Usage { prompt_tokens: u64::from(to_u32(prompt_tokens)), completion_tokens };
        Ok(LoglikelihoodOutput { scores, usage: Some(usage) })
    }

    /// The tokens of every continuation behind those of the prompt, and how many the prompt has.
    fn split(&self, job: &ScoreJob) -> Result<(Vec<Branch<LlamaToken>>, usize), BackendError> {
        let rejected = |message: String| BackendError::new(BackendErrorKind::Rejected, message);
        if job.continuations.is_empty() {
            return Err(rejected(format!("request '{}' has no continuations", job.id)));
        }
        let prompt = self.tokenizer.tokens(&job.prompt, "")?;
        let mut wholes = Vec::with_capacity(job.continuations.len());
        for ScoredText { id, text, .. } in &job.continuations {
            let whole = self.tokenizer.tokens(&job.prompt, text)?;
            if text.is_empty() || whole.is_empty() {
                return Err(rejected(format!("request '{}': the continuation '{id}' is empty", job.id)));
            }
            wholes.push(whole);
        }
        let branches = branches(&prompt, wholes, self.tokenizer.lead()).ok_or_else(|| {
            rejected(format!("request '{}': the prompt is empty, so that nothing can follow it", job.id))
        })?;
        for (text, branch) in job.continuations.iter().zip(&branches) {
            if branch.tokens.len() > self.settings.context_length {
                let message = format!(
                    "request '{}': prompt and continuation '{}' have {} tokens, too many for a context of {}",
                    job.id,
                    text.id,
                    branch.tokens.len(),
                    self.settings.context_length
                );
                return Err(BackendError::new(BackendErrorKind::ContextLength, message));
            }
        }
        Ok((branches, prompt.len().max(1)))
    }

    fn compute(&mut self, branches: &[Branch<LlamaToken>]) -> Result<Vec<Tally>, BackendError> {
        let mut work = Work {
            branches,
            tallies: vec![Tally { log_probability: 0.0, is_greedy: true }; branches.len()],
            wanted: Vec::new(),
        };
        let shared = shared(branches);
        let prompt: Vec<LlamaToken> = branches
            .first()
            .map(|branch| branch.tokens.iter().copied().take(shared).collect())
            .unwrap_or_default();
        let mut tail = Some(self.compute_chunks(&prompt)?);
        self.batch.clear();
        if !self.keeps_prefixes
            && let Some(tail) = tail.take()
        {
            // A recurrent state is copied, not shared, so that the tail must be in it first.
            self.add_tail(&prompt, tail, &[PROMPT], &mut work)?;
            self.decode(&mut work)?;
        }
        // The last token of a continuation is only predicted, never computed.
        let own: Vec<usize> = branches.iter().map(|branch| branch.tokens.len() - 1 - shared).collect();
        let free = self.settings.cells().saturating_sub(prompt.len());
        for round in rounds(&own, self.most_sequences, free) {
            let members: Vec<usize> =
                round.filter(|index| own.get(*index).is_some_and(|own| *own > 0)).collect();
            let sequences: Vec<i32> = (PROMPT..).take(members.len() + 1).collect();
            for sequence in sequences.iter().skip(1) {
                self.context
                    .kv_cache_seq_cp(PROMPT, *sequence, None, None)
                    .map_err(|error| internal(format!("a sequence cannot be copied: {error}")))?;
            }
            if let Some(tail) = tail.take() {
                self.add_tail(&prompt, tail, &sequences, &mut work)?;
            }
            for (sequence, index) in sequences.iter().skip(1).zip(members) {
                self.add_branch(index, shared, *sequence, &mut work)?;
            }
            self.decode(&mut work)?;
            for sequence in sequences.iter().skip(1) {
                shorten(&mut self.context, *sequence, 0);
            }
        }
        Ok(work.tallies)
    }

    /// Computes the whole chunks of a prompt, but for those that the memory holds, and gives the
    /// range of the tail.
    fn compute_chunks(&mut self, prompt: &[LlamaToken]) -> Result<Range<usize>, BackendError> {
        let chunk = self.settings.chunk;
        let whole = whole_chunks(prompt.len(), chunk);
        let kept = shorten(&mut self.context, PROMPT, reusable(&self.held, prompt, chunk));
        self.held.truncate(kept);
        for piece in pieces(kept, whole, chunk) {
            self.batch.clear();
            for (position, token) in prompt.iter().enumerate().take(piece.end).skip(piece.start) {
                self.batch.add(*token, position, &[PROMPT], false)?;
            }
            self.batch.decode(&mut self.context)?;
            if self.keeps_prefixes {
                self.held.extend(prompt.iter().take(piece.end).skip(piece.start));
            }
        }
        Ok(whole..prompt.len())
    }

    /// Adds the tail of the prompt to the batch, for several sequences at once.
    fn add_tail(
        &mut self,
        prompt: &[LlamaToken],
        tail: Range<usize>,
        sequences: &[i32],
        work: &mut Work<'_>,
    ) -> Result<(), BackendError> {
        for (position, token) in prompt.iter().enumerate().take(tail.end).skip(tail.start) {
            let is_last = position + 1 == prompt.len();
            let row = self.batch.add(*token, position, sequences, is_last)?;
            if is_last {
                work.wanted.push(Wanted { row, branch: None, position });
            }
        }
        Ok(())
    }

    /// Adds what a branch does not share to the batch, and computes the batch when it is full.
    fn add_branch(
        &mut self,
        index: usize,
        shared: usize,
        sequence: i32,
        work: &mut Work<'_>,
    ) -> Result<(), BackendError> {
        let branches = work.branches;
        let Some(branch) = branches.get(index) else { return Ok(()) };
        for (position, token) in branch.tokens.iter().enumerate().take(branch.tokens.len() - 1).skip(shared) {
            if self.batch.is_full() {
                self.decode(work)?;
            }
            let is_wanted = position + 1 >= branch.scored_from;
            let row = self.batch.add(*token, position, &[sequence], is_wanted)?;
            if is_wanted {
                work.wanted.push(Wanted { row, branch: Some(index), position });
            }
        }
        Ok(())
    }

    /// Computes the batch, scores the tokens that its rows predict, and empties it.
    fn decode(&mut self, work: &mut Work<'_>) -> Result<(), BackendError> {
        self.batch.decode(&mut self.context)?;
        self.batch.clear();
        for wanted in std::mem::take(&mut work.wanted) {
            let logits = self.context.get_logits_ith(wanted.row);
            let distribution =
                Distribution::of(logits).ok_or_else(|| internal("the model's logits are not numbers"))?;
            for (index, (branch, tally)) in work.branches.iter().zip(&mut work.tallies).enumerate() {
                if wanted.branch.is_some_and(|wanted| wanted != index)
                    || wanted.position + 1 < branch.scored_from
                {
                    continue;
                }
                let token =
                    branch.tokens.get(wanted.position + 1).and_then(|token| usize::try_from(token.0).ok());
                let Some((token, logit)) = token.and_then(|token| Some((token, *logits.get(token)?))) else {
                    continue;
                };
                tally.log_probability += distribution.log_probability(logit);
                tally.is_greedy &= token == distribution.best;
            }
        }
        Ok(())
    }
}
