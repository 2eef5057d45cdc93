//! Student's t and the normal distribution: tails, quantiles, and the power of a test of a mean.
//!
//! The beta and error functions come from `statrs`: p-values and intervals of a comparison enter no digest, so their last
//! bit may differ between platforms.

use super::binomial::crossing;
use statrs::function::beta::beta_reg;
use statrs::function::erf::{erfc, erfc_inv};

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

/// Value that a standard normal variable exceeds with the probability `upper`.
pub(super) fn normal_quantile(upper: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * upper)
}

/// Probability that a standard normal variable is greater than `value`.
pub(super) fn normal_upper_tail(value: f64) -> f64 {
    erfc(value / std::f64::consts::SQRT_2) / 2.0
}

/// Loss that is detected in half of all runs, and the width of the random variation around it, in standard errors.
///
/// A loss of `middle + width · z` is detected with the probability that a standard normal variable is below z.
pub(super) fn non_central(degrees: f64, alpha: f64) -> (f64, f64) {
    let critical = student_quantile(alpha, degrees);
    (critical * (1.0 - 0.25 / degrees), (1.0 + critical * critical / 2.0 / degrees).sqrt())
}
