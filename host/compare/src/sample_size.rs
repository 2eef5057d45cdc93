//! Sample size: the number of samples with scores of 0 and 1 that decides whether a difference is a loss, or less than the
//! margin.
//!
//! The power of both exact tests is summed over their outcomes, because the normal approximation is too optimistic if few
//! samples change.

use super::binomial::{at_least, likely_probabilities};
use super::mcnemar::{self, MarginTest, range_error, signed};
use super::student_t::{normal_quantile, normal_upper_tail};

/// Number of samples beyond which the normal approximation is within half a point of the exact power.
const MAX_SUMMED_PAIRS: u64 = 100_000;

/// Maximum span of changed-sample counts for which the PASS boundary is computed for every count.
const MAX_EXACT_MARGIN_STEPS: i64 = 100;

/// Number of counts for which the boundary is computed in wider spans; it is interpolated between them.
const NODES: i64 = 32;

/// Distance from the mean, in standard deviations, beyond which counts of changed samples have a probability below 1e-5.
const REACH: f64 = 4.5;

/// Number of steps in the search of the shares of changed samples; its error is below the rounding of the answer.
const STEPS: u32 = 16;

/// Number of samples beyond which no answer is useful.
const MAX_SAMPLE_SIZE: f64 = 1e15;

/// Assumed rates at which the samples change.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeRates {
    /// The share of samples that change.
    pub(super) changed: f64,
    /// Gain of the mean; its absolute value is at most the share.
    pub(super) gain: f64,
}

/// Requirements of a gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleSizeQuestion {
    pub(super) margin: f64,
    /// The level of the test of the margin.
    pub(super) alpha: f64,
    /// The level of the test of a loss, which may be stricter.
    pub(super) adjusted: f64,
}

/// Returns the smallest number of samples above `count` at which one of the two tests decides the difference with the
/// probability `wanted`. It is within half a percent; `None` beyond 10^15.
pub(super) fn samples_needed(
    changes: ChangeRates,
    asked: SampleSizeQuestion,
    wanted: f64,
    count: u64,
) -> Option<u64> {
    let ChangeRates { changed, gain } = changes;
    let SampleSizeQuestion { margin, alpha, adjusted } = asked;
    let deviation = changed.sqrt();
    let factor = |level: f64| normal_quantile(level) + normal_quantile(1.0 - wanted);
    let square = |root: f64| root * root;
    let to_pass = (margin + gain > 0.0).then(|| {
        let level = alpha - range_error(alpha);
        // If nothing changes, the margin is ruled out once no change among that many samples would be rare.
        let least = -level.ln() / margin;
        let guess = square(factor(level) * deviation / (margin + gain)).max(least);
        least_number(guess, count, |samples| pass_power(samples, changes, asked) >= wanted)
    });
    let to_fail = (gain < 0.0).then(|| {
        // Enough changes that a single outcome is rare enough.
        let guess = square(factor(adjusted) * deviation / gain).max(-adjusted.log2() / changed);
        least_number(guess, count, |samples| loss_power(samples, changes, adjusted) >= wanted)
    });
    [to_pass.flatten(), to_fail.flatten()].into_iter().flatten().min()
}

/// Searches from a guess for the smallest sufficient number above `count`, within half a percent.
fn least_number(guess: f64, count: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let step = |number: u64| number / 8 + 1;
    if guess >= MAX_SAMPLE_SIZE {
        return None;
    }
    let mut high = (guess.ceil() as u64).max(count + 1);
    let mut low = high;
    if is_enough(high) {
        while high > count + 1 {
            low = low.saturating_sub(step(low)).max(count);
            if low == count || !is_enough(low) {
                break;
            }
            high = low;
        }
        low = low.min(high - 1);
    } else {
        while !is_enough(high) {
            low = high;
            high += step(high);
            if high as f64 >= MAX_SAMPLE_SIZE {
                return None;
            }
        }
    }
    // `low` is too few, `high` is enough.
    while high - low > (high / 200).max(1) {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Returns the probability that the exact test of a loss detects the difference.
fn loss_power(samples: u64, ChangeRates { changed, gain }: ChangeRates, alpha: f64) -> f64 {
    if samples <= MAX_SUMMED_PAIRS {
        return mcnemar::power(samples, changed, -gain, alpha);
    }
    let root = (samples as f64).sqrt();
    let border = normal_quantile(alpha) * changed.sqrt();
    normal_upper_tail((border + gain * root) / (changed - gain * gain).sqrt())
}

/// Returns the probability that the exact test of the margin lets the difference pass.
pub(super) fn pass_power(samples: u64, changes: ChangeRates, asked: SampleSizeQuestion) -> f64 {
    if changes.changed <= 0.0 && changes.gain == 0.0 {
        return f64::from(u8::from(!mcnemar::is_too_few_for_margin(samples, asked.margin, asked.alpha)));
    }
    if samples > MAX_SUMMED_PAIRS {
        pass_power_of_many(samples, changes, asked)
    } else {
        pass_power_of_few(samples, changes, asked)
    }
}

/// [`pass_power`] by the normal approximation, with the largest share of changed samples that the test considers.
fn pass_power_of_many(
    samples: u64,
    ChangeRates { changed, gain }: ChangeRates,
    asked: SampleSizeQuestion,
) -> f64 {
    let SampleSizeQuestion { margin, alpha, .. } = asked;
    let count = samples as f64;
    let error = range_error(alpha);
    let most = changed + normal_quantile(error / 2.0) * (changed * (1.0 - changed) / count).sqrt();
    let border = normal_quantile(alpha - error) * (most - margin * margin).max(0.0).sqrt();
    let beyond = border - (margin + gain) * count.sqrt();
    let deviation = (changed - gain * gain).sqrt();
    if deviation > 0.0 { normal_upper_tail(beyond / deviation) } else { f64::from(u8::from(beyond < 0.0)) }
}

/// [`pass_power`] summed over the number of samples that change, and over the number of these that become worse.
fn pass_power_of_few(
    samples: u64,
    ChangeRates { changed, gain }: ChangeRates,
    asked: SampleSizeQuestion,
) -> f64 {
    let share = changed.max(gain.abs()).min(1.0);
    if share <= 0.0 {
        return f64::from(u8::from(most_worse(samples, 0, asked, None) >= 0));
    }
    let border = PassBorder::new(samples, share, asked);
    let worse = ((share - gain) / 2.0 / share).clamp(0.0, 1.0);
    let passing = likely_probabilities(signed(samples), share).map(|(changed, chance)| {
        let below = |most: f64| 1.0 - at_least(most as i64 + 1, changed, worse);
        border.most_worse(changed).map_or(0.0, |most| {
            let (whole, part) = (most.floor(), most.fract());
            let beyond = if part > 0.0 { part * (below(whole + 1.0) - below(whole)) } else { 0.0 };
            chance * (below(whole) + beyond)
        })
    });
    passing.sum::<f64>().min(1.0)
}

/// PASS boundary: the maximum number of worse samples in a passing run, by the number of changed samples.
struct PassBorder {
    /// Numbers of changed samples, in order, each with the maximum that may be worse; −1 if even zero fails.
    nodes: Vec<(i64, i64)>,
}

impl PassBorder {
    fn new(samples: u64, share: f64, asked: SampleSizeQuestion) -> PassBorder {
        let count = signed(samples) as f64;
        let reach = REACH * (count * share * (1.0 - share)).sqrt() + 3.0;
        let first = (count * share - reach).floor().max(0.0) as i64;
        let last = (count * share + reach).ceil().min(count) as i64;
        let stride = if last - first < MAX_EXACT_MARGIN_STEPS { 1 } else { (last - first) / NODES };
        let mut nodes: Vec<(i64, i64)> = Vec::new();
        let mut changed = first;
        loop {
            let near = nodes.last().map(|(before, worse)| worse + (changed - before) / 2);
            nodes.push((changed, most_worse(samples, changed, asked, near)));
            if changed == last {
                return PassBorder { nodes };
            }
            changed = (changed + stride).min(last);
        }
    }

    /// Returns the maximum number of worse samples; `None` if even zero fails, or if that many changes are unlikely.
    /// Between the nodes it is fractional: the average position of the boundary.
    fn most_worse(&self, changed: i64) -> Option<f64> {
        let place = self.nodes.partition_point(|(node, _)| *node < changed);
        let (node, worse) = *self.nodes.get(place)?;
        if node == changed {
            return (worse >= 0).then_some(worse as f64);
        }
        let (before, fewer) = *self.nodes.get(place.checked_sub(1)?)?;
        let part = (changed - before) as f64 / (node - before) as f64;
        let most = (worse - fewer) as f64 * part + fewer as f64;
        (most >= 0.0).then_some(most.min(changed as f64))
    }
}

/// Returns the maximum number of `changed` samples that may be worse, searching from `near`; −1 if even zero fails.
fn most_worse(samples: u64, changed: i64, asked: SampleSizeQuestion, near: Option<i64>) -> i64 {
    let test = MarginTest::new(samples, changed.unsigned_abs(), asked.margin, asked.alpha);
    let passes = |worse: i64| test.p_value(changed - 2 * worse, STEPS) <= asked.alpha;
    let Some(near) = near else {
        // `low` is known to pass, `high` is not.
        let (mut low, mut high) = (-1, changed + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if passes(middle) { low = middle } else { high = middle }
        }
        return low;
    };
    let mut most = near.clamp(-1, changed);
    while most < changed && passes(most + 1) {
        most += 1;
    }
    while most >= 0 && !passes(most) {
        most -= 1;
    }
    most
}
