//! Numbers that follow from an input: where a stream is cut, which spelling is tried.

use gage_figures::random::SplitMix64;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Random numbers that depend on the input alone, so that a target needs nothing else.
pub struct InputNumbers(SplitMix64);

impl InputNumbers {
    /// Creates the numbers of an input.
    pub fn of(input: &[u8]) -> InputNumbers {
        let mut hasher = DefaultHasher::new();
        input.hash(&mut hasher);
        InputNumbers(SplitMix64::new(hasher.finish()))
    }

    /// Returns a number below a bound, or 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).unwrap_or_default()
    }

    /// Returns the parts of some bytes, cut at up to `cuts` places. Their concatenation equals the bytes.
    pub fn pieces<'b>(&mut self, bytes: &'b [u8], cuts: usize) -> Vec<&'b [u8]> {
        let count = self.below(cuts + 1);
        let mut places: Vec<usize> = (0..count).map(|_| self.below(bytes.len() + 1)).collect();
        places.push(bytes.len());
        places.sort_unstable();
        let mut begin = 0;
        let piece = |end: usize| bytes.get(std::mem::replace(&mut begin, end)..end).unwrap_or_default();
        places.into_iter().map(piece).collect()
    }
}
