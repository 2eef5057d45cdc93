//! Outcomes of samples, and their counts.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// How a sample ended. Only [`Outcome::Scored`] enters a mean.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The model answered and every metric gave a result.
    Scored,
    /// The model's answer holds nothing but white space.
    EmptyOutput,
    /// The model was cut off at its length limit.
    Truncated,
    /// The provider's content filter took the answer away.
    Refused,
    /// The backend failed, after all retries.
    BackendError,
    /// The judge's reply could not be read.
    JudgeUnparseable,
    /// A plugin reported an error, trapped, or returned something invalid.
    PluginError,
    /// A plugin used up its budget of work or of time.
    PluginTimeout,
    /// The row is not a valid Sample.
    InvalidSample,
    /// A preprocessor left the row out, or a metric had nothing to score.
    Skipped,
}

impl Outcome {
    /// Every outcome, in the order in which tables show them.
    pub const ALL: &[Outcome] = Outcome::VARIANTS;

    /// The name that configuration and reports use.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The outcome with this name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        name.parse().ok()
    }

    /// Returns whether the end was caused by the world around the sample rather than by the sample,
    /// so that a resumed run tries it again.
    pub fn is_retried_on_resume(self) -> bool {
        self == Outcome::BackendError
    }
}

/// How many samples ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts one more.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Takes one back, for a sample whose end was replaced by a later one.
    pub fn remove(&mut self, outcome: Outcome) {
        let count = &mut self.0[outcome as usize];
        *count = count.saturating_sub(1);
    }

    /// Returns how many ended this way.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Scored over total; 0 when there is nothing.
    pub fn coverage(&self) -> f64 {
        match self.total() {
            0 => 0.0,
            // Counts of samples stay far below 2^53.
            total => self.get(Outcome::Scored) as f64 / total as f64,
        }
    }

    /// The outcomes that occurred, with their counts, in the order of [`Outcome::ALL`].
    pub fn occurred(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.iter().map(|outcome| (*outcome, self.get(*outcome))).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_serde_and_come_back() {
        for outcome in Outcome::ALL.iter().copied() {
            assert_eq!(serde_json::to_value(outcome).ok(), Some(outcome.name().into()));
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
    }

    #[test]
    fn coverage_is_scored_over_all() {
        let mut counts = OutcomeCounts::default();
        assert_eq!(counts.coverage(), 0.0);
        counts.add(Outcome::Scored);
        counts.add(Outcome::BackendError);
        assert_eq!((counts.total(), counts.coverage()), (2, 0.5));
        counts.remove(Outcome::BackendError);
        assert_eq!(counts.coverage(), 1.0);
    }
}
