//! How sure a figure is.

use serde::{Deserialize, Serialize};

/// The 0.975 quantile of the standard normal distribution.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The level of all intervals.
pub const LEVEL_95: f64 = 0.95;

/// How an interval was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// [`wilson_interval`], where every score is 0 or 1.
    Wilson,
    /// [`normal_interval`], for all other scores.
    Normal,
}

/// A confidence interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often such an interval holds the true mean.
    pub level: f64,
    /// How it was computed.
    pub method: IntervalMethod,
}

/// The score interval of a proportion: of `count` independent trials `successes` succeeded.
/// Unlike the normal approximation it stays within 0 and 1 and holds for few trials and for
/// proportions near the ends. `None` without trials.
///
/// Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of
/// the American Statistical Association 22 (1927); without continuity correction, method 3 of
/// Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine
/// 17 (1998).
pub fn wilson_interval(successes: u64, count: u64) -> Option<Interval> {
    if count == 0 {
        return None;
    }
    let successes = successes.min(count);
    let trials = count as f64;
    let proportion = successes as f64 / trials;
    let z_squared = Z_95 * Z_95;
    let scale = 1.0 + z_squared / trials;
    let centre = (proportion + z_squared / (2.0 * trials)) / scale;
    let variance = proportion * (1.0 - proportion) / trials + z_squared / (4.0 * trials * trials);
    let half_width = Z_95 * variance.sqrt() / scale;
    // At the ends the formula gives exactly 0 and 1, and its rounding does not.
    let low = if successes == 0 { 0.0 } else { (centre - half_width).clamp(0.0, proportion) };
    let high = if successes == count { 1.0 } else { (centre + half_width).clamp(proportion, 1.0) };
    Some(Interval { low, high, level: LEVEL_95, method: IntervalMethod::Wilson })
}

/// The interval of a mean by the central limit theorem: `mean ± 1.96 standard errors`.
pub fn normal_interval(mean: f64, standard_error: f64) -> Interval {
    let half_width = Z_95 * standard_error;
    let (low, high) = (mean - half_width, mean + half_width);
    Interval { low, high, level: LEVEL_95, method: IntervalMethod::Normal }
}

/// The spread of numbers that are seen once, one after the other.
///
/// Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products",
/// Technometrics 4 (1962): the squares are those of differences from the running mean, so that
/// nothing cancels. Not compensated; its relative error stays far below what a standard error
/// is read for.
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

    /// The standard error of the mean: the sample standard deviation, over n − 1, divided by
    /// √n. `None` for fewer than two numbers.
    pub fn standard_error(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        Some((self.squares / (count - 1.0) / count).sqrt())
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
    fn normal_is_symmetric() {
        let interval = normal_interval(10.0, 1.0);
        assert!(is_near(interval.low, 8.040036015459947) && is_near(interval.high, 11.959963984540053));
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
