//! McNemar's test and the margin test, for paired scores that are 0 or 1.
//!
//! Of n samples, `worse` were right only in the baseline and `better` only in the new run. The others
//! carry no information about a change.

use super::binomial::{GrowingTail, at_least, clopper_pearson, likely, likely_probabilities};

/// Maximum error spent on the interval for the share of samples that changed.
const MAX_RANGE_ERROR: f64 = 0.001;

/// Maximum of that error as a fraction of alpha, so that a gate with any alpha can be passed.
const RANGE_PART: f64 = 0.1;

/// Number of steps in the search of that interval.
const STEPS: u32 = 64;

/// Returns the one-sided exact p-value of McNemar's test; 1 if no sample changed.
///
/// It is the probability that at least `worse` of the changed samples became worse, if worse and better were equally likely.
/// McNemar, "Note on the sampling error of the difference between correlated proportions or percentages", Psychometrika 12
/// (1947).
pub(super) fn worse_p_value(worse: u64, better: u64) -> f64 {
    let (worse, changed) = (signed(worse), signed(worse + better));
    at_least(worse, changed, 0.5)
}

/// Returns the part of `alpha` that is spent on the interval for the share of samples that changed.
pub(super) fn range_error(alpha: f64) -> f64 {
    MAX_RANGE_ERROR.min(alpha * RANGE_PART)
}

/// Returns the p-value against "the mean fell by the margin or more"; if small, that can be ruled out at the level `alpha`.
pub(super) fn margin_p_value(samples: u64, worse: u64, better: u64, margin: f64, alpha: f64) -> f64 {
    let gain = signed(better) - signed(worse);
    MarginTest::new(samples, worse + better, margin, alpha).p_value(gain, STEPS)
}

/// Returns whether there are too few samples to rule out the margin at the level `alpha`, even if none changes.
pub(super) fn is_too_few_for_margin(samples: u64, margin: f64, alpha: f64) -> bool {
    margin_p_value(samples, 0, 0, margin, alpha) > alpha
}

/// Exact test of "the mean fell by the margin or more", given the number of samples that changed.
///
/// At the boundary, the probabilities of becoming worse and better are `(q + margin)/2` and `(q − margin)/2`, for an unknown
/// share q of samples that change. The p-value is the maximum over the q in a Clopper-Pearson interval, plus the error of
/// that interval: 0.001, or a tenth of alpha if that is less. The method is that of Berger and Boos, "P Values Maximized
/// Over a Confidence Set for the Nuisance Parameter", JASA 89 (1994). If even the upper end of the interval is below the
/// margin, too few samples changed for such a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarginTest {
    samples: i64,
    margin: f64,
    range_error: f64,
    /// Interval of possible true shares at the boundary; empty if the first is greater.
    shares: (f64, f64),
}

impl MarginTest {
    pub(super) fn new(samples: u64, changed: u64, margin: f64, alpha: f64) -> MarginTest {
        let (samples, changed, range_error) = (signed(samples), signed(changed), range_error(alpha));
        let (low, high) = clopper_pearson(changed, samples, range_error);
        MarginTest { samples, margin, range_error, shares: (low.max(margin), high) }
    }

    /// Returns the p-value if `gain` more samples became better than worse, searching the shares in `steps` steps. 1 without
    /// samples.
    pub(super) fn p_value(&self, gain: i64, steps: u32) -> f64 {
        let (low, high) = self.shares;
        if self.samples == 0 {
            return 1.0;
        }
        if low > high {
            return self.range_error;
        }
        let largest = (0..=steps)
            .map(|step| low + (high - low) * f64::from(step) / f64::from(steps))
            .map(|share| gain_tail(self.samples, gain, share, (share - self.margin) / 2.0 / share))
            .fold(0.0, f64::max);
        (largest + self.range_error).min(1.0)
    }
}

/// Probability that `better − worse` is at least `gain`. A sample changes with the probability `share`; a changed one
/// becomes better with the probability `better`.
fn gain_tail(samples: i64, gain: i64, share: f64, better: f64) -> f64 {
    let wanted = |changed: i64| (changed + gain + 1).div_euclid(2);
    let start = *likely(samples, share).start();
    let mut tail = GrowingTail::new(wanted(start), start, better);
    let mut sum = 0.0;
    for (changed, chance) in likely_probabilities(samples, share) {
        while tail.successes() < wanted(changed) {
            tail.ask_more();
        }
        sum += chance * tail.value();
        tail.add_trial();
    }
    sum.min(1.0)
}

/// Returns the power of the exact test against a loss of `loss` at the level `alpha`.
///
/// A share `changed` of the samples changes, or more if the loss requires it. The power is summed over all outcomes, not
/// approximated.
pub(super) fn power(samples: u64, changed: f64, loss: f64, alpha: f64) -> f64 {
    let samples = signed(samples);
    let share = changed.max(loss).min(1.0);
    if share <= 0.0 {
        return 0.0;
    }
    let worse = f64::midpoint(share, loss) / share;
    let start = *likely(samples, share).start();
    // The smallest number of worse samples at which the test rejects.
    let mut critical = start / 2;
    let mut null = GrowingTail::new(critical, start, 0.5);
    while null.value() > alpha {
        null.ask_more();
    }
    critical = null.successes();
    let mut found = GrowingTail::new(critical, start, worse);
    let mut sum = 0.0;
    for (_, chance) in likely_probabilities(samples, share) {
        while null.value() > alpha {
            null.ask_more();
            found.ask_more();
        }
        sum += chance * found.value();
        null.add_trial();
        found.add_trial();
    }
    sum.min(1.0)
}

/// Returns the smallest loss that the test detects with the probability `wanted`; `None` if there is none.
pub(super) fn smallest_visible(samples: u64, changed: f64, alpha: f64, wanted: f64) -> Option<f64> {
    let is_seen = |loss: f64| power(samples, changed, loss, alpha) >= wanted;
    if !is_seen(1.0) {
        return None;
    }
    // Twenty halvings are a millionth of the scale.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if is_seen(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
