//! `likelihood` and `ranking`: the SDK's metrics under their names.

use gage_sdk::base::{self, Describe};
use gage_sdk::metric::MetricSpec;

/// Name of [`Likelihood`].
pub struct LikelihoodName;

impl Describe for LikelihoodName {
    fn name() -> &'static str {
        "likelihood"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new(
            "2",
            "Negative log-likelihood, perplexity or bits per byte of an answer or a whole text",
        )
    }
}

/// Negative log-likelihood of an answer or a whole text, its perplexity, or its bits per byte. All behaviour comes from
/// [`base::Likelihood`].
pub type Likelihood = base::Likelihood<LikelihoodName>;

/// Name of [`Ranking`].
pub struct RankingName;

impl Describe for RankingName {
    fn name() -> &'static str {
        "ranking"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("2", "Positions of the correct candidates in a ranked list").value_name("hit")
    }
}

/// Rank of the right candidates in a ranked list. All behaviour comes from [`base::Ranking`]. The primary score is
/// called `hit`.
pub type Ranking = base::Ranking<RankingName>;
