//! A measure: the number of a record that is compared, and the direction in which it is better.

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunSide {
    Base,
    New,
}

/// Number of a record that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) metric_id: String,
    /// Name of the sub-score; `None` for the metric's own score.
    pub(super) sub_score: Option<String>,
    /// True if `pass` is compared rather than the primary score.
    pub(super) is_pass: bool,
    pub(super) higher_is_better: bool,
}

impl Measure {
    /// Returns the improvement of the new score over the baseline; negative if it is worse.
    pub(super) fn gain(&self, base: f64, new: f64) -> f64 {
        if self.higher_is_better { new - base } else { base - new }
    }
}
