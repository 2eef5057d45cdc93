//! Verdicts of a comparison.

use serde::{Deserialize, Serialize};

/// Verdict of a gate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display, strum::IntoStaticStr,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// A loss of the margin or more is ruled out.
    Pass,
    /// The new run is worse, and a loss of the margin or more cannot be ruled out.
    Regression,
    /// Neither is shown: there are too few samples to decide.
    Inconclusive,
    /// The runs are not comparable, so no difference can be attributed to the model.
    #[strum(to_string = "INVALID")]
    Mismatch,
    /// Too few samples were scored in both runs.
    #[strum(to_string = "INVALID")]
    Incomplete,
}

impl Verdict {
    /// Returns the word for people. [`Verdict::Mismatch`] and [`Verdict::Incomplete`] share one.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Combines several verdicts into the one that counts: a mismatch invalidates all figures, a shown regression holds even
    /// if other metrics are incomplete, and a gate passes only as a whole.
    pub fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
        verdicts.into_iter().max_by_key(|verdict| match verdict {
            Verdict::Pass => 0,
            Verdict::Inconclusive => 1,
            Verdict::Incomplete => 2,
            Verdict::Regression => 3,
            Verdict::Mismatch => 4,
        })
    }

    /// Decides by the two tests: whether the new run is shown to be worse, and whether a loss of the margin is ruled out. If
    /// both hold, there is a loss, but within the margin.
    pub(super) fn of_tests(is_worse: bool, is_within_margin: bool) -> Verdict {
        match (is_worse, is_within_margin) {
            (_, true) => Verdict::Pass,
            (true, false) => Verdict::Regression,
            (false, false) => Verdict::Inconclusive,
        }
    }
}
