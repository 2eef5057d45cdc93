//! A measure: which number of a record is compared, and in which direction it is better.

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunSide {
    Base,
    New,
}

/// Which of a record's numbers is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) metric_id: String,
    /// A further figure; none for what the metric is about.
    pub(super) sub_score: Option<String>,
    /// Whether `pass` counts rather than the primary score.
    pub(super) is_pass: bool,
    pub(super) higher_is_better: bool,
}

impl Measure {
    /// Returns how much better the new score is.
    pub(super) fn gain(&self, base: f64, new: f64) -> f64 {
        if self.higher_is_better { new - base } else { base - new }
    }
}
