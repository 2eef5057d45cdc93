//! Precision, recall and their F1.

/// What part of a prediction and of a reference is in both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Of the prediction, 0 to 1.
    pub precision: f64,
    /// Of the reference, 0 to 1.
    pub recall: f64,
    /// Their harmonic mean; 0 where both are.
    pub f1: f64,
}

impl Share {
    /// Of so many matches among the parts of a prediction and those of a reference.
    pub fn new(matches: u64, predicted: u64, expected: u64) -> Share {
        let of = |whole: u64| matches as f64 / whole.max(1) as f64;
        let (precision, recall) = (of(predicted), of(expected));
        let sum = precision + recall;
        let f1 = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Share { precision, recall, f1 }
    }

    /// Keeps the better; of two that are equally good the first. Tells whether it was replaced.
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
