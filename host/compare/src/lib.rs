//! Comparisons of two runs: which samples changed, whether the new run is worse, and whether a gate lets it pass.
//!
//! - **Samples are compared with themselves**: partners have the same task, id and content. Samples without a partner are
//!   counted by cause.
//! - **Two questions, two tests.** "Is it worse?" and "can a loss of the margin be ruled out?" are answered by exact tests
//!   for scores of 0 and 1, otherwise by Student's. Each is wrong with a probability of at most alpha, and both cannot be
//!   wrong at once.
//!
//! The procedure, with its sources, is in `docs/concepts/gate-statistics.md`.

mod analysis;
mod baseline_comparisons;
mod binomial;
mod calibration;
mod collecting;
mod corpus_difference;
mod error;
#[cfg(any(test, feature = "simulation"))]
pub mod error_rates;
mod format;
mod gate_changes;
mod gating;
mod holm;
mod identity;
mod judge_correction;
mod mcnemar;
mod measure;
mod minimum_detectable_effect;
mod naming;
mod noninferiority;
mod paired_scores;
mod pairing;
mod plan;
mod power;
mod reading;
mod reason;
mod render;
mod result;
mod sample_size;
mod score_units;
mod student_t;
mod tags;
mod unscored;
mod verdict;
mod warnings;

pub use analysis::{CompareOptions, compare};
pub use baseline_comparisons::comparisons_with_first;
pub use calibration::{
    Calibration, ConfusionCounts, Estimate, JudgedAnswer, OrderChoice, PositionBias, calibrate,
};
pub use error::CompareError;
pub use identity::{Difference, IdentityPart};
pub use judge_correction::{CorrectedRates, JudgedCounts, correct_other, correct_own};
pub use minimum_detectable_effect::smallest_visible_loss;
pub use naming::run_label;
pub use plan::gate_of;
pub use power::{GateAssumptions, GatePower, LeastSamples, least_samples};
pub use reading::ContentBy;
pub use render::{github_annotations, junit_xml, markdown, render_comparison};
pub use result::{
    ComparedRun, Comparison, ComparisonWarning, Flip, GateChange, GateNote, MetricComparison, NotCompared,
    Overall, SliceDrift, TagDrift, TaskPairing, TestNote,
};
pub use unscored::UnscoredReason;
pub use verdict::Verdict;

#[cfg(test)]
mod tests;
