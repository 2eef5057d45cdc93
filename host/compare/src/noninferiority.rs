//! Non-inferiority test: losses of a mean that can be ruled out, and losses that are shown.

use super::student_t::{non_central, normal_quantile, student_quantile, student_upper_tail};
use gage_figures::{Interval, IntervalMethod, LEVEL_95};

/// Number of imagined samples that deviate by the whole scale: two full gains and two full losses.
///
/// After Agresti and Caffo, "Simple and Effective Confidence Intervals for Proportions and Differences of Proportions",
/// The American Statistician 54 (2000).
pub(super) const IMAGINED_SAMPLES: f64 = 4.0;

/// A deviation below this fraction of the largest score or possible change is rounding.
pub(super) const ROUNDING: f64 = 1e-12;

/// Number of samples beyond which no answer is useful.
const MAX_SAMPLE_SIZE: f64 = 1e15;

/// Mean difference of two runs, positive if the new run is better, with its uncertainty. The mean and its variance are in
/// units of the reach, so that no power of them overflows.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeanDifference {
    /// Number of samples.
    pub(super) samples: f64,
    /// The largest possible difference.
    pub(super) reach: f64,
    /// The largest deviation of a sample that counts as rounding.
    pub(super) rounding: f64,
    pub(super) mean: f64,
    /// Variance of the mean.
    pub(super) variance: f64,
    /// Skewness of the mean.
    pub(super) skewness: f64,
    pub(super) degrees: f64,
    /// Factor by which clusters reduce the number of samples.
    pub(super) design_effect: f64,
    /// Number of imagined samples: [`IMAGINED_SAMPLES`], or 0 if it is unknown how much a sample can change.
    pub(super) imagined: f64,
    /// Number of samples in an independent unit.
    pub(super) unit_size: f64,
}

impl MeanDifference {
    /// Returns the variance that the tests use.
    ///
    /// It includes the imagined samples. If the samples of a cluster change together, fewer of them are independent; the
    /// variance is at least that of the imagined samples among these alone.
    fn variance_of_tests(&self) -> f64 {
        let imagined = self.imagined / (self.samples * self.samples);
        (self.variance + imagined).max(imagined * self.design_effect * self.design_effect)
    }

    /// Returns the standard error of the tests.
    fn error_of_tests(&self) -> f64 {
        self.variance_of_tests().sqrt() * self.reach
    }

    /// Returns the observed standard error; `None` if all differences are equal, which says nothing about other samples.
    fn observed_error(&self) -> Option<f64> {
        let error = self.variance.sqrt() * self.reach;
        (error * self.samples.sqrt() > self.rounding).then_some(error)
    }

    /// Returns the 95 % interval of the difference; `difference` is the estimate. `None` beyond the range of `f64`.
    pub(super) fn interval(&self, difference: f64, method: IntervalMethod) -> Option<Interval> {
        let error = self.observed_error().unwrap_or_else(|| self.error_of_tests());
        let half = student_quantile((1.0 - LEVEL_95) / 2.0, self.degrees) * error;
        let interval = Interval::of_95(difference - half, difference + half, method);
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// Returns the p-value against "the mean fell by the margin or more": small if that can be ruled out.
    pub(super) fn margin_p_value(&self, margin: f64) -> f64 {
        self.p_value(1.0, margin)
    }

    /// Returns the p-value of "worse": small if a mean as high as before can be ruled out.
    pub(super) fn worse_p_value(&self) -> f64 {
        self.p_value(-1.0, 0.0)
    }

    /// Returns the p-value of "better": small if a mean as low as before can be ruled out.
    pub(super) fn better_p_value(&self) -> f64 {
        self.p_value(1.0, 0.0)
    }

    /// Returns the p-value against "`sign · mean + shift` is 0 or less".
    ///
    /// Student's test of the mean, with two changes that keep its level if the differences are skewed, or if few samples
    /// change by much, as is typical:
    ///
    /// - Hall's transformation, "On the Removal of Skewness by Transformation", Journal of the Royal Statistical Society B
    ///   54 (1992).
    /// - The variance includes a few imagined samples that gain or lose the whole scale. Without them, a hundred equal
    ///   scores would rule out everything.
    fn p_value(&self, sign: f64, shift: f64) -> f64 {
        let variance = self.variance_of_tests();
        // The third moment of the mean, over the standard error of the test.
        let skewness =
            if variance > 0.0 { sign * self.skewness * (self.variance / variance).powf(1.5) } else { 0.0 };
        // Bounded, so that its third power is finite.
        let distance = sign * self.mean + shift / self.reach;
        let t = if distance == 0.0 { 0.0 } else { (distance / variance.sqrt()).clamp(-1e9, 1e9) };
        let straight = t + skewness * (t * t / 3.0 + 1.0 / 6.0) + skewness * skewness * t.powi(3) / 27.0;
        student_upper_tail(straight, self.degrees)
    }

    /// Returns whether the margin cannot be ruled out at the level `alpha` even if no sample changes.
    pub(super) fn is_too_few_for_margin(&self, margin: f64, alpha: f64) -> bool {
        let unchanged =
            MeanDifference { mean: 0.0, variance: 0.0, skewness: 0.0, design_effect: 1.0, ..*self };
        unchanged.margin_p_value(margin) > alpha
    }

    /// Returns the loss that the test of a loss detects at the level `alpha` with the probability `wanted`.
    ///
    /// Differences are assumed to vary as observed. `None` if no possible loss would be detected.
    pub(super) fn visible_loss(&self, alpha: f64, wanted: f64) -> Option<f64> {
        let error = self.error_of_tests();
        let observed = self.observed_error().unwrap_or(error);
        let (middle, width) = non_central(self.degrees, alpha);
        let visible = middle * error + width * normal_quantile(1.0 - wanted) * observed;
        Some(visible).filter(|visible| *visible > 0.0 && *visible < self.reach)
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
        let deviation = self.observed_error().map_or(0.0, |error| error * self.samples.sqrt()) / self.reach;
        let is_enough = |level: f64, distance: f64, count: f64| {
            let degrees = count / self.unit_size - 1.0;
            if degrees < 1.0 {
                return false;
            }
            let (observed, imagined) = (deviation / count.sqrt(), self.imagined.sqrt() / count);
            // `f64::hypot` needs glibc 2.35. This one differs from it by 1 ulp at most.
            let error = libm::hypot(observed, imagined).max(imagined * self.design_effect);
            let needed = student_quantile(level, degrees) * error + normal_quantile(1.0 - wanted) * observed;
            needed * self.reach <= distance
        };
        let number = |level: f64, distance: f64| {
            // The powers of two up to the largest useful number; then halvings to one part in a thousand.
            let mut high = 1.0;
            while !is_enough(level, distance, high) {
                high *= 2.0;
                if high > MAX_SAMPLE_SIZE {
                    return None;
                }
            }
            let mut low = high / 2.0;
            while high - low > (high / 1_000.0).max(1.0) {
                let middle = f64::midpoint(low, high);
                if is_enough(level, distance, middle) { high = middle } else { low = middle }
            }
            Some(high)
        };
        let to_pass = (margin + gain > 0.0).then(|| number(alpha, margin + gain)).flatten();
        let to_fail = (gain < -self.rounding).then(|| number(adjusted, -gain)).flatten();
        [to_pass, to_fail].into_iter().flatten().reduce(f64::min)
    }
}
