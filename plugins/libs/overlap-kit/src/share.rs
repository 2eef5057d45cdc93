//! Precision, recall and their F1.

/// Shares of a prediction and a reference that are in both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Share of the prediction, 0 to 1.
    pub precision: f64,
    /// Share of the reference, 0 to 1.
    pub recall: f64,
    /// Harmonic mean of the two; 0 if both are.
    pub f1: f64,
}

impl Share {
    /// Creates a share from the number of matches, and of the parts of the prediction and the reference.
    pub fn new(matches: u64, predicted: u64, expected: u64) -> Share {
        let of = |whole: u64| matches as f64 / whole.max(1) as f64;
        let (precision, recall) = (of(predicted), of(expected));
        let sum = precision + recall;
        let f1 = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Share { precision, recall, f1 }
    }

    /// Keeps the better share, or the first if they are equal. Returns whether `best` was replaced.
    pub fn raise_to(best: &mut Option<Share>, other: Share) -> bool {
        let is_better = best.is_none_or(|best| other.f1 > best.f1);
        if is_better {
            *best = Some(other);
        }
        is_better
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(Share::new(0, 0, 0), Share::default());
        assert_eq!(Share::new(1, 2, 1), Share { precision: 0.5, recall: 1.0, f1: 2.0 / 3.0 });
        let mut best = None;
        assert!(Share::raise_to(&mut best, Share::new(0, 1, 1)));
        assert!(!Share::raise_to(&mut best, Share::new(0, 2, 2)));
        assert!(Share::raise_to(&mut best, Share::new(1, 2, 1)));
    }
}
