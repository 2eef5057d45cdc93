//! Sums that do not lose small terms next to large ones.

use serde::{Deserialize, Serialize};

/// A sum with compensation (Neumaier 1974): the digits that an addition loses are kept apart and added
/// at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        let sum = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - sum) + term
        } else {
            (term - sum) + self.total
        };
        self.total = sum;
    }

    /// Returns the sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Sum {
        let mut sum = Sum::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_stay() {
        let sum: Sum = [1.0, 1e100, 1.0, -1e100].into_iter().collect();
        assert_eq!(sum.value(), 2.0);
        assert_eq!(Sum::default().value(), 0.0);
    }
}
