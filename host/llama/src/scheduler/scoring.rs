//! Log-likelihoods of what might follow a prompt.

use crate::continuations::{Branch, rounds};
use crate::likelihood::{Distribution, check_logits};
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;
use std::ops::Range;

/// Most continuations of one request that are computed together.
pub const MAX_LANES: usize = 16;

/// What was found about a continuation so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// The natural logarithm of its probability.
    pub logprob: f64,
    /// Whether each of its tokens is the most likely one.
    pub is_greedy: bool,
}

/// A token of a continuation that is to be computed.
#[derive(Clone, Copy, Debug)]
pub struct ScoringStep {
    /// Which continuation.
    pub branch: usize,
    /// In which of the request's sequences; the first holds the prompt.
    pub lane: usize,
    /// The position of the token.
    pub position: usize,
}

/// A request that is being scored.
pub struct Scoring {
    /// The continuations of the prompt that all share.
    pub branches: Vec<Branch<LlamaToken>>,
    /// What was found about each.
    pub tallies: Vec<Tally>,
    /// Cells that its largest round takes in addition to those of the prompt.
    pub most_cells: usize,
    /// The tokens that are still to be computed in this round.
    pub steps: VecDeque<ScoringStep>,
    shared: usize,
    rounds: VecDeque<Range<usize>>,
}

impl Scoring {
    /// The continuations of a prompt of so many tokens, in rounds that take so many cells beside it.
    pub fn new(branches: Vec<Branch<LlamaToken>>, shared: usize, most_cells: usize) -> Scoring {
        let own: Vec<usize> = branches.iter().map(|branch| own_tokens(branch, shared)).collect();
        let mut scoring = Scoring {
            most_cells: 0,
            tallies: vec![Tally { logprob: 0.0, is_greedy: true }; branches.len()],
            steps: VecDeque::new(),
            rounds: rounds(&own, MAX_LANES, most_cells).into(),
            shared,
            branches,
        };
        scoring.most_cells = scoring.cells();
        scoring
    }

    /// Sequences that its largest round takes in addition to that of the prompt.
    pub fn lanes(&self) -> usize {
        self.rounds.iter().map(|round| self.members(round).count()).max().unwrap_or(0)
    }

    fn cells(&self) -> usize {
        let of = |round: &Range<usize>| {
            self.members(round)
                .filter_map(|index| self.branches.get(index))
                .map(|branch| own_tokens(branch, self.shared))
                .sum()
        };
        self.rounds.iter().map(of).max().unwrap_or(0)
    }

    /// Begins the next round and gives the number of its lanes; `None` after the last.
    pub fn next_round(&mut self) -> Option<usize> {
        let round = self.rounds.pop_front()?;
        let members: Vec<usize> = self.members(&round).collect();
        for (lane, branch) in members.iter().copied().enumerate() {
            let own = self.branches.get(branch).map_or(0, |branch| own_tokens(branch, self.shared));
            let positions = self.shared..self.shared + own;
            self.steps.extend(positions.map(|position| ScoringStep { branch, lane: lane + 1, position }));
        }
        Some(members.len())
    }

    /// The branches of a round that have tokens to compute.
    fn members(&self, round: &Range<usize>) -> impl Iterator<Item = usize> {
        round.clone().filter(|index| {
            self.branches.get(*index).is_some_and(|branch| own_tokens(branch, self.shared) > 0)
        })
    }

    /// The token of a step, and whether its logits are wanted.
    pub fn token(&self, step: ScoringStep) -> Option<(LlamaToken, bool)> {
        let branch = self.branches.get(step.branch)?;
        Some((*branch.tokens.get(step.position)?, step.position + 1 >= branch.scored_from))
    }

    /// Adds the logits after a token: of a branch, or, if none is named, of the last token that
    /// all share.
    ///
    /// # Errors
    /// When they are not numbers.
    pub fn add_logits(
        &mut self,
        logits: &[f32],
        branch: Option<usize>,
        position: usize,
    ) -> Result<(), &'static str> {
        check_logits(logits)?;
        let distribution = Distribution::of(logits).ok_or("the model's logits are not numbers")?;
        for (index, (one, tally)) in self.branches.iter().zip(&mut self.tallies).enumerate() {
            if branch.is_some_and(|branch| branch != index) || position + 1 < one.scored_from {
                continue;
            }
            let token = one.tokens.get(position + 1).and_then(|token| usize::try_from(token.0).ok());
            let Some((token, logit)) = token.and_then(|token| Some((token, *logits.get(token)?))) else {
                continue;
            };
            tally.logprob += distribution.log_probability(logit);
            tally.is_greedy &= token == distribution.best;
        }
        Ok(())
    }
}

/// Tokens of a branch that have to be computed beside the prompt: the last one is only predicted.
fn own_tokens(branch: &Branch<LlamaToken>, shared: usize) -> usize {
    (branch.tokens.len() - 1).saturating_sub(shared)
}
