//! Non-inferiority test: losses of a mean that can be ruled out, for scores other than 0 and 1.
//!
//! The beta and error functions come from `statrs`: p-values and intervals of a comparison enter no digest, so their last
//! bit may differ between platforms.

use super::binomial::crossing;
use super::sign_flip::MAX_EXACT_UNITS;
use gage_figures::{Interval, IntervalMethod, LEVEL_95, RobustMean};
use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};

/// Number of pairs of imagined units, one with the largest gain and one with the largest loss.
const IMAGINED_PAIRS: u32 = 2;

/// Independent units: samples, or clusters of samples. A unit's total is the sum of the differences of its
/// samples, positive if the new run is better.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreUnits {
    pub(super) totals: Vec<f64>,
    /// Number of samples in each unit.
    pub(super) sizes: Vec<f64>,
    /// The largest possible difference of one sample.
    pub(super) reach: f64,
    /// The largest score.
    pub(super) largest: f64,
}

/// A deviation below this fraction of the largest score or possible change is rounding.
const ROUNDING: f64 = 1e-12;

impl ScoreUnits {
    fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    fn samples(&self) -> f64 {
        self.sizes.iter().sum()
    }

    /// Returns the largest deviation of a sample that counts as rounding.
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

    /// Returns the size of a sample's unit, averaged over the samples.
    fn usual_size(&self) -> f64 {
        self.sizes.iter().map(|size| size * size).sum::<f64>() / self.samples()
    }

    /// Returns the mean of `difference + margin` including the imagined units. It is in units of the scale, so that no power
    /// of it overflows.
    fn with_imagined(&self, margin: f64) -> Option<RobustMean> {
        let scale = self.reach.max(margin);
        let (reach, margin) = (self.reach / scale, margin / scale);
        let size = self.usual_size();
        let imagined = [reach, -reach].map(|difference| ((difference + margin) * size, size));
        let imagined = (0..IMAGINED_PAIRS).flat_map(move |_| imagined);
        let real = self.totals.iter().zip(&self.sizes);
        let real = real.map(|(total, size)| (margin.mul_add(*size, total / scale), *size));
        RobustMean::of_units(real.chain(imagined))
    }

    /// Standard error of the mean difference per sample, with the imagined units; never 0 if a sample could have
    /// changed.
    fn standard_error(&self) -> f64 {
        let (units, imagined) = (self.count(), 2.0 * f64::from(IMAGINED_PAIRS));
        // The mean is over the imagined samples too.
        let samples = self.samples() + imagined * self.usual_size();
        let variance = self.with_imagined(0.0).map_or(f64::INFINITY, |mean| mean.variance);
        (variance * units / (units + imagined)).sqrt() * samples * self.reach / self.samples()
    }

    /// Observed standard error of the mean difference per sample, with its degrees of freedom.
    ///
    /// `None` for fewer than two units, or if all differences are equal, which says nothing about other samples.
    fn observed(&self) -> Option<(f64, f64)> {
        if self.totals.len() < 2 || self.reach <= 0.0 {
            return None;
        }
        let units = self.totals.iter().zip(&self.sizes).map(|(total, size)| (total / self.reach, *size));
        let RobustMean { variance, degrees, .. } = RobustMean::of_units(units)?;
        let error = variance.sqrt() * self.reach;
        (error * self.samples().sqrt() > self.rounding()).then_some((error, degrees))
    }

    /// Standard error of the mean difference per sample, with its degrees of freedom: the observed one, or that of the
    /// imagined units if all differences are equal.
    fn error_of_mean(&self) -> (f64, f64) {
        self.observed().unwrap_or_else(|| (self.standard_error(), self.count() - 1.0))
    }

    /// The 95 % interval of the mean difference per sample; `difference` is the estimate.
    ///
    /// `None` for fewer than two units, if all scores are equal, or beyond the range of `f64`.
    pub(super) fn interval(&self, difference: f64, method: IntervalMethod) -> Option<Interval> {
        if self.totals.len() < 2 {
            return None;
        }
        let (error, degrees) = self.error_of_mean();
        let half = student_quantile((1.0 - LEVEL_95) / 2.0, degrees) * error;
        let interval = Interval::of_95(difference - half, difference + half, method);
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// The p-value against "the mean fell by the margin or more": small if that can be ruled out. 1 for
    /// fewer than two units.
    ///
    /// Student's test of the sample mean, with two changes that keep its level when few samples change by much, as is
    /// typical:
    ///
    /// - Hall's transformation, "On the Removal of Skewness by Transformation", Journal of the Royal Statistical Society B
    ///   54 (1992).
    /// - Two pairs of imagined units with the largest gain and the largest loss. Without them, a hundred equal scores would
    ///   rule out everything. An imagined unit is as large as an average sample's unit. The idea is from Agresti and Caffo,
    ///   "Simple and Effective Confidence Intervals for Proportions and Differences of Proportions", The American
    ///   Statistician 54 (2000).
    pub(super) fn margin_p_value(&self, margin: f64) -> f64 {
        if self.totals.len() < 2 || self.reach <= 0.0 {
            return 1.0;
        }
        let Some(RobustMean { mean, variance, skewness, degrees, .. }) = self.with_imagined(margin) else {
            return 1.0;
        };
        // Bounded, since it is infinite if nothing varies.
        let t = (mean / variance.sqrt()).clamp(-1e9, 1e9);
        let straight = t + skewness * (t * t / 3.0 + 1.0 / 6.0) + skewness * skewness * t.powi(3) / 27.0;
        // Imagined units add no degrees of freedom.
        let known = (self.count() - 1.0) / (self.count() + 2.0 * f64::from(IMAGINED_PAIRS) - 1.0);
        student_upper_tail(straight, (degrees * known).max(1.0))
    }

    /// Returns the loss per sample that the sign-flip test detects at the level `alpha` with the probability `wanted`.
    ///
    /// Differences are assumed to vary as observed or, if they are all equal, as the imagined units do. `None` if no loss
    /// can be detected: n units have only 2ⁿ signs to try.
    pub(super) fn visible_loss(&self, alpha: f64, wanted: f64) -> Option<f64> {
        let level = attainable(alpha, self.totals.len()).filter(|_| self.totals.len() > 1)?;
        let (error, degrees) = self.error_of_mean();
        let visible = error * visible_shift(degrees, level, wanted);
        Some(visible).filter(|visible| visible.is_finite() && *visible > 0.0)
    }

    /// Estimates the number of samples that decides a difference like the observed `gain` with the probability `wanted`.
    ///
    /// The decision is either that it is less than the margin, at the level `alpha`, or that it is a loss, at the level
    /// `adjusted`: the smaller of the two numbers.
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
        // The variance of the mean of n samples is `deviation² / n`, and the imagined units add `imagined² / n²`.
        let imagined = self.reach * self.usual_size() * (2.0 * f64::from(IMAGINED_PAIRS)).sqrt();
        let to_pass = (margin + gain > 0.0).then(|| {
            let reach = factor(alpha) / (margin + gain);
            let (one, two) = (reach * deviation, reach * imagined);
            f64::midpoint(one * one, (one * one).hypot(2.0 * two))
        });
        let to_fail = (gain < -self.rounding()).then(|| {
            let root = factor(adjusted) * deviation / gain;
            // Enough units that a single sign pattern is rare enough.
            (root * root).max((1.0 / adjusted).log2().ceil() * size)
        });
        let least = [to_pass, to_fail].into_iter().flatten().reduce(f64::min)?;
        Some(least).filter(|count| *count < 1e15)
    }
}

/// Largest attainable level up to `alpha` of a sign-flip test on `units` units; `None` if even the smallest is above it.
fn attainable(alpha: f64, units: usize) -> Option<f64> {
    if units > MAX_EXACT_UNITS {
        return Some(alpha);
    }
    // At most 2^28.
    let signs = (1_u64 << units) as f64;
    Some((alpha * signs).floor() / signs).filter(|level| *level > 0.0)
}

/// Probability that Student's t is greater than `t`; 1 if `t` is NaN, which shows nothing.
pub(super) fn student_upper_tail(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    let both = beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// Value that Student's t exceeds with the probability `upper`, which is below one half.
pub(super) fn student_quantile(upper: f64, degrees: f64) -> f64 {
    // With one degree of freedom and a probability of 1e-6, the result is 318,310.
    crossing(0.0, 1e7, |t| student_upper_tail(t, degrees) <= upper)
}

/// Power of a test of a mean at the level `alpha` against a loss of `shift` standard errors.
///
/// It uses the non-central distribution of Student's t, by formula 26.7.10 of Abramowitz and Stegun, "Handbook of
/// Mathematical Functions" (1964).
#[cfg(test)]
pub(super) fn power(shift: f64, degrees: f64, alpha: f64) -> f64 {
    let (middle, width) = non_central(degrees, alpha);
    normal_upper_tail((middle - shift) / width)
}

/// Loss, in standard errors, that a test at the level `alpha` detects with the probability `wanted`: the inverse of the
/// power.
pub(super) fn visible_shift(degrees: f64, alpha: f64, wanted: f64) -> f64 {
    let (middle, width) = non_central(degrees, alpha);
    middle + width * normal_quantile(1.0 - wanted)
}

/// Value that a standard normal variable exceeds with the probability `upper`.
pub(super) fn normal_quantile(upper: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * upper)
}

/// Probability that a standard normal variable is greater than `value`.
pub(super) fn normal_upper_tail(value: f64) -> f64 {
    erfc(value / std::f64::consts::SQRT_2) / 2.0
}

/// Loss that is detected in half of all runs, and the width of the random variation around it.
fn non_central(degrees: f64, alpha: f64) -> (f64, f64) {
    let critical = student_quantile(alpha, degrees);
    (critical * (1.0 - 0.25 / degrees), (1.0 + critical * critical / 2.0 / degrees).sqrt())
}
