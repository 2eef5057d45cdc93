//! Moments of numbers in one pass, and the mean of scores while they arrive.

use crate::robust_mean::skewness;
use crate::statistics::wilson_of_proportion;
use crate::{CompensatedSum, Interval, IntervalMethod, RobustMean, Z_95};

/// The spread of numbers, computed in one pass.
///
/// Squares and cubes are of differences from the running mean, so that nothing cancels: Welford, "Note on a
/// Method for Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962), and Pébay, "Formulas for
/// Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical Moments", Sandia report (2008).
/// The sums are not compensated; their relative error is far below the precision needed of a standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
    cubes: f64,
    least: f64,
    greatest: f64,
}

impl Default for Spread {
    fn default() -> Spread {
        let (least, greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        Spread { count: 0, mean: 0.0, squares: 0.0, cubes: 0.0, least, greatest }
    }
}

impl Spread {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        let before = self.count as f64;
        self.count += 1;
        let count = self.count as f64;
        let step = (number - self.mean) / count;
        let square = (number - self.mean) * step * before;
        self.mean += step;
        self.cubes += step * (square * (count - 2.0) - 3.0 * self.squares);
        self.squares += square;
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
    }

    /// Returns the standard error of the mean: the sample standard deviation, over n − 1, divided by
    /// √n. `None` for fewer than two numbers, or beyond the range of `f64`.
    pub fn standard_error(&self) -> Option<f64> {
        let degrees = self.count.checked_sub(1).filter(|degrees| *degrees > 0)?;
        let variance = self.squares / degrees as f64 / self.count as f64;
        Some(variance.sqrt()).filter(|number| number.is_finite())
    }

    /// Returns the mean with its moments, where each number is a unit. `None` as for the standard error.
    pub fn robust_mean(&self) -> Option<RobustMean> {
        let error = self.standard_error()?;
        let variance = error * error;
        let count = self.count as f64;
        let largest = (self.mean - self.least).max(self.greatest - self.mean) / count;
        let found = RobustMean {
            mean: self.mean,
            variance,
            degrees: count - 1.0,
            skewness: skewness(self.cubes / count / count / count, variance),
            largest: largest * largest,
            effective: count,
        };
        [found.skewness, found.largest].iter().all(|one| one.is_finite()).then_some(found)
    }
}

/// Mean of scores while they arrive, with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningMean {
    spread: Spread,
    sum: CompensatedSum,
    is_graded: bool,
}

impl RunningMean {
    /// Adds a score.
    pub fn add(&mut self, score: f64) {
        self.spread.add(score);
        self.sum.add(score);
        self.is_graded |= score != 0.0 && score != 1.0;
    }

    /// Returns the number of scores.
    pub fn count(&self) -> u64 {
        self.spread.count
    }

    /// Returns the mean; `None` without scores.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum.divided_by(self.count() as f64))
    }

    /// Returns the 95 % interval of the mean: Wilson's if all scores are 0 or 1, otherwise Hall's.
    pub fn interval(&self) -> Option<Interval> {
        let mean = self.mean()?;
        if !self.is_graded {
            return wilson_of_proportion(mean, self.count() as f64, Z_95);
        }
        RobustMean { mean, ..self.spread.robust_mean()? }.interval(None, IntervalMethod::Hall)
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
    fn running_mean_has_the_interval_of_its_scores() {
        let of = |scores: &[f64]| {
            let mut mean = RunningMean::default();
            scores.iter().for_each(|score| mean.add(*score));
            mean
        };
        assert_eq!((of(&[]).mean(), of(&[]).interval()), (None, None));
        let binary = of(&[1.0, 0.0, 1.0, 1.0]);
        assert_eq!((binary.mean(), binary.interval()), (Some(0.75), crate::wilson_interval(3, 4)));
        assert_eq!(of(&[0.5]).interval(), None);
        assert_eq!(of(&[0.5, 0.7, 0.6]).interval().unwrap().method, IntervalMethod::Hall);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Moments in one pass are those of units with one sample each.
        #[test]
        fn moments_are_those_of_two_passes(numbers in prop::collection::vec(-1e3..1e3, 2..60)) {
            let mut spread = Spread::default();
            numbers.iter().for_each(|number| spread.add(*number));
            let one = spread.robust_mean().unwrap();
            let two = RobustMean::of_units(numbers.iter().map(|number| (*number, 1.0))).unwrap();
            let pairs = [
                (one.mean, two.mean, 1e3),
                (one.variance, two.variance, two.variance),
                (one.degrees, two.degrees, 1.0),
                (one.skewness, two.skewness, 1.0),
                (one.largest, two.largest, two.largest),
                (one.effective, two.effective, 1.0),
            ];
            for (one, two, size) in pairs {
                prop_assert!((one - two).abs() <= 1e-9 * size, "{one} {two}");
            }
        }
    }
}
