//! McNemar's test and the test of the margin, for paired scores that are 0 or 1.
//!
//! Of n samples `worse` were right in the baseline alone and `better` in the new run alone. The others
//! say nothing of a change.

use super::binomial::{GrowingTail, at_least, clopper_pearson, likely, likely_probabilities};

/// Most of the error that is spent on the range of the share of samples that changed.
const MAX_RANGE_ERROR: f64 = 0.001;

/// And at most this part of alpha, so that a gate of any alpha can be passed.
const RANGE_PART: f64 = 0.1;

/// How finely that range is searched.
const STEPS: u32 = 64;

/// The one-sided exact p-value of McNemar, "Note on the sampling error of the difference between
/// correlated proportions or percentages", Psychometrika 12 (1947): how likely at least so many samples
/// of those that changed became worse, if worse and better were equally likely. 1 where none changed.
pub(super) fn worse_p_value(worse: u64, better: u64) -> f64 {
    let (worse, changed) = (signed(worse), signed(worse + better));
    at_least(worse, changed, 0.5)
}

/// The part of `alpha` that is spent on the range of the share of samples that changed.
pub(super) fn range_error(alpha: f64) -> f64 {
    MAX_RANGE_ERROR.min(alpha * RANGE_PART)
}

/// The p-value against "the mean fell by the margin or more": small where that can be ruled out at the level `alpha`.
pub(super) fn margin_p_value(samples: u64, worse: u64, better: u64, margin: f64, alpha: f64) -> f64 {
    let gain = signed(better) - signed(worse);
    MarginTest::new(samples, worse + better, margin, alpha).p_value(gain, STEPS)
}

/// Returns whether so few samples say so little that no scores of 0 and 1 rule out the margin at the level
/// `alpha`: not even
/// where every sample became better.
pub(super) fn is_too_few_for_margin(samples: u64, margin: f64, alpha: f64) -> bool {
    margin_p_value(samples, 0, samples, margin, alpha) > alpha
}

/// The test of "the mean fell by the margin or more" where so many of the samples changed.
///
/// Exact. At the border the chances of becoming worse and better are `(q + margin)/2` and `(q − margin)/2`
/// for a share q of samples that change, which nobody knows; the p-value is the largest over the
/// q within an interval of Clopper and Pearson, plus what that interval may miss: 0.001, or a tenth of alpha where that
/// is less. Berger and Boos, "P Values Maximized Over a Confidence Set for the Nuisance Parameter", JASA 89 (1994). Where
/// even the upper end of the interval is less than the margin, too few samples changed for such a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarginTest {
    samples: i64,
    margin: f64,
    range_error: f64,
    /// The shares that may be the true one at the border; none where the first is greater.
    shares: (f64, f64),
}

impl MarginTest {
    pub(super) fn new(samples: u64, changed: u64, margin: f64, alpha: f64) -> MarginTest {
        let (samples, changed, range_error) = (signed(samples), signed(changed), range_error(alpha));
        let (low, high) = clopper_pearson(changed, samples, range_error);
        MarginTest { samples, margin, range_error, shares: (low.max(margin), high) }
    }

    /// The p-value where so many more samples became better than worse, by so many steps through the shares. 1 without
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

/// The probability that `better − worse` is at least `gain`, where a sample changes with the chance
/// `share`, and one that changes becomes better with the chance `better`.
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

/// Returns how likely the exact test calls a loss of `loss` at the level `alpha`, where a share `changed` of the
/// samples changes, or as many more as that loss needs. Summed over all outcomes, not approximated.
pub(super) fn power(samples: u64, changed: f64, loss: f64, alpha: f64) -> f64 {
    let samples = signed(samples);
    let share = changed.max(loss).min(1.0);
    if share <= 0.0 {
        return 0.0;
    }
    let worse = f64::midpoint(share, loss) / share;
    let start = *likely(samples, share).start();
    // The least number of samples that became worse at which the test rejects.
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

/// The smallest loss that the test calls with the chance `wanted`; `None` where it calls none so often.
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
