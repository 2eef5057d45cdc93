//! A request that is being worked on.

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

/// What is done for a request.
pub enum RequestWork {
    /// An answer.
    Generate(Box<Generation>),
    /// Scores, and how far they are.
    Score(Scoring, ScoredPart),
}

/// What is scored.
pub enum ScoredPart {
    /// Continuations, after a prompt that has a number of tokens by itself.
    Continuations(Vec<ScoredText>, usize),
    /// One window of a text, by its number.
    Window(usize),
}

/// A request, or one window of one.
pub struct Request {
    /// The number.
    pub number: u64,
    /// The name in errors.
    pub name: String,
    /// What all its sequences begin with.
    pub prompt: Vec<LlamaToken>,
    /// The images in it, in order.
    pub images: Vec<ImageTokens>,
    /// What is done for it.
    pub work: RequestWork,
    /// The sequences; the first holds the prompt.
    pub sequences: Vec<i32>,
    /// How many of the further ones this round takes.
    pub lanes_in_use: usize,
    /// Tokens of the prompt that are in memory.
    pub computed: usize,
    /// When work on it began.
    pub started: Instant,
    /// From then to the first token of its answer.
    pub first_token: Option<Duration>,
}

impl Request {
    /// A request that waits.
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

    /// The image that has to be computed next, if one stands where the prompt is computed up to.
    pub fn next_image(&self) -> Option<&ImageTokens> {
        if self.sequences.is_empty() {
            return None;
        }
        self.images.iter().find(|image| image.start == self.computed)
    }

    /// Where its images stand.
    pub fn spans(&self) -> Vec<Range<usize>> {
        self.images.iter().map(ImageTokens::span).collect()
    }

    /// Cells that the first so many positions of its prompt take.
    pub fn cells_of(&self, positions: usize) -> usize {
        let images = self.images.iter().filter(|image| image.span().end <= positions);
        positions + further_cells(images)
    }

    /// Returns whether it is an answer.
    pub fn is_generation(&self) -> bool {
        matches!(self.work, RequestWork::Generate(_))
    }

    /// The scores, if it is about any.
    pub fn scoring(&mut self) -> Option<&mut Scoring> {
        match &mut self.work {
            RequestWork::Generate(_) => None,
            RequestWork::Score(scoring, _) => Some(scoring),
        }
    }

    /// Sequences in addition to that of the prompt.
    pub fn lanes(&self) -> usize {
        if !self.sequences.is_empty() {
            return self.sequences.len() - 1;
        }
        match &self.work {
            RequestWork::Generate(_) => 0,
            RequestWork::Score(scoring, _) => scoring.lanes(),
        }
    }

    /// Cells that it may need.
    pub fn cells(&self) -> usize {
        self.cells_of(self.prompt.len())
            + match &self.work {
                RequestWork::Generate(generation) => to_usize(generation.most_tokens),
                RequestWork::Score(scoring, _) => scoring.most_cells,
            }
    }

    /// What came of it. It is spent afterwards.
    ///
    /// # Errors
    /// When a likelihood is not a number.
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
    /// When work on its first window began.
    pub started: Option<Instant>,
    windows: Vec<Option<f64>>,
    token_count: usize,
}

impl Rolling {
    /// A text of a number of windows and tokens.
    pub fn new(windows: usize, token_count: usize) -> Rolling {
        Rolling { started: None, windows: vec![None; windows], token_count }
    }

    /// Takes a window in; the whole, or what went wrong, and how long it took, when there is nothing to wait
    /// for any more. Windows are summed in the order of the text.
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
