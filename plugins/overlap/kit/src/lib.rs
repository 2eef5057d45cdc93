//! What the metrics on overlap and the aggregators that pool them share: the counts that BLEU and
//! chrF are made of, how they are kept in the detail of a score card, and the scores they give.
//!
//! Counts of single texts add up to those of a corpus; scores do not.

pub mod bleu;
pub mod chrf;
pub mod params;

pub use bleu::{BleuCounts, BleuScoring};
pub use chrf::{ChrfCounts, ChrfShape};
