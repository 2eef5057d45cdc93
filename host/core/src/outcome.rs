//! Outcomes of samples, and their counts.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// Outcome of a sample. Only [`Outcome::Scored`] contributes to a mean.
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
    /// The provider's content filter removed the answer.
    Refused,
    /// The backend failed, after all retries.
    BackendError,
    /// The judge's reply could not be read.
    JudgeUnparseable,
    /// A plugin reported an error, trapped, or returned something invalid.
    PluginError,
    /// A plugin exhausted its budget of work or time.
    PluginTimeout,
    /// The row is not a valid Sample.
    InvalidSample,
    /// A preprocessor skipped the row, or a metric had nothing to score.
    Skipped,
    /// The row has no reference that the metric could compare the answer with.
    MissingReference,
}

impl Outcome {
    /// All outcomes, in the order in which tables show them.
    pub const ALL: &[Outcome] = Outcome::VARIANTS;

    /// Returns the name used in configuration and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the outcome with this name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        name.parse().ok()
    }

    /// Returns whether the outcome was caused by the environment rather than the sample, so that a resumed
    /// run retries it.
    pub fn is_retried_on_resume(self) -> bool {
        self == Outcome::BackendError
    }
}

/// Number of samples with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts one more sample.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Removes one sample, whose outcome was replaced by a later one.
    pub fn remove(&mut self, outcome: Outcome) {
        let count = &mut self.0[outcome as usize];
        *count = count.saturating_sub(1);
    }

    /// Returns the number of samples with this outcome.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// Returns the total number of samples.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns scored over total; 0 if there are no samples.
    pub fn coverage(&self) -> f64 {
        match self.total() {
            0 => 0.0,
            // Counts of samples are far below 2^53.
            total => self.get(Outcome::Scored) as f64 / total as f64,
        }
    }

    /// Returns the outcomes that occurred, with their counts, in the order of [`Outcome::ALL`].
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
