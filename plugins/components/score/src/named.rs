//! `likelihood` and `ranking`: the shapes of the SDK under their names.

use gage_sdk::base::{self, Describe};
use gage_sdk::metric::MetricSpec;

/// The name of [`Likelihood`].
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

/// The negative log-likelihood of an answer or a whole text, its perplexity, or its bits per byte: all of
/// [`base::Likelihood`].
pub type Likelihood = base::Likelihood<LikelihoodName>;

/// The name of [`Ranking`].
pub struct RankingName;

impl Describe for RankingName {
    fn name() -> &'static str {
        "ranking"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("2", "How high the right candidates of a ranked list stand").value_name("hit")
    }
}

/// How high the right candidates of a ranked list stand: all of [`base::Ranking`]. The primary score is
/// called `hit`.
pub type Ranking = base::Ranking<RankingName>;
