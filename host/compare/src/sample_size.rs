//! Sample size: how many samples with scores of 0 and 1 show whether a difference is a loss, or less than the margin.
//!
//! The power of both exact tests is summed over their outcomes, since the normal approximation promises too
//! much of few samples that change.

use super::binomial::{at_least, likely_probabilities};
use super::mcnemar::{self, MarginTest, range_error, signed};
use super::noninferiority::{normal_quantile, normal_upper_tail};

/// Beyond so many samples the normal approximation is within half a point of the exact power.
const MAX_SUMMED_PAIRS: u64 = 100_000;

/// For up to so many numbers of changed samples the border of PASS is computed for each.
const MAX_EXACT_MARGIN_STEPS: i64 = 100;

/// For more it is computed for so many of them, and interpolated between these.
const NODES: i64 = 32;

/// Numbers of changed samples that are farther from the mean, in standard deviations, have a chance below 1e-5.
const REACH: f64 = 4.5;

/// How finely the shares of changed samples are searched, which decides less than the rounding of the answer.
const STEPS: u32 = 16;

/// Beyond it nobody will ask so many samples.
const MAX_SAMPLE_SIZE: f64 = 1e15;

/// How the samples changed whose difference is to be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeRates {
    /// The share of samples that change.
    pub(super) changed: f64,
    /// How much better the mean is; the size is at most the share.
    pub(super) gain: f64,
}

/// What a gate asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleSizeQuestion {
    pub(super) margin: f64,
    /// The level of the test of the margin.
    pub(super) alpha: f64,
    /// The level of the test of a loss, which may be stricter.
    pub(super) adjusted: f64,
}

/// The least number of samples above `count`, within half a percent, of which one of both tests calls the difference with
/// the chance `wanted`. `None` beyond a million thousand millions.
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
        // Where nothing changes the margin is ruled out when none of so many samples changing would be rare.
        let least = -level.ln() / margin;
        let guess = square(factor(level) * deviation / (margin + gain)).max(least);
        least_number(guess, count, |samples| pass_power(samples, changes, asked) >= wanted)
    });
    let to_fail = (gain < 0.0).then(|| {
        // So many changes that one of all outcomes is rare enough.
        let guess = square(factor(adjusted) * deviation / gain).max(-adjusted.log2() / changed);
        least_number(guess, count, |samples| loss_power(samples, changes, adjusted) >= wanted)
    });
    [to_pass.flatten(), to_fail.flatten()].into_iter().flatten().min()
}

/// The least number above `count` that is enough, within half a percent, sought from a guess on.
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
    // The first is too few, the second enough.
    while high - low > (high / 200).max(1) {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// How likely the exact test of a loss calls the difference.
fn loss_power(samples: u64, ChangeRates { changed, gain }: ChangeRates, alpha: f64) -> f64 {
    if samples <= MAX_SUMMED_PAIRS {
        return mcnemar::power(samples, changed, -gain, alpha);
    }
    let root = (samples as f64).sqrt();
    let border = normal_quantile(alpha) * changed.sqrt();
    normal_upper_tail((border + gain * root) / (changed - gain * gain).sqrt())
}

/// Returns how likely the exact test of the margin lets the difference pass.
pub(super) fn pass_power(samples: u64, changes: ChangeRates, asked: SampleSizeQuestion) -> f64 {
    if samples > MAX_SUMMED_PAIRS {
        pass_power_of_many(samples, changes, asked)
    } else {
        pass_power_of_few(samples, changes, asked)
    }
}

/// The same by the normal approximation, with the largest share of changed samples that the test reckons with.
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

/// The same summed over how many samples change, and how many of these become worse.
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

/// For numbers of changed samples how many of them may have become worse in a run that passes.
struct PassBorder {
    /// Numbers of changed samples, in order, with the most that may be worse; −1 where not even none may.
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

    /// None where not even none may be worse, and where so many changes are not likely. Not whole between the nodes: that
    /// is where the border lies on average.
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

/// Returns how many of so many changed samples may be worse, sought from a number nearby; −1 where not even none may.
fn most_worse(samples: u64, changed: i64, asked: SampleSizeQuestion, near: Option<i64>) -> i64 {
    let test = MarginTest::new(samples, changed.unsigned_abs(), asked.margin, asked.alpha);
    let passes = |worse: i64| test.p_value(changed - 2 * worse, STEPS) <= asked.alpha;
    let Some(near) = near else {
        // The first that is not known to pass, and the last that is.
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
