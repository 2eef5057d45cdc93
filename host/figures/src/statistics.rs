//! Statistics: intervals of figures, and the spread that they are based on.

mod student_t;

pub use student_t::student_t_975;

use crate::Scale;
use serde::{Deserialize, Serialize};

/// The 0.975 quantile of the standard normal distribution.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The level of all intervals.
pub const LEVEL_95: f64 = 0.95;

/// Fraction of the size of the scale or value up to which a standard error counts as zero.
const NO_SPREAD: f64 = 1e-14;

/// Returns whether a standard error is only rounding, relative to the size of the scale or of the value. Then the
/// samples do not vary: a single sample that differs gives a larger error.
pub(crate) fn is_no_spread(error: f64, size: f64) -> bool {
    error <= NO_SPREAD * size
}

/// Method by which an interval was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum IntervalMethod {
    /// Wilson's interval: of scores that are 0 or 1, or of scores that do not vary.
    Wilson,
    /// Student's interval with Hall's transformation, of independent samples: [`RobustMean::interval`](crate::RobustMean::interval).
    Hall,
    /// Interval from the variance between clusters: [`RobustMean::interval`](crate::RobustMean::interval) or [`RobustMean::proportion_interval`](crate::RobustMean::proportion_interval).
    Cluster,
    /// Two of the sorted scores, which enclose a quantile.
    OrderStatistics,
    /// Percentiles of bootstrap replicates, of a figure that a component computes.
    Bootstrap,
    /// Student's interval.
    T,
    /// Interval of Bonett and Price for a difference of paired proportions.
    AdjustedWald,
}

/// A confidence interval of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Confidence level: the probability that such an interval contains the true value.
    pub level: f64,
    /// Method of computation.
    pub method: IntervalMethod,
}

impl Interval {
    /// Returns an interval at the level [`LEVEL_95`].
    pub fn of_95(low: f64, high: f64, method: IntervalMethod) -> Interval {
        Interval { low, high, level: LEVEL_95, method }
    }

    /// Returns the part of the interval of a value that is within bounds. The value stays inside, even if it is beyond them.
    #[must_use]
    pub fn within(self, value: f64, [least, greatest]: Scale) -> Interval {
        Interval { low: self.low.max(least).min(value), high: self.high.min(greatest).max(value), ..self }
    }
}

/// Returns the score interval of a proportion: `successes` of `count` independent trials.
///
/// Unlike the normal approximation, it stays within 0 and 1 and is valid for few trials and for
/// proportions near the ends. `None` without trials.
///
/// Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of
/// the American Statistical Association 22 (1927); without continuity correction, method 3 of
/// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine
/// 17 (1998).
pub fn wilson_interval(successes: u64, count: u64) -> Option<Interval> {
    wilson_of_proportion(successes.min(count) as f64 / count as f64, count as f64, Z_95)
}

/// Returns the [`wilson_interval`] of a proportion from 0 to 1, with ends `z` standard errors away. The number of
/// independent trials may be fractional.
pub(crate) fn wilson_of_proportion(proportion: f64, trials: f64, z: f64) -> Option<Interval> {
    if trials.is_nan() || trials <= 0.0 {
        return None;
    }
    let z_squared = z * z;
    let scale = 1.0 + z_squared / trials;
    let centre = (proportion + z_squared / (2.0 * trials)) / scale;
    let variance = proportion * (1.0 - proportion) / trials + z_squared / (4.0 * trials * trials);
    let half_width = z * variance.sqrt() / scale;
    // At the ends, the exact formula gives 0 and 1, but rounding does not.
    let low = if proportion == 0.0 { 0.0 } else { (centre - half_width).clamp(0.0, proportion) };
    let high = if proportion == 1.0 { 1.0 } else { (centre + half_width).clamp(proportion, 1.0) };
    Some(Interval::of_95(low, high, IntervalMethod::Wilson))
}

/// Tolerance for a mean that rounding takes beyond its scale, as a fraction of the scale: a BLEU of 100.00000000000004.
const ROUNDING: f64 = 1e-9;

/// Returns the interval of a mean whose samples do not vary: that of a proportion, stretched to the scale.
///
/// Among scores with the same mean, those at the ends of the scale vary most, so no other interval is wider. `None` if the
/// mean is beyond the scale by more than rounding.
pub(crate) fn wilson_on_scale(mean: f64, trials: f64, [least, greatest]: [f64; 2]) -> Option<Interval> {
    let width = greatest - least;
    let proportion = (mean - least) / width;
    if !(-ROUNDING..=1.0 + ROUNDING).contains(&proportion) {
        return None;
    }
    let of_proportion = wilson_of_proportion(proportion.clamp(0.0, 1.0), trials, Z_95)?;
    let low = of_proportion.low.mul_add(width, least).max(least).min(mean);
    let high = of_proportion.high.mul_add(width, least).min(greatest).max(mean);
    Some(Interval { low, high, ..of_proportion })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_near(one: f64, two: f64) -> bool {
        (one - two).abs() <= 1e-12
    }

    #[test]
    fn wilson_is_that_of_the_formula() {
        // By the formula in Python; 81 of 263 and 15 of 148 are the examples of Newcombe (1998),
        // who gives 0.2553 to 0.3662 and 0.0624 to 0.1605.
        let cases = [
            (0, 10, 0.0, 0.2775327998628892),
            (1, 10, 0.017876213095072868, 0.4041500267952385),
            (5, 10, 0.236593090512564, 0.7634069094874361),
            (10, 10, 0.7224672001371107, 1.0),
            (81, 263, 0.2552885198782742, 0.36620957698280004),
            (15, 148, 0.0623863995307363, 0.16048724172330803),
            (412, 500, 0.78818582871064, 0.854873598670274),
            (0, 1, 0.0, 0.7934506856227626),
            (1, 1, 0.20654931437723745, 1.0),
        ];
        for (successes, count, low, high) in cases {
            let interval = wilson_interval(successes, count).unwrap();
            assert!(
                is_near(interval.low, low) && is_near(interval.high, high),
                "{successes}/{count}: {interval:?}"
            );
        }
        assert_eq!(wilson_interval(0, 0), None);
    }

    #[test]
    fn a_mean_on_a_scale_is_a_stretched_proportion() {
        let interval = wilson_on_scale(100.0, 10.0, [0.0, 100.0]).unwrap();
        assert!(is_near(interval.low, 72.24672001371107) && interval.high == 100.0, "{interval:?}");
        assert_eq!(wilson_on_scale(0.5, 4.0, [0.0, 1.0]), wilson_interval(2, 4));
        let interval = wilson_on_scale(0.0, 10.0, [-1.0, 1.0]).unwrap();
        assert!(is_near(interval.low, -0.526813818974872) && is_near(interval.high, 0.526813818974872));
        let interval = wilson_on_scale(100.00000000000004, 10.0, [0.0, 100.0]).unwrap();
        assert!(
            is_near(interval.low, 72.24672001371107) && interval.high == 100.00000000000004,
            "{interval:?}"
        );
        assert_eq!(wilson_on_scale(1.5, 10.0, [0.0, 1.0]), None);
        assert_eq!(wilson_on_scale(0.5, f64::NAN, [0.0, 1.0]), None);
    }

    #[test]
    fn an_interval_stays_within_its_bounds() {
        let interval = Interval::of_95(-0.457, 13.657, IntervalMethod::Hall);
        let ends = |value, bounds| {
            let interval = interval.within(value, bounds);
            (interval.low, interval.high)
        };
        assert_eq!(ends(6.6, [0.0, f64::INFINITY]), (0.0, 13.657));
        assert_eq!(ends(6.6, [f64::NEG_INFINITY, 10.0]), (-0.457, 10.0));
        assert_eq!(ends(6.6, [f64::NEG_INFINITY, f64::INFINITY]), (-0.457, 13.657));
        // The scores of a metric may exceed what it declares.
        assert_eq!(ends(6.6, [0.0, 1.0]), (0.0, 6.6));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn wilson_lies_within_0_and_1_around_the_mean(count in 1_u64..10_000_000, part in 0.0..=1.0) {
            let successes = (count as f64 * part) as u64;
            let interval = wilson_interval(successes, count).unwrap();
            let mean = successes as f64 / count as f64;
            prop_assert!((0.0..=1.0).contains(&interval.low) && (0.0..=1.0).contains(&interval.high));
            prop_assert!((interval.low..=interval.high).contains(&mean), "{mean} {interval:?}");
        }
    }
}
