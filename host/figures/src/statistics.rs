//! Statistics: intervals of figures, and the spread that they are based on.

mod student_t;

pub use student_t::student_t_975;

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
    /// [`wilson_interval`], if every score is 0 or 1 (with fewer than 300 samples if repeats disagree), or if scores do
    /// not vary.
    Wilson,
    /// [`t_interval`] from the standard error of independent samples.
    T,
    /// Interval by Student's t distribution, from the standard error of clustered samples.
    Cluster,
    /// Interval that contains 95 % of the figures of random resamples.
    Bootstrap,
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
    wilson_of_proportion(successes.min(count) as f64 / count as f64, count as f64)
}

/// Returns the [`wilson_interval`] of a proportion from 0 to 1. The number of independent trials may be fractional.
///
/// For a mean over repeated samples, the interval is wider than necessary: a mean of repeats varies less than one trial.
pub(crate) fn wilson_of_proportion(proportion: f64, trials: f64) -> Option<Interval> {
    if trials.is_nan() || trials <= 0.0 {
        return None;
    }
    let z_squared = Z_95 * Z_95;
    let scale = 1.0 + z_squared / trials;
    let centre = (proportion + z_squared / (2.0 * trials)) / scale;
    let variance = proportion * (1.0 - proportion) / trials + z_squared / (4.0 * trials * trials);
    let half_width = Z_95 * variance.sqrt() / scale;
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
    let of_proportion = wilson_of_proportion(proportion.clamp(0.0, 1.0), trials)?;
    let low = of_proportion.low.mul_add(width, least).max(least).min(mean);
    let high = of_proportion.high.mul_add(width, least).min(greatest).max(mean);
    Some(Interval { low, high, ..of_proportion })
}

/// Returns the interval of a mean by Student's t distribution: `mean ± t standard errors`, with t from
/// [`student_t_975`]. `None` without degrees of freedom, or if an end is beyond the range of `f64`.
///
/// Student, "The Probable Error of a Mean", Biometrika 6 (1908).
pub fn t_interval(mean: f64, standard_error: f64, degrees: u64, method: IntervalMethod) -> Option<Interval> {
    let half_width = student_t_975(degrees)? * standard_error;
    let interval = Interval::of_95(mean - half_width, mean + half_width, method);
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

/// The spread of numbers, computed in one pass.
///
/// The squares are of differences from the running mean, so that nothing cancels: Welford, "Note on a
/// Method for Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962). The sum is not
/// compensated; its relative error is far below the precision needed of a standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Spread {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        let before = number - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (number - self.mean);
    }

    /// Returns the standard error of the mean: the sample standard deviation, over n − 1, divided by
    /// √n. `None` for fewer than two numbers, or beyond the range of `f64`.
    pub fn standard_error(&self) -> Option<f64> {
        self.scaled(self.count as f64)
    }

    /// Returns the standard deviation of the sample, over n − 1. `None` as for the standard error.
    pub(crate) fn standard_deviation(&self) -> Option<f64> {
        self.scaled(1.0)
    }

    fn scaled(&self, divisor: f64) -> Option<f64> {
        let degrees = self.count.checked_sub(1).filter(|degrees| *degrees > 0)?;
        Some((self.squares / degrees as f64 / divisor).sqrt()).filter(|number| number.is_finite())
    }
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
    fn standard_error_is_that_of_the_sample() {
        // By `statistics.stdev(xs) / math.sqrt(len(xs))` in Python.
        let cases: [(&[f64], Option<f64>); 6] = [
            (&[], None),
            (&[3.0], None),
            (&[1.0, 2.0, 3.0, 4.0], Some(0.6454972243679028)),
            (&[0.0, 0.0, 1.0, 1.0, 1.0], Some(0.24494897427831777)),
            (&[0.1, 0.2, 0.3], Some(0.057735026918962574)),
            (&[2.5, 2.5], Some(0.0)),
        ];
        for (numbers, expected) in cases {
            let mut spread = Spread::default();
            numbers.iter().for_each(|number| spread.add(*number));
            match (spread.standard_error(), expected) {
                (Some(found), Some(expected)) => assert!(is_near(found, expected), "{numbers:?}: {found}"),
                (found, expected) => assert_eq!(found, expected, "{numbers:?}"),
            }
        }
    }

    #[test]
    fn spread_does_not_cancel_far_from_zero() {
        let mut spread = Spread::default();
        [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0].into_iter().for_each(|number| spread.add(number));
        // The variance of 4, 7, 13, 16 is 30.
        assert!(is_near(spread.standard_error().unwrap(), (30.0_f64 / 4.0).sqrt()));
    }

    #[test]
    fn the_t_interval_is_that_of_student() {
        // By hand: the quantile for 3 degrees of freedom is 3.18244630528.
        let interval = t_interval(10.0, 1.0, 3, IntervalMethod::T).unwrap();
        assert!(
            (interval.low - 6.81755369472).abs() < 1e-10 && (interval.high - 13.18244630528).abs() < 1e-10
        );
        assert_eq!(t_interval(10.0, 1.0, 0, IntervalMethod::T), None);
        assert_eq!(t_interval(f64::MAX, f64::MAX, 1, IntervalMethod::T), None);
        assert_eq!(serde_json::to_value(IntervalMethod::T).unwrap(), "t");
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
