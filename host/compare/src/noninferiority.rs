//! Non-inferiority test: losses of a mean that can be ruled out, and losses that are shown, for scores other than 0 and 1.

use super::student_t::{non_central, normal_quantile, student_quantile, student_upper_tail};
use gage_figures::{Interval, IntervalMethod, LEVEL_95, RobustMean};

/// Number of imagined samples that deviate by the whole scale: two full gains and two full losses.
///
/// After Agresti and Caffo, "Simple and Effective Confidence Intervals for Proportions and Differences of Proportions",
/// The American Statistician 54 (2000).
const IMAGINED_SAMPLES: f64 = 4.0;

/// A deviation below this fraction of the largest score or possible change is rounding.
const ROUNDING: f64 = 1e-12;

/// Number of samples beyond which no answer is useful.
const MAX_SAMPLE_SIZE: f64 = 1e15;

/// Independent units: samples, or clusters of samples. A unit's total is the sum of the differences of its
/// samples, positive if the new run is better.
#[derive(Clone, Debug, Default)]
pub(super) struct ScoreUnits {
    pub(super) totals: Vec<f64>,
    /// Number of samples in each unit.
    pub(super) sizes: Vec<f64>,
    /// Sum of the squared deviations of the differences from the means of their units; 0 for units of one sample.
    pub(super) within: f64,
    /// The largest possible difference of one sample.
    pub(super) reach: f64,
    /// The largest score.
    pub(super) largest: f64,
}

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
        self.within += others.within;
        self.reach = self.reach.max(others.reach);
        self.largest = self.largest.max(others.largest);
    }

    /// Returns the size of a sample's unit, averaged over the samples.
    fn usual_size(&self) -> f64 {
        self.sizes.iter().map(|size| size * size).sum::<f64>() / self.samples()
    }

    /// Returns the mean of the units in units of the reach, so that no power of it overflows. `None` for fewer than two
    /// units, or if no sample can change.
    fn mean(&self) -> Option<RobustMean> {
        let scale = self.reach.is_normal().then_some(self.reach)?;
        RobustMean::of_units(self.totals.iter().zip(&self.sizes).map(|(total, size)| (total / scale, *size)))
    }

    /// Returns the intraclass correlation of the differences, from 0 to 1: 0 if they do not vary.
    ///
    /// The estimator is that of the analysis of variance for groups of unequal size: Donner, "A Review of Inference
    /// Procedures for the Intraclass Correlation Coefficient in the One-Way Random Effects Model", International
    /// Statistical Review 54 (1986).
    fn correlation(&self) -> f64 {
        let (units, samples) = (self.count(), self.samples());
        if samples <= units {
            return 1.0;
        }
        let mean = self.totals.iter().sum::<f64>() / samples;
        let deviation = |total: f64, size: f64| (total - size * mean).powi(2) / size;
        let between: f64 =
            self.totals.iter().zip(&self.sizes).map(|(total, size)| deviation(*total, *size)).sum();
        if between + self.within <= self.rounding().powi(2) * samples {
            return 0.0;
        }
        let (between, within) = (between / (units - 1.0), self.within / (samples - units));
        let size = (samples - self.usual_size()) / (units - 1.0);
        ((between - within) / (size - 1.0).mul_add(within, between)).clamp(0.0, 1.0)
    }

    /// Returns the factor by which the clusters reduce the number of samples (the design effect): from 1 to the size of a
    /// cluster, by the correlation of the differences. Kish, "Survey Sampling" (1965).
    fn design_effect(&self) -> f64 {
        (self.usual_size() - 1.0).mul_add(self.correlation(), 1.0)
    }

    /// Returns the variance of the tests, from the observed one, both in units of the reach.
    ///
    /// It includes the imagined samples. If the samples of a cluster change together, fewer of them are independent; the
    /// variance is at least that of the imagined samples among these alone.
    fn variance_of_tests(&self, observed: f64) -> f64 {
        let imagined = IMAGINED_SAMPLES / self.samples().powi(2);
        (observed + imagined).max(imagined * self.design_effect().powi(2))
    }

    /// Returns the observed standard error of the mean difference per sample, with its degrees of freedom.
    ///
    /// `None` for fewer than two units, or if all differences are equal, which says nothing about other samples.
    fn observed(&self) -> Option<(f64, f64)> {
        let RobustMean { variance, degrees, .. } = self.mean()?;
        let error = variance.sqrt() * self.reach;
        (error * self.samples().sqrt() > self.rounding()).then_some((error, degrees))
    }

    /// Returns the standard error of the tests, with its degrees of freedom.
    fn error_of_tests(&self) -> Option<(f64, f64)> {
        let RobustMean { variance, degrees, .. } = self.mean()?;
        Some((self.variance_of_tests(variance).sqrt() * self.reach, degrees))
    }

    /// Returns the 95 % interval of the mean difference per sample; `difference` is the estimate.
    ///
    /// `None` for fewer than two units, if all scores are equal, or beyond the range of `f64`.
    pub(super) fn interval(&self, difference: f64, method: IntervalMethod) -> Option<Interval> {
        let (error, degrees) = self.observed().or_else(|| self.error_of_tests())?;
        let half = student_quantile((1.0 - LEVEL_95) / 2.0, degrees) * error;
        let interval = Interval::of_95(difference - half, difference + half, method);
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// Returns the p-value against "the mean fell by the margin or more": small if that can be ruled out. 1 for
    /// fewer than two units.
    pub(super) fn margin_p_value(&self, margin: f64) -> f64 {
        self.p_value(1.0, margin)
    }

    /// Returns the p-value of "worse": small if a mean as high as before can be ruled out. 1 for fewer than two units.
    pub(super) fn worse_p_value(&self) -> f64 {
        self.p_value(-1.0, 0.0)
    }

    /// Returns the p-value of "better": small if a mean as low as before can be ruled out. 1 for fewer than two units.
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
        let Some(RobustMean { mean, variance, skewness, degrees, .. }) = self.mean() else {
            return 1.0;
        };
        let error = self.variance_of_tests(variance).sqrt();
        // The third moment of the mean, over the standard error of the test.
        let skewness = sign * skewness * (variance.sqrt() / error).powi(3);
        // Bounded, so that its third power is finite.
        let t = ((sign * mean + shift / self.reach) / error).clamp(-1e9, 1e9);
        let straight = t + skewness * (t * t / 3.0 + 1.0 / 6.0) + skewness * skewness * t.powi(3) / 27.0;
        student_upper_tail(straight, degrees)
    }

    /// Returns whether the margin cannot be ruled out at the level `alpha` even if no sample changes.
    pub(super) fn is_too_few_for_margin(&self, margin: f64, alpha: f64) -> bool {
        let unchanged = ScoreUnits { totals: vec![0.0; self.totals.len()], within: 0.0, ..self.clone() };
        unchanged.margin_p_value(margin) > alpha
    }

    /// Returns the loss per sample that the test of a loss detects at the level `alpha` with the probability `wanted`.
    ///
    /// Differences are assumed to vary as observed. `None` if no possible loss would be detected.
    pub(super) fn visible_loss(&self, alpha: f64, wanted: f64) -> Option<f64> {
        let (error, degrees) = self.error_of_tests()?;
        let observed = self.observed().map_or(error, |(observed, _)| observed);
        let (middle, width) = non_central(degrees, alpha);
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
        let deviation = self.observed().map_or(0.0, |(error, _)| error * self.samples().sqrt()) / self.reach;
        let design_effect = self.design_effect();
        let is_enough = |level: f64, distance: f64, count: f64| {
            let (observed, imagined) = (deviation / count.sqrt(), IMAGINED_SAMPLES.sqrt() / count);
            let error = observed.hypot(imagined).max(imagined * design_effect);
            let needed = normal_quantile(level) * error + normal_quantile(1.0 - wanted) * observed;
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
        let to_fail = (gain < -self.rounding()).then(|| number(adjusted, -gain)).flatten();
        [to_pass, to_fail].into_iter().flatten().reduce(f64::min)
    }
}
