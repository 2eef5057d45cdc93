//! Shared parts of the metrics on overlap and the aggregators: words, n-grams, longest common subsequences, the
//! shares of ROUGE and of F1 over words; the
//! counts that BLEU and chrF are made of, how they are kept in the detail of a score card, and the
//! scores they give.
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
