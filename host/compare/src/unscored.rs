//! Reasons why a sample has no score to compare.

use gage_core::Outcome;
use serde::{Serialize, Serializer};

/// Why a sample has nothing to compare under a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum UnscoredReason {
    /// It, or the metric, ended without a score.
    Ended(Outcome),
    /// The metric scored it with `null`: it had nothing to say.
    NullScore,
    /// Under `pass_rate`: the metric does not say whether it passed.
    NullPass,
    /// The card has no such further figure.
    NoSubScore,
    /// It was scored, and not by this metric.
    #[default]
    NoResult,
    /// The score is no finite number.
    NotFinite,
    /// The score is beyond ±1e100.
    TooLarge,
}

impl UnscoredReason {
    /// The name that the comparison as JSON uses: that of the outcome, or one of its own.
    pub fn name(self) -> &'static str {
        match self {
            UnscoredReason::Ended(outcome) => outcome.name(),
            own => own.into(),
        }
    }

    /// The same for a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            UnscoredReason::Ended(outcome) => outcome.name(),
            UnscoredReason::NullScore => "with the score null",
            UnscoredReason::NullPass => "without pass or fail",
            UnscoredReason::NoSubScore => "without this sub-score",
            UnscoredReason::NoResult => "without a result of this metric",
            UnscoredReason::NotFinite => "with a score that is not a finite number",
            UnscoredReason::TooLarge => "with a score too large to compare",
        }
    }
}

impl Serialize for UnscoredReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
