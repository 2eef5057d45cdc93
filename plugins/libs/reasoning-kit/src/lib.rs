//! Shared parts of the reasoning plugins. They read the parts of an argument (ids, texts, steps, claims and their
//! evidence). They also find the parts that two arguments share, and the parts that a text mentions.

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

/// Returns `part` as a share of `whole`; 0 if `whole` is 0.
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
