//! Sums that do not lose small numbers next to large ones.
//!
//! `plugins/score/kit` has the same addition, but it is not shared. It belongs to another workspace, and its state crosses
//! the component boundary as JSON. Its results for sums beyond the range of `f64` are pinned by scorer versions.

/// A compensated sum: the rounding errors of the additions are summed separately.
///
/// Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen",
/// Zeitschrift für Angewandte Mathematik und Mechanik 54 (1974).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompensatedSum {
    sum: f64,
    rounded_away: f64,
}

impl CompensatedSum {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        self.rounded_away += if self.sum.abs() >= number.abs() {
            (self.sum - sum) + number
        } else {
            (number - sum) + self.sum
        };
        self.sum = sum;
    }

    /// Returns the sum.
    pub fn total(&self) -> f64 {
        // Beyond the range of f64 the compensation is not a number.
        if self.sum.is_finite() { self.sum + self.rounded_away } else { self.sum }
    }

    /// Returns the sum divided by a number, rounded once: the mean of 0.1, 0.2 and 0.3 is 0.2.
    pub fn divided_by(&self, divisor: f64) -> f64 {
        let total = self.total();
        let quotient = total / divisor;
        let rest = (self.sum - total) + self.rounded_away;
        let correction = ((-quotient).mul_add(divisor, total) + rest) / divisor;
        if correction.is_finite() { quotient + correction } else { quotient }
    }
}

impl Extend<f64> for CompensatedSum {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.add(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(numbers: &[f64]) -> CompensatedSum {
        let mut sum = CompensatedSum::default();
        sum.extend(numbers.iter().copied());
        sum
    }

    #[test]
    fn small_numbers_survive_large_ones() {
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]).total(), 2.0);
        assert_eq!(sum(&[0.1; 10]).total(), 1.0);
        assert_eq!(sum(&[0.1, 0.2, 0.3]).divided_by(3.0), 0.2);
        assert_eq!(sum(&[]).total(), 0.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).total(), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX]).divided_by(2.0), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whole_numbers_are_exact(numbers in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 0..200)) {
            let floats: Vec<f64> = numbers.iter().map(|number| *number as f64).collect();
            prop_assert_eq!(sum(&floats).total(), numbers.iter().sum::<i64>() as f64);
        }

        #[test]
        fn a_mean_lies_between_least_and_greatest(numbers in prop::collection::vec(-1e6..1e6, 1..200)) {
            let mean = sum(&numbers).divided_by(numbers.len() as f64);
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!((least..=greatest).contains(&mean), "{least} {mean} {greatest}");
        }
    }
}
