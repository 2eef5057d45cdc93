//! Aggregators: figures over many score cards that are not means.
//!
//! - `corpus_bleu` and `corpus_chrf` pool the counts that the metrics leave in the detail of their cards: the mean of
//!   scores of single texts is not the score of a corpus. `corpus_perplexity` pools likelihoods.
//! - `ece` compares stated confidence with correctness; `confusion` counts which category was mistaken for which;
//!   `krippendorff_alpha` measures the agreement of judges.
//! - `pass_at_k` and `majority_vote` are for samples that were answered several times.
//!
//! The host limits the state kept between calls, 1 MiB by default; each aggregator documents how its state grows.

mod calibration;
mod confusion;
mod corpus_bleu;
mod corpus_chrf;
mod corpus_perplexity;
mod detail;
mod ece;
#[cfg(test)]
mod fixtures;
mod krippendorff;
mod majority;
mod pass_at_k;
#[cfg(test)]
mod testing;

pub use confusion::Confusion;
pub use corpus_bleu::CorpusBleu;
pub use corpus_chrf::CorpusChrf;
pub use corpus_perplexity::CorpusPerplexity;
pub use ece::ExpectedCalibrationError;
pub use krippendorff::KrippendorffAlpha;
pub use majority::MajorityVote;
pub use pass_at_k::PassAtK;

gage_sdk::aggregators!(
    name: "aggregate",
    description: "Figures of many score cards: corpus BLEU, chrF and perplexity, calibration, repeats, agreement",
    extra: gage_sdk::json!({
        "attempts": { "pass_at_k": "k" },
        "clusters": ["corpus_perplexity"],
        "merges": [
            "corpus_bleu", "corpus_chrf", "corpus_perplexity", "ece", "confusion", "krippendorff_alpha",
        ],
        "unscored": { "corpus_perplexity": gage_score_kit::perplexity::DETAIL_KEY },
    }),
    aggregators: [
        CorpusBleu,
        CorpusChrf,
        CorpusPerplexity,
        ExpectedCalibrationError,
        PassAtK,
        MajorityVote,
        Confusion,
        KrippendorffAlpha,
    ],
);
