//! Verdicts of a comparison.

use serde::{Deserialize, Serialize};

/// The answer of a gate.
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
    /// Neither is shown: there are not enough samples to tell.
    Inconclusive,
    /// The runs are not of the same thing, so that no difference can be laid to the model.
    #[strum(to_string = "INVALID")]
    Mismatch,
    /// Too few samples were scored in both runs.
    #[strum(to_string = "INVALID")]
    Incomplete,
}

impl Verdict {
    /// The word for people. Both reasons for which nothing can be said have the same one.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The one that counts of several: a mismatch spoils all figures; a regression that is shown
    /// stands, whatever is missing elsewhere; and a gate passes only as a whole.
    pub fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
        verdicts.into_iter().max_by_key(|verdict| match verdict {
            Verdict::Pass => 0,
            Verdict::Inconclusive => 1,
            Verdict::Incomplete => 2,
            Verdict::Regression => 3,
            Verdict::Mismatch => 4,
        })
    }

    /// The decision by the two tests: whether the new run is shown to be worse, and whether a loss of the
    /// margin is ruled out. A loss that is both shown and ruled out to be large is within the margin.
    pub(super) fn of_tests(is_worse: bool, is_within_margin: bool) -> Verdict {
        match (is_worse, is_within_margin) {
            (_, true) => Verdict::Pass,
            (true, false) => Verdict::Regression,
            (false, false) => Verdict::Inconclusive,
        }
    }
}
