//! Log-likelihoods of continuations of a prompt.

use crate::continuations::{Branch, rounds};
use crate::likelihood::{Distribution, check_logits};
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;
use std::ops::Range;

/// Maximum number of continuations of one request that are computed together.
pub const MAX_LANES: usize = 16;

/// Score of a continuation so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// True if each of its tokens is the most likely one.
    pub is_greedy: bool,
}

/// A token of a continuation that is to be computed.
#[derive(Clone, Copy, Debug)]
pub struct ScoringStep {
    /// Index of the continuation.
    pub branch: usize,
    /// Index among the request's sequences; the first holds the prompt.
    pub lane: usize,
    /// Position of the token.
    pub position: usize,
}

/// Scoring state of a request.
pub struct Scoring {
    /// Continuations of the shared prompt.
    pub branches: Vec<Branch<LlamaToken>>,
    /// Score of each so far.
    pub tallies: Vec<Tally>,
    /// Number of cells that its largest round takes in addition to the prompt's.
    pub most_cells: usize,
    /// Tokens still to be computed in this round.
    pub steps: VecDeque<ScoringStep>,
    shared: usize,
    rounds: VecDeque<Range<usize>>,
}

impl Scoring {
    /// Creates the state for continuations of a prompt of `shared` tokens.
    ///
    /// Its rounds take at most `most_cells` cells beside the prompt's.
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

    /// Returns the number of sequences that its largest round takes in addition to the prompt's.
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

    /// Begins the next round and returns the number of its lanes; `None` after the last.
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

    /// Returns the branches of a round that have tokens to compute.
    fn members(&self, round: &Range<usize>) -> impl Iterator<Item = usize> {
        round.clone().filter(|index| {
            self.branches.get(*index).is_some_and(|branch| own_tokens(branch, self.shared) > 0)
        })
    }

    /// Returns the token of a step, and whether its logits are needed.
    pub fn token(&self, step: ScoringStep) -> Option<(LlamaToken, bool)> {
        let branch = self.branches.get(step.branch)?;
        Some((*branch.tokens.get(step.position)?, step.position + 1 >= branch.scored_from))
    }

    /// Adds the logits after a token: of `branch`, or, if that is `None`, of the last token that all share.
    ///
    /// # Errors
    /// If they are not numbers.
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

/// Returns how many tokens of a branch are computed in addition to the prompt. The last one is only predicted.
fn own_tokens(branch: &Branch<LlamaToken>, shared: usize) -> usize {
    (branch.tokens.len() - 1).saturating_sub(shared)
}
