//! State of a request that is being worked on.

use super::generation::Generation;
use super::prepare::PreparedPrompt;
use super::scoring::Scoring;
use crate::runtime::internal;
use crate::vision::{ImageTokens, further_cells};
use gage_core::{ContinuationScore, FinishReason, Usage};
use gage_model_protocol::{Answer, JobError, ScoredText, to_u32, to_usize};
use llama_cpp_2::token::LlamaToken;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Work of a request.
pub enum RequestWork {
    /// Generates an answer.
    Generate(Box<Generation>),
    /// Scores texts, and tracks progress.
    Score(Scoring, ScoredPart),
}

/// Part that is scored.
pub enum ScoredPart {
    /// Continuations, and the number of tokens of the prompt alone.
    Continuations(Vec<ScoredText>, usize),
    /// One window of a text, by its number.
    Window(usize),
}

/// A request, or one window of one.
pub struct Request {
    /// Number of the request.
    pub number: u64,
    /// Name in errors.
    pub name: String,
    /// Tokens that all its sequences begin with.
    pub prompt: Vec<LlamaToken>,
    /// Images in the prompt, in order.
    pub images: Vec<ImageTokens>,
    /// Work to do.
    pub work: RequestWork,
    /// Sequences; the first holds the prompt.
    pub sequences: Vec<i32>,
    /// Number of additional sequences that this round uses.
    pub lanes_in_use: usize,
    /// Number of prompt tokens in memory.
    pub computed: usize,
    /// Time when work on it began.
    pub started: Instant,
    /// Time from the start to the first token of its answer.
    pub first_token: Option<Duration>,
}

impl Request {
    /// Creates a waiting request.
    pub fn new(number: u64, name: &str, prompt: PreparedPrompt, work: RequestWork) -> Request {
        let PreparedPrompt { tokens, images } = prompt;
        Request {
            number,
            name: name.to_owned(),
            prompt: tokens,
            images,
            work,
            sequences: Vec::new(),
            lanes_in_use: 0,
            computed: 0,
            started: Instant::now(),
            first_token: None,
        }
    }

    /// Starts work on it, with `computed` tokens of its prompt in memory.
    pub fn start(&mut self, sequences: Vec<i32>, computed: usize) {
        self.sequences = sequences;
        self.computed = computed;
        self.started = Instant::now();
    }

    /// Returns the image to compute next, if the prompt has been computed up to one.
    pub fn next_image(&self) -> Option<&ImageTokens> {
        if self.sequences.is_empty() {
            return None;
        }
        self.images.iter().find(|image| image.start == self.computed)
    }

    /// Returns the spans of its images.
    pub fn spans(&self) -> Vec<Range<usize>> {
        self.images.iter().map(ImageTokens::span).collect()
    }

    /// Returns the number of cells that the first `positions` positions of its prompt take.
    pub fn cells_of(&self, positions: usize) -> usize {
        let images = self.images.iter().filter(|image| image.span().end <= positions);
        positions + further_cells(images)
    }

    /// Returns true if it generates an answer.
    pub fn is_generation(&self) -> bool {
        matches!(self.work, RequestWork::Generate(_))
    }

    /// Returns the scoring state, if it scores anything.
    pub fn scoring(&mut self) -> Option<&mut Scoring> {
        match &mut self.work {
            RequestWork::Generate(_) => None,
            RequestWork::Score(scoring, _) => Some(scoring),
        }
    }

    /// Returns the number of sequences in addition to the prompt's.
    pub fn lanes(&self) -> usize {
        if !self.sequences.is_empty() {
            return self.sequences.len() - 1;
        }
        match &self.work {
            RequestWork::Generate(_) => 0,
            RequestWork::Score(scoring, _) => scoring.lanes(),
        }
    }

    /// Returns the number of cells that it may need.
    pub fn cells(&self) -> usize {
        self.cells_of(self.prompt.len())
            + match &self.work {
                RequestWork::Generate(generation) => to_usize(generation.most_tokens),
                RequestWork::Score(scoring, _) => scoring.most_cells,
            }
    }

    /// Returns the result. The request is consumed afterwards.
    ///
    /// # Errors
    /// If a likelihood is not a number.
    pub fn finish(&mut self, reason: FinishReason) -> Result<Answer, JobError> {
        let prompt_length = self.cells_of(self.prompt.len());
        let spent = RequestWork::Score(Scoring::new(Vec::new(), 0, 0), ScoredPart::Window(0));
        match std::mem::replace(&mut self.work, spent) {
            RequestWork::Generate(generation) => {
                Ok(Answer::Generated(generation.finish(reason, prompt_length)))
            }
            RequestWork::Score(scoring, ScoredPart::Continuations(texts, prompt_tokens)) => {
                score(&self.name, &scoring, texts, prompt_tokens)
            }
            RequestWork::Score(scoring, ScoredPart::Window(_)) => {
                let logprob = scoring.tallies.iter().map(|tally| tally.logprob).sum();
                Ok(Answer::Rolled { logprob, token_count: 0 })
            }
        }
    }
}

fn score(
    name: &str,
    scoring: &Scoring,
    texts: Vec<ScoredText>,
    prompt_tokens: usize,
) -> Result<Answer, JobError> {
    let mut completion_tokens = 0;
    let mut scores = Vec::with_capacity(texts.len());
    for ((text, branch), tally) in texts.into_iter().zip(&scoring.branches).zip(&scoring.tallies) {
        if !tally.logprob.is_finite() {
            let message = format!("request '{name}': the likelihood of '{}' is not a number", text.id);
            return Err(internal(message));
        }
        let token_count = to_u32(branch.tokens.len() - branch.scored_from);
        completion_tokens += u64::from(token_count);
        scores.push(ContinuationScore {
            id: text.id,
            logprob: tally.logprob,
            unconditioned_logprob: None,
            character_count: None,
            token_count,
            byte_count: text.byte_count,
            is_greedy: tally.is_greedy,
        });
    }
    let usage = Usage { prompt_tokens: u64::from(to_u32(prompt_tokens)), completion_tokens };
    Ok(Answer::Scored { scores, usage })
}

/// A text that is scored in windows.
pub struct Rolling {
    /// Time when work on its first window began.
    pub started: Option<Instant>,
    windows: Vec<Option<f64>>,
    token_count: usize,
}

impl Rolling {
    /// Creates the state of a text with a number of windows and tokens.
    pub fn new(windows: usize, token_count: usize) -> Rolling {
        Rolling { started: None, windows: vec![None; windows], token_count }
    }

    /// Adds the result of a window.
    ///
    /// When no window is left to wait for, returns the total (or the error) and the time taken. Windows are summed in
    /// the order of the text.
    pub fn add_window(
        &mut self,
        window: usize,
        logprob: Result<f64, JobError>,
    ) -> Option<(Result<Answer, JobError>, Duration)> {
        let latency = self.started.map(|started| started.elapsed()).unwrap_or_default();
        let logprob = match logprob {
            Ok(logprob) => logprob,
            Err(error) => return Some((Err(error), latency)),
        };
        if let Some(place) = self.windows.get_mut(window) {
            *place = Some(logprob);
        }
        let all: Option<Vec<f64>> = self.windows.iter().copied().collect();
        let logprob: f64 = all?.iter().sum();
        let answer = if logprob.is_finite() {
            Ok(Answer::Rolled { logprob, token_count: u64::from(to_u32(self.token_count)) })
        } else {
            Err(internal("the likelihood of the text is not a number"))
        };
        Some((answer, latency))
    }
}
