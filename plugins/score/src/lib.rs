//! Metrics on scores, probabilities and ranks: `judge_threshold`, `likelihood`, `ranking`, `pass_at_k`
//! and `brier`.

mod brier;
mod correctness;
mod judge_score;
mod judge_threshold;
mod named;
mod pass_at_k;
mod probability;

pub use brier::Brier;
pub use judge_score::JudgeScore;
pub use judge_threshold::JudgeThreshold;
pub use named::{Likelihood, Ranking};
pub use pass_at_k::PassAtK;

gage_sdk::metrics!(
    name: "score",
    description: "Metrics on scores, probabilities and ranks",
    metrics: [JudgeScore, JudgeThreshold, Likelihood, Ranking, PassAtK, Brier],
);
