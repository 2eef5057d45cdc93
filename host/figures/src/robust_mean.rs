//! Mean of independent units, with a standard error that is robust to units of unequal size and to skewed scores.
//!
//! Only operations that IEEE 754 rounds correctly are used, so the same scores give the same bits on every machine.

use crate::statistics::{student_t_975, wilson_of_proportion};
use crate::{CompensatedSum, Interval, IntervalMethod, Scale};

/// Maximum number of additional units that deviate like the largest one, in the interval of a mean.
const MAX_IMAGINED_UNITS: f64 = 4.0;

/// As [`MAX_IMAGINED_UNITS`], for the interval of a proportion.
const MAX_IMAGINED_UNITS_OF_PROPORTION: f64 = 2.0;

/// Number of samples at the end of the scale that no sample reached, in the interval of a mean on a scale.
const IMAGINED_AT_END: f64 = 0.1;

/// Mean over independent units: samples, or clusters of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RobustMean {
    /// The mean per sample.
    pub mean: f64,
    /// Variance of the mean.
    pub variance: f64,
    /// Degrees of freedom of the variance, at least 1.
    pub degrees: f64,
    /// Skewness of the mean: the third central moment over the variance to the power of 3/2.
    pub skewness: f64,
    /// Square of the largest share that one unit has in the deviation of the mean.
    pub largest: f64,
    /// Effective number of units: `n² / Σ m²` for units of m samples.
    pub effective: f64,
}

/// Units: the total of the scores of each, and its number of samples (or their weight).
pub trait Units: Iterator<Item = (f64, f64)> + Clone {}

impl<I: Iterator<Item = (f64, f64)> + Clone> Units for I {}

impl RobustMean {
    /// Returns the mean of units. `None` for fewer than two units with a weight, or beyond the range of `f64`.
    ///
    /// The variance is CR2 for a mean: each unit's squared residual is divided by one minus its share of the samples. The
    /// source is Bell and McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage Samples",
    /// Survey Methodology 28 (2002).
    ///
    /// The degrees of freedom are from the same paper: Satterthwaite's method, with a working model in which the samples of
    /// a unit change together. A unit with half of the samples is half of the evidence, so even many units may give few
    /// degrees. With units of equal size, the result is the usual variance, over n − 1, with n − 1 degrees.
    pub fn of_units(units: impl Units) -> Option<RobustMean> {
        let units = units.filter(|(_, size)| *size > 0.0);
        let (mut total, mut samples, mut all) = <(CompensatedSum, CompensatedSum, CompensatedSum)>::default();
        let mut count = 0_u64;
        for (value, size) in units.clone() {
            total.add(value);
            samples.add(size);
            all.add(size * size);
            count += 1;
        }
        if count < 2 {
            return None;
        }
        let (samples, all) = (samples.total(), all.total());
        let mean = total.divided_by(samples);
        let (mut variance, mut cubes) = <(CompensatedSum, CompensatedSum)>::default();
        let mut largest = 0.0_f64;
        // The covariance of the residuals is B = M·Ω·M, where Ω holds the squared sizes. We need the traces of A·B and
        // (A·B)², where A holds the weights. Off the diagonal, B is a sum of products, so one pass over the units suffices.
        let (mut trace, mut diagonal) = (0.0, 0.0);
        let (mut shares, mut sizes, mut mixed) = (0.0, 0.0, 0.0);
        for (value, size) in units {
            let share = size / samples;
            let residual = (-size).mul_add(mean, value) / samples;
            let weight = 1.0 / (1.0 - share);
            variance.add(weight * residual * residual);
            cubes.add(residual * residual * residual);
            largest = largest.max(residual * residual);
            let square = size * size;
            let product = share * (all * share - 2.0 * square);
            let entry = square + product;
            trace += weight * entry;
            diagonal += weight * weight * (entry * entry - product * product);
            shares += weight * share * share;
            sizes += weight * square * square;
            mixed += weight * share * square;
        }
        let outside = 2.0 * shares * sizes + all * shares * (all * shares) + 2.0 * mixed * mixed
            - 4.0 * all * shares * mixed;
        let variance = variance.total();
        let found = RobustMean {
            mean,
            variance,
            degrees: (trace * trace / (outside + diagonal)).max(1.0),
            skewness: skewness(cubes.total(), variance),
            largest,
            effective: samples * samples / all,
        };
        [mean, variance, found.degrees, found.skewness].iter().all(|one| one.is_finite()).then_some(found)
    }
}

/// Third central moment over the variance to the power of 3/2; 0 without variance.
pub(crate) fn skewness(cubes: f64, variance: f64) -> f64 {
    if variance > 0.0 { cubes / (variance * variance.sqrt()) } else { 0.0 }
}

impl RobustMean {
    /// Returns the standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Skewness of the units.
    fn unit_skewness(&self) -> f64 {
        self.skewness * self.effective.sqrt()
    }

    /// Returns the 95 % interval of a mean, within the scale if it is known.
    ///
    /// Student's interval, with Hall's transformation, since a mean of skewed scores is skewed itself: "On the Removal of
    /// Skewness by Transformation", Journal of the Royal Statistical Society B 54 (1992). Two changes keep its level for
    /// few units: the variance counts up to four further units that deviate like the largest one, depending on the
    /// skewness; and on a scale, a tenth of a sample whose deviation is the whole scale. `make coverage` measures it.
    pub fn interval(&self, scale: Option<Scale>, method: IntervalMethod) -> Option<Interval> {
        let skewness = self.unit_skewness();
        let imagined = (skewness * skewness / 2.0).min(MAX_IMAGINED_UNITS) * self.largest;
        let at_end = scale.map_or(0.0, |[least, greatest]| (greatest - least) / self.effective);
        let error = (self.variance + imagined + IMAGINED_AT_END * at_end * at_end).sqrt();
        let t = student_t_975(self.degrees)?;
        let (low, high) = (self.mean - error * self.untransform(t), self.mean - error * self.untransform(-t));
        let [least, greatest] = scale.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        // Rounding may take the mean beyond its scale.
        let (low, high) = (low.max(least).min(self.mean), high.min(greatest).max(self.mean));
        (low.is_finite() && high.is_finite()).then(|| Interval::of_95(low, high, method))
    }

    /// The inverse of Hall's transformation `t + g (t² / 3 + 1 / 6) + g² t³ / 27`, where g is the skewness of the mean.
    fn untransform(&self, t: f64) -> f64 {
        let g = self.skewness;
        // The limit for g → 0 is t; below this, the difference of the cube root from 1 loses its digits.
        if g.abs() < 1e-6 {
            return t;
        }
        3.0 / g * (libm::cbrt(1.0 + g * (t - g / 6.0)) - 1.0)
    }

    /// Returns the 95 % interval of a proportion from scores between 0 and 1, at most `trials` of which are independent.
    ///
    /// Wilson's interval, with the number of independent trials that have the observed variance, and Student's quantile:
    /// Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered Surveys", Journal of
    /// Survey Statistics and Methodology 3 (2015). The variance counts up to two further units that deviate like the
    /// largest one, depending on the skewness. If units do not vary, each counts as one trial.
    pub fn proportion_interval(&self, trials: f64, method: IntervalMethod) -> Option<Interval> {
        let skewness = self.unit_skewness();
        let imagined = (skewness * skewness / 4.0).min(MAX_IMAGINED_UNITS_OF_PROPORTION) * self.largest;
        let variance = self.variance + imagined;
        let observed = self.mean * (1.0 - self.mean) / variance;
        let z = student_t_975(self.degrees)?;
        let interval = wilson_of_proportion(self.mean, observed.min(trials), z)?;
        Some(Interval { method, ..interval })
    }
}
