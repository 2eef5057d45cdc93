//! Shared parts of the plugins on reasoning: how the parts of an argument are read (ids, texts, steps,
//! claims and their evidence), which of them two arguments have in common, and what a text mentions.

pub mod claims;
pub mod fragments;
pub mod ids;
pub mod mentions;
pub mod normalizer;
pub mod numbering;
pub mod steps;

pub use claims::{cited, evidence_ids, existing_ids};
pub use mentions::mentions;
pub use normalizer::Normalizer;
pub use steps::{MatchBy, MatchedSteps, Step};

/// A share of a number of things; 0 of none.
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
