//! Prepares jobs: turns them into requests of tokens.

use super::generation::Generation;
use super::scoring::Scoring;
use crate::continuations::{Branch, branches, shared, windows};
use crate::sampling::Sampler;
use crate::tokenizer::Tokenizer;
use crate::vision::{ImageFacts, ImageTokens, Vision, further_cells, placed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_model_protocol::{
    DEFAULT_MAX_NEW_TOKENS, GenerateTask, JobError, JobErrorKind, Prompt, ScoredText, Settings, to_u32,
    to_usize,
};
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

/// Converter from jobs to requests.
pub struct Preparation<'m> {
    /// The model.
    pub model: &'m LlamaModel,
    /// Tokenizer.
    pub tokenizer: Tokenizer<'m>,
    /// Settings of the model.
    pub settings: Settings,
    /// True if overlong prompts lose their beginning instead of failing.
    pub truncates_prompts: bool,
    /// Projector, which turns images into tokens.
    pub vision: Option<Vision<'m>>,
}

/// A tokenized prompt, including its images.
pub struct PreparedPrompt {
    /// Tokens. An image is represented by its number, once for each position.
    pub tokens: Vec<LlamaToken>,
    /// Images, in order.
    pub images: Vec<ImageTokens>,
}

impl PreparedPrompt {
    /// Returns the number of cells that it takes.
    fn cells(&self) -> usize {
        self.tokens.len() + further_cells(&self.images)
    }

    /// Returns the position where its last image ends.
    fn last_image(&self) -> usize {
        self.images.last().map_or(0, |image| image.span().end)
    }
}

fn rejected(name: &str, reason: impl std::fmt::Display) -> JobError {
    JobError::new(JobErrorKind::Rejected, format!("request '{name}': {reason}"))
}

fn too_long(name: &str, reason: impl std::fmt::Display) -> JobError {
    JobError::new(JobErrorKind::ContextLength, format!("request '{name}': {reason}"))
}

impl Preparation<'_> {
    /// Returns the facts and the files of a prompt's images, in order.
    fn images(&mut self, name: &str, prompt: &Prompt) -> Result<(Vec<ImageFacts>, Vec<Vec<u8>>), JobError> {
        let mut found = (Vec::new(), Vec::new());
        for (number, data) in (1..).zip(&prompt.images) {
            let broken = |reason: String| rejected(name, format_args!("its image {number}: {reason}"));
            let vision =
                self.vision.as_mut().ok_or_else(|| broken("the model has no `mmproj`".to_owned()))?;
            let bytes = STANDARD
                .decode(data.trim())
                .map_err(|error| broken(format!("its data is not base64: {error}")))?;
            found.0.push(vision.image_facts(&bytes).map_err(broken)?);
            found.1.push(bytes);
        }
        Ok(found)
    }

    /// Prepares the prompt of an answer.
    pub fn generation(
        &mut self,
        name: &str,
        task: GenerateTask,
    ) -> Result<(PreparedPrompt, Generation), JobError> {
        let (facts, images) = self.images(name, &task.prompt)?;
        let mut tokens = self.tokenizer.tokens(&task.prompt, &facts, "")?;
        if tokens.is_empty() {
            tokens.push(self.tokenizer.lead.ok_or_else(|| rejected(name, "the prompt is empty"))?);
        }
        let images = placed(&tokens, facts, images);
        let mut prompt = PreparedPrompt { tokens, images };
        if prompt.last_image() >= prompt.tokens.len() {
            return Err(rejected(name, "an image is at the end of the prompt; add text after it"));
        }
        let context = self.settings.context_length;
        let asked = task.params.max_new_tokens.unwrap_or(DEFAULT_MAX_NEW_TOKENS);
        let mut left_out = 0;
        if prompt.cells() >= context {
            let is_cut = self.truncates_prompts && prompt.images.is_empty();
            if !is_cut {
                let help = match (self.truncates_prompts, prompt.images.is_empty()) {
                    (true, false) => "`on_long_prompt: truncate_left` cuts no prompt with images",
                    (_, false) => "lower `image_max_tokens`, or show smaller images",
                    _ => "set `on_long_prompt: truncate_left`",
                };
                let message = format!(
                    "the prompt has {} tokens and leaves no room for an answer in a context of {context}; raise \
                     `context_length`, or {help}",
                    prompt.cells(),
                );
                return Err(too_long(name, message));
            }
            let tokens = &mut prompt.tokens;
            // Leave room for the answer, but never more than half of the context.
            let kept = context - to_usize(asked).min(context / 2).max(1);
            left_out = tokens.len() - kept;
            // A token that every sequence begins with stays.
            let first = usize::from(tokens.first().copied() == self.tokenizer.first);
            tokens.drain(first.min(kept)..first.min(kept) + left_out);
        }
        let room = to_u32(context - prompt.cells());
        let chooser = Sampler::new(&task, self.model, &self.tokenizer, &prompt.tokens, context)
            .map_err(|error| JobError { message: format!("request '{name}': {}", error.message), ..error })?;
        let stops = task.params.stop.unwrap_or_default();
        let generation = Generation::new(chooser, stops, asked.min(room), left_out, task.logprobs.is_some());
        Ok((prompt, generation))
    }

    /// Prepares the shared prompt and its continuations. Also returns the number of tokens of the prompt alone.
    pub fn scoring(
        &mut self,
        name: &str,
        prompt: &Prompt,
        continuations: &[ScoredText],
    ) -> Result<(PreparedPrompt, Scoring, usize), JobError> {
        if continuations.is_empty() {
            return Err(rejected(name, "there are no continuations"));
        }
        let (facts, images) = self.images(name, prompt)?;
        let tokens = self.tokenizer.tokens(prompt, &facts, "")?;
        let mut wholes = Vec::with_capacity(continuations.len());
        for ScoredText { id, text, .. } in continuations {
            let whole = self.tokenizer.tokens(prompt, &facts, text)?;
            if text.is_empty() || whole.is_empty() {
                return Err(rejected(name, format_args!("the continuation '{id}' is empty")));
            }
            wholes.push(whole);
        }
        let branches = branches(&tokens, wholes, self.tokenizer.lead)
            .ok_or_else(|| rejected(name, "the prompt is empty, so no continuation can be scored"))?;
        let images = placed(&tokens, facts, images);
        let last_image = images.last().map_or(0, |image| image.span().end);
        let further = further_cells(&images);
        for (text, branch) in continuations.iter().zip(&branches) {
            if !images.is_empty() && branch.scored_from <= last_image {
                let message = format!(
                    "there is no text between the last image and the continuation '{}'; add text after the image",
                    text.id
                );
                return Err(rejected(name, message));
            }
            if branch.tokens.len() + further > self.settings.context_length {
                let message = format!(
                    "prompt and continuation '{}' have {} tokens, too many for a context of {}; raise \
                     `context_length`, or give fewer examples",
                    text.id,
                    branch.tokens.len() + further,
                    self.settings.context_length
                );
                return Err(too_long(name, message));
            }
        }
        let (tokens_in_common, scoring) = self.of_branches(branches, further);
        let prompt = PreparedPrompt { tokens: tokens_in_common, images };
        Ok((prompt, scoring, (tokens.len() + further).max(1)))
    }

    /// Prepares the windows in which a text is scored, each as a request. Also returns the number of tokens of the
    /// text.
    pub fn rolling(
        &self,
        name: &str,
        prompt: &Prompt,
    ) -> Result<(Vec<(PreparedPrompt, Scoring)>, usize), JobError> {
        let mut tokens = self.tokenizer.tokens(prompt, &[], "")?;
        if tokens.first().is_some_and(|token| Some(*token) == self.tokenizer.first) {
            tokens.remove(0);
        }
        if tokens.is_empty() {
            return Err(rejected(name, "the text is empty"));
        }
        let lead = self.tokenizer.lead.ok_or_else(|| {
            rejected(
                name,
                "the model has no token for the start of a text, so the first token cannot be scored",
            )
        })?;
        let windows = windows(&tokens, lead, self.settings.context_length);
        let of = |window| {
            let (tokens, scoring) = self.of_branches(vec![window], 0);
            (PreparedPrompt { tokens, images: Vec::new() }, scoring)
        };
        Ok((windows.into_iter().map(of).collect(), tokens.len()))
    }

    /// Returns the prefix that branches share, and the rounds in which they are scored.
    ///
    /// `further` is the number of additional cells in use.
    fn of_branches(&self, branches: Vec<Branch<LlamaToken>>, further: usize) -> (Vec<LlamaToken>, Scoring) {
        let shared = shared(&branches);
        let prompt: Vec<LlamaToken> = branches
            .first()
            .map(|branch| branch.tokens.iter().copied().take(shared).collect())
            .unwrap_or_default();
        let room = self.settings.context_length.next_multiple_of(256).saturating_sub(prompt.len() + further);
        (prompt, Scoring::new(branches, shared, room))
    }
}
