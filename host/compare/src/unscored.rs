//! Reasons why a sample has no score to compare.

use gage_core::Outcome;
use serde::{Serialize, Serializer};

/// Reason why a sample has nothing to compare under a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum UnscoredReason {
    /// The sample or the metric ended without a score.
    Ended(Outcome),
    /// The metric's score is `null`: the metric does not apply to the sample.
    NullScore,
    /// Under `pass_rate`, the metric does not report whether the sample passed.
    NullPass,
    /// The score card lacks the sub-score.
    NoSubScore,
    /// The sample was scored, but not by this metric.
    #[default]
    NoResult,
    /// The score is not a finite number.
    NotFinite,
    /// The score is beyond ±1e100.
    TooLarge,
}

impl UnscoredReason {
    /// Returns the name used in the JSON comparison: that of the outcome, or the reason's own.
    pub fn name(self) -> &'static str {
        match self {
            UnscoredReason::Ended(outcome) => outcome.name(),
            own => own.into(),
        }
    }

    /// Returns the reason as words for a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            UnscoredReason::Ended(outcome) => outcome.name(),
            UnscoredReason::NullScore => "with a null score",
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
