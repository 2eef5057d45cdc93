//! chrF and chrF++ (Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015;
//! "chrF++: words helping character n-grams", WMT 2017) from their counts, as sacreBLEU 2 has it.

use serde::{Deserialize, Serialize};

/// Largest supported order of n-grams of characters or words.
pub const MAX_ORDER: u8 = 16;

/// Key of the shape and the counts in the detail of a card.
pub const DETAIL_KEY: &str = "chrf";

/// Selection of n-grams, and the method that turns their counts into a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChrfShape {
    /// Largest order of n-grams of characters; 6 by default.
    pub char_order: u8,
    /// Largest order of n-grams of words; 0 by default, 2 for chrF++.
    pub word_order: u8,
    /// Weight of recall relative to precision; 2 by default.
    pub beta: f64,
    /// True if an order without n-grams counts as a very small score instead of being ignored.
    pub eps_smoothing: bool,
}

/// For each order, characters first: the number of n-grams in the prediction, in the reference, and in both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChrfCounts(pub Vec<[u64; 3]>);

/// Detail of a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChrfDetail {
    /// The n-grams that were counted.
    pub shape: ChrfShape,
    /// The counts, one per order of the shape.
    pub counts: ChrfCounts,
}

impl ChrfShape {
    /// Returns the number of orders.
    pub fn orders(self) -> usize {
        usize::from(self.char_order) + usize::from(self.word_order)
    }

    /// Returns whether there is an order, no order is too large, and the weight is a number.
    pub fn is_sound(self) -> bool {
        self.orders() > 0
            && self.char_order.max(self.word_order) <= MAX_ORDER
            && self.beta.is_finite()
            && self.beta >= 0.0
    }

    /// Returns the score from 0 to 100. It is 0 if nothing matches.
    pub fn score(self, counts: &ChrfCounts) -> f64 {
        const EPSILON: f64 = 1e-16;
        let factor = self.beta * self.beta;
        let (mut smoothed, mut precisions, mut recalls, mut orders) = (0.0, 0.0, 0.0, 0.0);
        for [predicted, expected, matched] in &counts.0 {
            let share = |of: u64| if of > 0 { *matched as f64 / of as f64 } else { EPSILON };
            let (precision, recall) = (share(*predicted), share(*expected));
            let weighted = factor * precision + recall;
            smoothed += if weighted > 0.0 { (1.0 + factor) * precision * recall / weighted } else { EPSILON };
            if *predicted > 0 && *expected > 0 {
                precisions += precision;
                recalls += recall;
                orders += 1.0;
            }
        }
        if self.eps_smoothing {
            return 100.0 * smoothed / self.orders() as f64;
        }
        if orders == 0.0 || precisions + recalls == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precisions / orders, recalls / orders);
        100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))
    }
}

impl ChrfCounts {
    /// Adds the counts of another text. Returns `false` and adds nothing if the orders differ.
    #[must_use]
    pub fn add(&mut self, other: &ChrfCounts) -> bool {
        if self.0.len() != other.0.len() {
            return false;
        }
        for (sums, counts) in self.0.iter_mut().zip(&other.0) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(*count);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ChrfShape = ChrfShape { char_order: 2, word_order: 0, beta: 2.0, eps_smoothing: false };

    #[test]
    fn scores() {
        let smoothed = ChrfShape { eps_smoothing: true, ..SHAPE };
        for (shape, counts, expected) in [
            (SHAPE, vec![[4, 4, 4], [3, 3, 3]], 100.0),
            (SHAPE, vec![[4, 4, 4], [0, 3, 0]], 100.0),
            (SHAPE, vec![[4, 8, 4], [0, 0, 0]], 100.0 * 5.0 * 0.5 / 4.5),
            (SHAPE, vec![[4, 4, 0], [3, 3, 0]], 0.0),
            (SHAPE, vec![[0, 0, 0], [0, 0, 0]], 0.0),
            (smoothed, vec![[4, 4, 4], [0, 0, 0]], 50.0),
        ] {
            let found = shape.score(&ChrfCounts(counts.clone()));
            assert!((found - expected).abs() < 1e-9, "{counts:?}: {found} {expected}");
        }
    }

    #[test]
    fn shapes_are_checked() {
        assert!(SHAPE.is_sound());
        for shape in [
            ChrfShape { char_order: 0, ..SHAPE },
            ChrfShape { word_order: 17, ..SHAPE },
            ChrfShape { beta: f64::NAN, ..SHAPE },
            ChrfShape { beta: -1.0, ..SHAPE },
        ] {
            assert!(!shape.is_sound(), "{shape:?}");
        }
    }

    #[test]
    fn counts_of_other_orders_are_not_added() {
        let mut sum = ChrfCounts(vec![[1, 2, 1]]);
        assert!(!sum.add(&ChrfCounts(Vec::new())));
        assert!(sum.add(&sum.clone()));
        assert_eq!(sum.0, [[2, 4, 2]]);
    }
}
