//! Non-inferiority test: which losses of a mean can be ruled out, for scores that are not only 0 and 1.
//!
//! `statrs` gives the beta and error functions: p-values and intervals of a comparison enter no digest, so their last bit may
//! differ between platforms.

use super::binomial::crossing;
use super::sign_flip::MAX_EXACT_UNITS;
use gage_figures::{Interval, IntervalMethod, LEVEL_95};
use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};

/// Pairs of imagined units, one with the largest gain and one with the largest loss.
const IMAGINED_PAIRS: u32 = 2;

/// Independent units: samples, or clusters of samples. A unit's total is the sum of the differences of its
/// samples, positive where the new run is better.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreUnits {
    pub(super) totals: Vec<f64>,
    /// How many samples each has.
    pub(super) sizes: Vec<f64>,
    /// The largest difference that one sample can have.
    pub(super) reach: f64,
    /// The largest score.
    pub(super) largest: f64,
}

/// A deviation below this part of the scores, and of what a sample can change by, is rounding.
const ROUNDING: f64 = 1e-12;

/// A sum over units, with what its test needs.
struct RobustSum {
    total: f64,
    /// Of the total.
    variance: f64,
    /// Of the total.
    skewness: f64,
    degrees: f64,
}

/// The sum of `(total, size)` of independent units, with a variance that does not rest on how large they are.
///
/// The variance is CR2 of Bell and McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with
/// Multi-Stage Samples", Survey Methodology 28 (2002), for a mean: the square of a unit's residual divided by one minus
/// its share of the samples. The degrees of freedom are theirs too, by Satterthwaite's method, with a working model in
/// which the samples of a unit change together: a unit that holds half of the samples is half of what is known, so the
/// degrees may be few among many units. With units of one size it is the usual variance, over n − 1, with n − 1 degrees.
fn robust_sum(units: impl Iterator<Item = (f64, f64)> + Clone) -> RobustSum {
    let (total, samples) =
        units.clone().fold((0.0, 0.0), |(total, samples), (value, size)| (total + value, samples + size));
    let all: f64 = units.clone().map(|(_, size)| size * size).sum();
    let (mut variance, mut cubes) = (0.0, 0.0);
    // The residuals are B = M·Ω·M with Ω the squared sizes; wanted are the traces of A·B and (A·B)², where A
    // holds the weights. Outside of the diagonal B is a sum of products, so one pass over the units is enough.
    let (mut trace, mut diagonal) = (0.0, 0.0);
    let (mut shares, mut sizes, mut mixed) = (0.0, 0.0, 0.0);
    for (value, size) in units {
        let share = size / samples;
        let residual = size.mul_add(-total / samples, value);
        let weight = 1.0 / (1.0 - share);
        variance += weight * residual * residual;
        cubes += residual.powi(3);
        let square = size * size;
        let product = share.mul_add(all * share, -2.0 * share * square);
        let entry = square + product;
        trace += weight * entry;
        diagonal += weight * weight * (entry * entry - product * product);
        shares += weight * share * share;
        sizes += weight * square * square;
        mixed += weight * share * square;
    }
    let outside =
        2.0 * shares * sizes + (all * shares).powi(2) + 2.0 * mixed * mixed - 4.0 * all * shares * mixed;
    let skewness = if variance > 0.0 { cubes / variance.powf(1.5) } else { 0.0 };
    RobustSum { total, variance, skewness, degrees: (trace * trace / (outside + diagonal)).max(1.0) }
}

impl ScoreUnits {
    fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    fn samples(&self) -> f64 {
        self.sizes.iter().sum()
    }

    /// A deviation of a sample up to this is rounding.
    fn rounding(&self) -> f64 {
        ROUNDING * self.reach.max(self.largest)
    }

    /// Adds other units.
    pub(super) fn add(&mut self, others: ScoreUnits) {
        self.totals.extend(others.totals);
        self.sizes.extend(others.sizes);
        self.reach = self.reach.max(others.reach);
        self.largest = self.largest.max(others.largest);
    }

    /// The size of the unit that a sample is in, on average over the samples.
    fn usual_size(&self) -> f64 {
        self.sizes.iter().map(|size| size * size).sum::<f64>() / self.samples()
    }

    /// The sum of `total + margin · size` with the imagined units, in units of the scale, so that no power of it is
    /// out of range.
    fn with_imagined(&self, margin: f64) -> RobustSum {
        let scale = self.reach.max(margin);
        let (reach, margin) = (self.reach / scale, margin / scale);
        let size = self.usual_size();
        let imagined = [reach, -reach].map(|difference| ((difference + margin) * size, size));
        let imagined = (0..IMAGINED_PAIRS).flat_map(move |_| imagined);
        let real = self.totals.iter().zip(&self.sizes);
        robust_sum(real.map(|(total, size)| (margin.mul_add(*size, total / scale), *size)).chain(imagined))
    }

    /// The standard error of the mean difference of a sample, with the imagined units; never 0 where a
    /// sample could have changed.
    fn standard_error(&self) -> f64 {
        let real = self.count() / (self.count() + 2.0 * f64::from(IMAGINED_PAIRS));
        (self.with_imagined(0.0).variance * real).sqrt() * self.reach / self.samples()
    }

    /// The standard error of the mean difference of a sample as it was observed, with its degrees of freedom. `None`
    /// for fewer than two units, and where all differences are equal, which says nothing of other samples.
    fn observed(&self) -> Option<(f64, f64)> {
        if self.totals.len() < 2 || self.reach <= 0.0 {
            return None;
        }
        let units = self.totals.iter().zip(&self.sizes).map(|(total, size)| (total / self.reach, *size));
        let RobustSum { variance, degrees, .. } = robust_sum(units);
        let error = variance.sqrt() / self.samples() * self.reach;
        (error * self.samples().sqrt() > self.rounding()).then_some((error, degrees))
    }

    /// The standard error of the mean difference of a sample, with its degrees of freedom: as it was observed, and
    /// where all differences are equal that of the imagined units.
    fn error_of_mean(&self) -> (f64, f64) {
        self.observed().unwrap_or_else(|| (self.standard_error(), self.count() - 1.0))
    }

    /// The 95 % interval of the mean difference of a sample, of which `difference` is the estimate. `None` for fewer than
    /// two units, where no score differs from another one, and beyond the range of `f64`.
    pub(super) fn interval(&self, difference: f64, method: IntervalMethod) -> Option<Interval> {
        if self.totals.len() < 2 {
            return None;
        }
        let (error, degrees) = self.error_of_mean();
        let half = student_quantile((1.0 - LEVEL_95) / 2.0, degrees) * error;
        let interval = Interval::of_95(difference - half, difference + half, method);
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// The p-value against "the mean fell by the margin or more": small where that can be ruled out. 1 for
    /// fewer than two units.
    ///
    /// Student's test of the mean of the samples, with two changes that keep it honest where few samples
    /// change by much, as is the rule: the transformation of Hall, "On the Removal of Skewness by
    /// Transformation", Journal of the Royal Statistical Society B 54 (1992), and two pairs of imagined
    /// units with the largest gain and the largest loss, in the manner of Agresti and Caffo, "Simple and
    /// Effective Confidence Intervals for Proportions and Differences of Proportions", The American
    /// Statistician 54 (2000). Without them a hundred equal scores would rule out everything. An imagined unit is as
    /// large as the one that a sample is in.
    pub(super) fn margin_p_value(&self, margin: f64) -> f64 {
        if self.totals.len() < 2 || self.reach <= 0.0 {
            return 1.0;
        }
        let RobustSum { total, variance, skewness, degrees } = self.with_imagined(margin);
        // Bounded, as where nothing varies it is infinite.
        let t = (total / variance.sqrt()).clamp(-1e9, 1e9);
        let straight = t + skewness * (t * t / 3.0 + 1.0 / 6.0) + skewness * skewness * t.powi(3) / 27.0;
        // What is imagined is not known.
        let known = (self.count() - 1.0) / (self.count() + 2.0 * f64::from(IMAGINED_PAIRS) - 1.0);
        student_upper_tail(straight, (degrees * known).max(1.0))
    }

    /// The loss of every sample that the test by sign flips calls at the level `alpha` with the chance `wanted`, where
    /// differences vary as they did; where they did not, as the imagined units do. `None` where no loss is called: of n
    /// units no more than 2ⁿ signs can be tried.
    pub(super) fn visible_loss(&self, alpha: f64, wanted: f64) -> Option<f64> {
        let level = attainable(alpha, self.totals.len()).filter(|_| self.totals.len() > 1)?;
        let (error, degrees) = self.error_of_mean();
        let visible = error * visible_shift(degrees, level, wanted);
        Some(visible).filter(|visible| visible.is_finite() && *visible > 0.0)
    }

    /// About how many samples tell with the chance `wanted` whether a difference like the observed `gain` is less
    /// than the margin, at the level `alpha`, or a loss, at the level `adjusted`: the smaller of both numbers.
    pub(super) fn samples_needed(
        &self,
        gain: f64,
        margin: f64,
        (alpha, adjusted): (f64, f64),
        wanted: f64,
    ) -> Option<f64> {
        let size = self.samples() / self.count();
        let deviation = self.observed().map_or(0.0, |(error, _)| error * self.samples().sqrt());
        let factor = |level: f64| normal_quantile(level) + normal_quantile(1.0 - wanted);
        // The variance of the mean of n samples is `deviation² / n`, and what is imagined adds `imagined² / n²`.
        let imagined = self.reach * self.usual_size() * (2.0 * f64::from(IMAGINED_PAIRS)).sqrt();
        let to_pass = (margin + gain > 0.0).then(|| {
            let reach = factor(alpha) / (margin + gain);
            let (one, two) = (reach * deviation, reach * imagined);
            f64::midpoint(one * one, (one * one).hypot(2.0 * two))
        });
        let to_fail = (gain < -self.rounding()).then(|| {
            let root = factor(adjusted) * deviation / gain;
            // So many signs that one of all is rare enough.
            (root * root).max((1.0 / adjusted).log2().ceil() * size)
        });
        let least = [to_pass, to_fail].into_iter().flatten().reduce(f64::min)?;
        Some(least).filter(|count| *count < 1e15)
    }
}

/// The largest level up to `alpha` that the test by sign flips of so many units has; `None` below the first one.
fn attainable(alpha: f64, units: usize) -> Option<f64> {
    if units > MAX_EXACT_UNITS {
        return Some(alpha);
    }
    // At most 2^28.
    let signs = (1_u64 << units) as f64;
    Some((alpha * signs).floor() / signs).filter(|level| *level > 0.0)
}

/// The probability that Student's t is greater; 1 where t is no number, as nothing is shown by that.
pub(super) fn student_upper_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    let both = beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// What Student's t exceeds with a probability below one half.
pub(super) fn student_quantile(upper: f64, degrees: f64) -> f64 {
    // At one degree of freedom and a probability of 1e-6 it is 318,310.
    crossing(0.0, 1e7, |t| student_upper_tail(t, degrees) <= upper)
}

/// Returns how likely a test of a mean at the level `alpha` calls a loss that is `shift` standard errors large: the
/// non-central distribution of Student's t by formula 26.7.10 of Abramowitz and Stegun, "Handbook of
/// Mathematical Functions" (1964).
#[cfg(test)]
pub(super) fn power(shift: f64, degrees: f64, alpha: f64) -> f64 {
    let (middle, width) = non_central(degrees, alpha);
    normal_upper_tail((middle - shift) / width)
}

/// The loss, in standard errors, that a test at the level `alpha` calls with a chance: the inverse of the
/// power.
pub(super) fn visible_shift(degrees: f64, alpha: f64, wanted: f64) -> f64 {
    let (middle, width) = non_central(degrees, alpha);
    middle + width * normal_quantile(1.0 - wanted)
}

/// What the normal distribution exceeds with a probability.
pub(super) fn normal_quantile(upper: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * upper)
}

/// The probability that the normal distribution is greater.
pub(super) fn normal_upper_tail(value: f64) -> f64 {
    erfc(value / std::f64::consts::SQRT_2) / 2.0
}

/// Where the loss lies that is called in one of two runs, and how wide around it chance is.
fn non_central(degrees: f64, alpha: f64) -> (f64, f64) {
    let critical = student_quantile(alpha, degrees);
    (critical * (1.0 - 0.25 / degrees), (1.0 + critical * critical / 2.0 / degrees).sqrt())
}
