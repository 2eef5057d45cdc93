//! Sequences of a context: free ones, and those that keep prefixes of earlier prompts.

use crate::prefix_cache::common;
use llama_cpp_2::token::LlamaToken;
use std::collections::{BTreeSet, VecDeque};

/// Cached beginning of an earlier prompt, which a later one may share.
pub struct CachedPrefix {
    /// Number of the sequence.
    pub sequence: i32,
    /// Tokens that it holds.
    pub tokens: Vec<LlamaToken>,
    /// Number of cells that it takes; more than tokens if it contains images that take more cells than positions.
    pub cells: usize,
}

/// All sequences of a context.
pub struct Sequences {
    free: BTreeSet<i32>,
    held: VecDeque<CachedPrefix>,
    most_cached: usize,
    /// True once a prompt has shared a prefix with an earlier one.
    ///
    /// Until then only one prefix is held: held cells slow down all other requests, which scan them.
    are_alike: bool,
}

impl Sequences {
    /// Creates `count` sequences. Up to `most_cached` of them may hold earlier prompts.
    pub fn new(count: i32, most_cached: usize) -> Sequences {
        Sequences { free: (0..count).collect(), held: VecDeque::new(), most_cached, are_alike: false }
    }

    /// Returns the number of free sequences.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Acquires free sequences, the lowest first; `None` if there are too few.
    pub fn acquire(&mut self, count: usize) -> Option<Vec<i32>> {
        if count > self.free.len() {
            return None;
        }
        Some((0..count).filter_map(|_| self.free.pop_first()).collect())
    }

    /// Releases a sequence.
    pub fn release(&mut self, sequence: i32) {
        self.free.insert(sequence);
    }

    /// Returns an upper bound on the cells that earlier prompts hold: shared cells are counted twice.
    pub fn cached_cells(&self) -> usize {
        self.held.iter().map(|held| held.cells).sum()
    }

    /// Returns the sequence with the longest usable common prefix with a prompt, and its length.
    ///
    /// `counted` returns how much of a common prefix can be reused.
    pub fn best(&self, prompt: &[LlamaToken], counted: impl Fn(usize) -> usize) -> Option<(i32, usize)> {
        let of = |held: &CachedPrefix| counted(common(&held.tokens, prompt));
        let best = self.held.iter().map(|held| (of(held), held.sequence)).max()?;
        (best.0 > 0).then_some((best.1, best.0))
    }

    /// Removes the least recently used prefix.
    pub fn pop_oldest(&mut self) -> Option<CachedPrefix> {
        self.held.pop_front()
    }

    /// Marks a sequence as recently used.
    pub fn touch(&mut self, sequence: i32) {
        let index = self.held.iter().position(|held| held.sequence == sequence);
        let held = index.and_then(|index| self.held.remove(index));
        self.held.extend(held);
    }

    /// Records that a prompt shared a prefix with an earlier one: from now on, up to `most_cached` are held.
    pub fn expect_more(&mut self) {
        self.are_alike = true;
    }

    /// Adds a prefix and returns the evicted ones: one that is a prefix of the new one, and the oldest ones beyond the
    /// limit.
    pub fn cache(&mut self, new: CachedPrefix) -> Vec<CachedPrefix> {
        let mut dropped = Vec::new();
        if let Some(index) = self.held.iter().position(|held| new.tokens.starts_with(&held.tokens)) {
            dropped.extend(self.held.remove(index));
        }
        self.held.push_back(new);
        let most = if self.are_alike { self.most_cached } else { self.most_cached.min(1) };
        while self.held.len() > most {
            dropped.extend(self.held.pop_front());
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(numbers: &[i32]) -> Vec<LlamaToken> {
        numbers.iter().copied().map(LlamaToken::new).collect()
    }

    fn held(sequence: i32, numbers: &[i32]) -> CachedPrefix {
        CachedPrefix { sequence, tokens: tokens(numbers), cells: numbers.len() }
    }

    #[test]
    fn the_longest_beginning_is_found_and_the_oldest_goes_first() {
        let mut sequences = Sequences::new(4, 2);
        sequences.expect_more();
        assert_eq!(sequences.acquire(3), Some(vec![0, 1, 2]));
        assert_eq!(sequences.acquire(2), None);
        assert!(sequences.cache(held(0, &[1, 2, 3])).is_empty());
        assert!(sequences.cache(held(1, &[1, 2, 9, 9])).is_empty());
        assert_eq!(sequences.best(&tokens(&[1, 2, 9, 5]), |common| common), Some((1, 3)));
        assert_eq!(sequences.best(&tokens(&[1, 2, 9, 5]), |common| common / 2 * 2), Some((1, 2)));
        assert_eq!(sequences.best(&tokens(&[7]), |common| common), None);
        sequences.touch(0);
        let dropped: Vec<i32> = sequences.cache(held(2, &[5])).iter().map(|held| held.sequence).collect();
        assert_eq!(dropped, [1]);
        let dropped: Vec<i32> =
            sequences.cache(held(1, &[1, 2, 3, 4])).iter().map(|held| held.sequence).collect();
        assert_eq!(dropped, [0], "it holds no more than the new one");
        assert_eq!(sequences.cached_cells(), 5);
    }

    #[test]
    fn one_is_held_until_prompts_are_alike() {
        let mut sequences = Sequences::new(4, 2);
        assert!(sequences.cache(held(0, &[1, 2, 3])).is_empty());
        let dropped: Vec<i32> = sequences.cache(held(1, &[4])).iter().map(|held| held.sequence).collect();
        assert_eq!(dropped, [0]);
        sequences.expect_more();
        assert!(sequences.cache(held(2, &[5])).is_empty());
    }
}
