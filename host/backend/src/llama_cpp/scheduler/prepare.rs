//! From a job to tokens.

use super::generation::{DEFAULT_MAX_NEW_TOKENS, Generation};
use super::scoring::Scoring;
use crate::api::{BackendError, BackendErrorKind};
use crate::llama_cpp::continuations::{Branch, branches, shared, windows};
use crate::llama_cpp::options::{Settings, to_u32, to_usize};
use crate::llama_cpp::protocol::{GenerateTask, ScoredText};
use crate::llama_cpp::sampling::Chooser;
use crate::llama_cpp::tokenizer::{Prompt, Tokenizer};
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

/// What makes requests of jobs.
pub struct Preparation<'m> {
    /// The model.
    pub model: &'m LlamaModel,
    /// Its tokens.
    pub tokenizer: Tokenizer<'m>,
    /// How it is run.
    pub settings: Settings,
    /// Whether prompts that are too long lose their beginning rather than fail.
    pub truncates_prompts: bool,
}

fn rejected(name: &str, reason: impl std::fmt::Display) -> BackendError {
    BackendError::new(BackendErrorKind::Rejected, format!("request '{name}': {reason}"))
}

fn too_long(name: &str, reason: impl std::fmt::Display) -> BackendError {
    BackendError::new(BackendErrorKind::ContextLength, format!("request '{name}': {reason}"))
}

impl Preparation<'_> {
    /// The prompt of an answer.
    pub fn generation(
        &self,
        name: &str,
        task: GenerateTask,
    ) -> Result<(Vec<LlamaToken>, Generation), BackendError> {
        let mut tokens = self.tokenizer.tokens(&task.prompt, "")?;
        if tokens.is_empty() {
            tokens.push(self.tokenizer.lead().ok_or_else(|| rejected(name, "the prompt is empty"))?);
        }
        let context = self.settings.context_length;
        let asked = task.params.max_new_tokens.unwrap_or(DEFAULT_MAX_NEW_TOKENS);
        let mut left_out = 0;
        if tokens.len() >= context {
            if !self.truncates_prompts {
                let message = format!(
                    "the prompt has {} tokens and leaves no room for an answer in a context of {context}; raise \
                     `context_length`, or set `on_long_prompt: truncate_left`",
                    tokens.len(),
                );
                return Err(too_long(name, message));
            }
            // Room for the answer, but never more than half of all.
            let kept = context - to_usize(asked).min(context / 2).max(1);
            left_out = tokens.len() - kept;
            // A token that every sequence begins with stays.
            let first = usize::from(tokens.first().copied() == self.tokenizer.first());
            tokens.drain(first.min(kept)..first.min(kept) + left_out);
        }
        let room = to_u32(context - tokens.len());
        let chooser =
            Chooser::new(&task, self.model, &self.tokenizer, &tokens, context).map_err(|error| {
                BackendError { message: format!("request '{name}': {}", error.message), ..error }
            })?;
        let stops = task.params.stop.unwrap_or_default();
        let generation = Generation::new(chooser, stops, asked.min(room), left_out, task.logprobs.is_some());
        Ok((tokens, generation))
    }

    /// The prompt that continuations share, the continuations, and how many tokens the prompt has by itself.
    pub fn scoring(
        &self,
        name: &str,
        prompt: &Prompt,
        continuations: &[ScoredText],
    ) -> Result<(Vec<LlamaToken>, Scoring, usize), BackendError> {
        if continuations.is_empty() {
            return Err(rejected(name, "there are no continuations"));
        }
        let tokens = self.tokenizer.tokens(prompt, "")?;
        let mut wholes = Vec::with_capacity(continuations.len());
        for ScoredText { id, text, .. } in continuations {
            let whole = self.tokenizer.tokens(prompt, text)?;
            if text.is_empty() || whole.is_empty() {
                return Err(rejected(name, format_args!("the continuation '{id}' is empty")));
            }
            wholes.push(whole);
        }
        let branches = branches(&tokens, wholes, self.tokenizer.lead())
            .ok_or_else(|| rejected(name, "the prompt is empty, so that nothing can follow it"))?;
        for (text, branch) in continuations.iter().zip(&branches) {
            if branch.tokens.len() > self.settings.context_length {
                let message = format!(
                    "prompt and continuation '{}' have {} tokens, too many for a context of {}; raise \
                     `context_length`, or give fewer examples",
                    text.id,
                    branch.tokens.len(),
                    self.settings.context_length
                );
                return Err(too_long(name, message));
            }
        }
        let (prompt, scoring) = self.of_branches(branches);
        Ok((prompt, scoring, tokens.len().max(1)))
    }

    /// The windows in which a text is scored, each a request of its own, and the number of its tokens.
    pub fn rolling(
        &self,
        name: &str,
        text: &str,
    ) -> Result<(Vec<(Vec<LlamaToken>, Scoring)>, usize), BackendError> {
        let plain = Prompt { text: text.to_owned(), has_special_tokens: false, mark: None };
        let mut tokens = self.tokenizer.tokens(&plain, "")?;
        if tokens.first().is_some_and(|token| Some(*token) == self.tokenizer.first()) {
            tokens.remove(0);
        }
        if tokens.is_empty() {
            return Err(rejected(name, "the text is empty"));
        }
        let lead = self.tokenizer.lead().ok_or_else(|| {
            rejected(
                name,
                "the model has no token that stands before a text, so that its first one cannot be scored",
            )
        })?;
        let windows = windows(&tokens, lead, self.settings.context_length);
        Ok((windows.into_iter().map(|window| self.of_branches(vec![window])).collect(), tokens.len()))
    }

    fn of_branches(&self, branches: Vec<Branch<LlamaToken>>) -> (Vec<LlamaToken>, Scoring) {
        let shared = shared(&branches);
        let prompt: Vec<LlamaToken> = branches
            .first()
            .map(|branch| branch.tokens.iter().copied().take(shared).collect())
            .unwrap_or_default();
        let room = self.settings.context_length.next_multiple_of(256).saturating_sub(prompt.len());
        (prompt, Scoring::new(branches, shared, room))
    }
}
