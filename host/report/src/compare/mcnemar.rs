//! Tests of paired scores that are 0 or 1.
//!
//! Of n samples `worse` were right in the baseline alone and `better` in the new run alone. The others
//! say nothing of a change.

use super::binomial::{GrowingTail, at_least, clopper_pearson, likely, probability};

/// Part of the error that is spent on the range of the share of samples that changed.
const RANGE_ERROR: f64 = 0.001;

/// How finely that range is searched.
const STEPS: u32 = 64;

/// The one-sided exact p-value of McNemar, "Note on the sampling error of the difference between
/// correlated proportions or percentages", Psychometrika 12 (1947): how likely at least so many samples
/// of those that changed became worse, if worse and better were equally likely. 1 where none changed.
pub(super) fn worse_p_value(worse: u64, better: u64) -> f64 {
    let (worse, changed) = (signed(worse), signed(worse + better));
    at_least(worse, changed, 0.5)
}

/// The p-value against "the mean fell by the margin or more": small where that can be ruled out.
///
/// Exact. At the border the chances of becoming worse and better are `(q + margin)/2` and `(q − margin)/2`
/// for a share q of samples that change, which nobody knows; the p-value is the largest over the
/// q within the 99.9 % interval of Clopper and Pearson, plus 0.001 for q outside of it. Berger and Boos,
/// "P Values Maximized Over a Confidence Set for the Nuisance Parameter", JASA 89 (1994). Where even the
/// upper end of the interval is less than the margin, too few samples changed for such a loss.
pub(super) fn margin_p_value(samples: u64, worse: u64, better: u64, margin: f64) -> f64 {
    let (samples, changed) = (signed(samples), signed(worse + better));
    if samples == 0 {
        return 1.0;
    }
    let gain = signed(better) - signed(worse);
    let (low, high) = clopper_pearson(changed, samples, RANGE_ERROR);
    let low = low.max(margin);
    if low > high {
        return RANGE_ERROR;
    }
    let largest = (0..=STEPS)
        .map(|step| low + (high - low) * f64::from(step) / f64::from(STEPS))
        .map(|share| gain_tail(samples, gain, share, (share - margin) / 2.0 / share))
        .fold(0.0, f64::max);
    (largest + RANGE_ERROR).min(1.0)
}

/// The probability that `better − worse` is at least `gain`, where a sample changes with the chance
/// `share`, and one that changes becomes better with the chance `better`.
fn gain_tail(samples: i64, gain: i64, share: f64, better: f64) -> f64 {
    let range = likely(samples, share);
    let wanted = |changed: i64| (changed + gain + 1).div_euclid(2);
    let mut tail = GrowingTail::new(wanted(*range.start()), *range.start(), better);
    let mut sum = 0.0;
    for changed in range {
        while tail.successes() < wanted(changed) {
            tail.ask_more();
        }
        sum += probability(changed, samples, share) * tail.value();
        tail.add_trial();
    }
    sum.min(1.0)
}

/// How likely the exact test calls a loss of `loss` at the level `alpha`, where a share `changed` of the
/// samples changes, or as many more as that loss needs. Summed over all outcomes, not approximated.
pub(super) fn power(samples: u64, changed: f64, loss: f64, alpha: f64) -> f64 {
    let samples = signed(samples);
    let share = changed.max(loss).min(1.0);
    if share <= 0.0 {
        return 0.0;
    }
    let worse = f64::midpoint(share, loss) / share;
    let range = likely(samples, share);
    let start = *range.start();
    // The least number of samples that became worse at which the test rejects.
    let mut critical = start / 2;
    let mut null = GrowingTail::new(critical, start, 0.5);
    while null.value() > alpha {
        null.ask_more();
    }
    critical = null.successes();
    let mut found = GrowingTail::new(critical, start, worse);
    let mut sum = 0.0;
    for changed in range {
        while null.value() > alpha {
            null.ask_more();
            found.ask_more();
        }
        sum += probability(changed, samples, share) * found.value();
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

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
