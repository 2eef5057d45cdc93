//! Shared parts of the overlap metrics and the aggregators: words, n-grams, longest common subsequences, and the shares
//! of ROUGE and of F1 over words. Also the counts of BLEU and chrF, their form in the detail of a score card, and the
//! resulting scores.
//!
//! Counts of single texts add up to those of a corpus; scores do not.

pub mod bleu;
pub mod chrf;
mod lcs;
pub mod ngrams;
pub mod porter;
pub mod rouge;
pub mod share;
pub mod tokens;
pub mod vocabulary;

pub use bleu::{BleuCounts, BleuScoring};
pub use chrf::{ChrfCounts, ChrfShape};
