//! Metrics on parsed reasoning, the type `reasoning` of the answer specification:
//! `reasoning_consistency`, `claim_evidence_overlap`, `reasoning_step_order` and `claim_verifiability`.
//!
//! They judge the form of an argument, as far as it can be computed: whether the answer occurs in its support, whether
//! evidence is expected and exists, and whether steps are in order. None of them judges whether an argument is true.

mod card;
mod consistency;
mod evidence_overlap;
mod internal_order;
mod parsed;
mod reference_order;
mod sequence;
mod step_order;
mod verifiability;

pub use consistency::ReasoningConsistency;
pub use evidence_overlap::ClaimEvidenceOverlap;
pub use step_order::ReasoningStepOrder;
pub use verifiability::ClaimVerifiability;

gage_sdk::metrics!(
    name: "reasoning",
    description: "Metrics on parsed reasoning: consistency, evidence, order of steps, verifiability",
    metrics: [ReasoningConsistency, ClaimEvidenceOverlap, ReasoningStepOrder, ClaimVerifiability],
);

#[cfg(test)]
mod properties;
