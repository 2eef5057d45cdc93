//! Metrics on scores, probabilities and ranks: `judge_score`, `judge_threshold`, `likelihood`, `word_perplexity`,
//! `byte_perplexity`, `token_perplexity`, `bits_per_byte`, `semantic_similarity`, `ranking`, `pass_at_k`,
//! `brier` and `greedy_match`.

mod brier;
mod correctness;
mod greedy_match;
mod judge_score;
mod judge_threshold;
mod named;
mod pass_at_k;
mod perplexity;
mod probability;
mod semantic_similarity;

pub use brier::Brier;
pub use greedy_match::GreedyMatch;
pub use judge_score::JudgeScore;
pub use judge_threshold::JudgeThreshold;
pub use named::{Likelihood, Ranking};
pub use pass_at_k::PassAtK;
pub use perplexity::{Bits, Bytes, Perplexity, Tokens, Words};
pub use semantic_similarity::SemanticSimilarity;

gage_sdk::metrics!(
    name: "score",
    description: "Metrics on scores, probabilities and ranks",
    metrics: [
        JudgeScore,
        JudgeThreshold,
        Likelihood,
        Perplexity<Words>,
        Perplexity<Bytes>,
        Perplexity<Tokens>,
        Perplexity<Bits>,
        SemanticSimilarity,
        Ranking,
        PassAtK,
        Brier,
        GreedyMatch,
    ],
);
