//! What can be ruled out of the mean of differences that are not only −1, 0 and 1.

use super::binomial::crossing;
use statrs::function::beta::beta_reg;
#[cfg(test)]
use statrs::function::erf::erfc;
use statrs::function::erf::erfc_inv;

/// Pairs of imagined units, one with the largest gain and one with the largest loss.
const IMAGINED_PAIRS: u32 = 2;

/// Independent units: samples, or clusters of samples. A unit's total is the sum of the differences of its
/// samples, positive where the new run is better.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) totals: Vec<f64>,
    /// How many samples each has.
    pub(super) sizes: Vec<f64>,
    /// The largest difference that one sample can have.
    pub(super) reach: f64,
}

/// Mean, variance (over n − 1) and skewness.
struct Moments {
    mean: f64,
    variance: f64,
    skewness: f64,
}

impl Units {
    fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    fn samples(&self) -> f64 {
        self.sizes.iter().sum()
    }

    /// Moments of `total + margin · size` with the imagined units.
    fn moments(&self, margin: f64) -> Moments {
        let size = self.samples() / self.count();
        let imagined = [self.reach, -self.reach].map(|difference| (difference + margin) * size);
        let imagined = (0..IMAGINED_PAIRS).flat_map(|_| imagined);
        let real = self.totals.iter().zip(&self.sizes).map(|(total, size)| total + margin * size);
        let values = || real.clone().chain(imagined.clone());
        let count = self.count() + 2.0 * f64::from(IMAGINED_PAIRS);
        let mean = values().sum::<f64>() / count;
        let power = |exponent: i32| values().map(|value| (value - mean).powi(exponent)).sum::<f64>() / count;
        let variance = power(2) * count / (count - 1.0);
        let skewness = if variance > 0.0 { power(3) / variance.powf(1.5) } else { 0.0 };
        Moments { mean, variance, skewness }
    }

    /// The standard error of the mean difference of a sample, with the imagined units; never 0 where a
    /// sample could have changed.
    pub(super) fn standard_error(&self) -> f64 {
        (self.moments(0.0).variance * self.count()).sqrt() / self.samples()
    }

    /// The p-value against "the mean fell by the margin or more": small where that can be ruled out. 1 for
    /// fewer than two units.
    ///
    /// Student's test of the mean of the units, with two changes that keep it honest where few samples
    /// change by much, as is the rule: the transformation of Hall, "On the Removal of Skewness by
    /// Transformation", Journal of the Royal Statistical Society B 54 (1992), and two pairs of imagined
    /// units with the largest gain and the largest loss, in the manner of Agresti and Caffo, "Simple and
    /// Effective Confidence Intervals for Proportions and Differences of Proportions", The American
    /// Statistician 54 (2000). Without them a hundred equal scores would rule out everything.
    pub(super) fn margin_p_value(&self, margin: f64) -> f64 {
        if self.totals.len() < 2 || self.reach <= 0.0 {
            return 1.0;
        }
        let Moments { mean, variance, skewness } = self.moments(margin);
        let count = self.count() + 2.0 * f64::from(IMAGINED_PAIRS);
        let t = mean * (count / variance).sqrt();
        let root = count.sqrt();
        let straight = t
            + skewness / root * (t * t / 3.0 + 1.0 / 6.0)
            + skewness * skewness * t.powi(3) / (27.0 * count);
        student_upper_tail(straight, self.count() - 1.0)
    }
}

/// The probability that Student's t is greater.
pub(super) fn student_upper_tail(t: f64, degrees: f64) -> f64 {
    let both = beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t >= 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

/// What Student's t exceeds with a probability below one half.
pub(super) fn student_quantile(upper: f64, degrees: f64) -> f64 {
    // At one degree of freedom and a probability of 1e-6 it is 318,310.
    crossing(0.0, 1e7, |t| student_upper_tail(t, degrees) <= upper)
}

/// How likely a test of a mean at the level `alpha` calls a loss that is `shift` standard errors large: the
/// non-central distribution of Student's t by formula 26.7.10 of Abramowitz and Stegun, "Handbook of
/// Mathematical Functions" (1964).
#[cfg(test)]
pub(super) fn power(shift: f64, degrees: f64, alpha: f64) -> f64 {
    let (middle, width) = non_central(degrees, alpha);
    erfc((middle - shift) / width / std::f64::consts::SQRT_2) / 2.0
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

/// Where the loss lies that is called in one of two runs, and how wide around it chance is.
fn non_central(degrees: f64, alpha: f64) -> (f64, f64) {
    let critical = student_quantile(alpha, degrees);
    (critical * (1.0 - 0.25 / degrees), (1.0 + critical * critical / 2.0 / degrees).sqrt())
}
