//! Bins of confidences, and their distance from the outcomes.

use gage_score_kit::Sum;
use serde::{Deserialize, Serialize};

/// One bin: sums of weights, weighted confidences and weighted correctness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bin {
    weight: Sum,
    confidence: Sum,
    correct: Sum,
}

impl Bin {
    /// Adds a prediction.
    pub(crate) fn add(&mut self, weight: f64, confidence: f64, correct: f64) {
        self.weight.add(weight);
        self.confidence.add(weight * confidence);
        self.correct.add(weight * correct);
    }

    /// Adds the predictions of another bin.
    pub(crate) fn merge(&mut self, other: &Bin) {
        self.weight.add(other.weight.value());
        self.confidence.add(other.confidence.value());
        self.correct.add(other.correct.value());
    }
}

/// Summary of all bins.
pub(crate) struct Calibration {
    /// Σ (weight of the bin / weight of all) · |accuracy − confidence|.
    pub(crate) expected: f64,
    /// Largest |accuracy − confidence| of a bin.
    pub(crate) maximum: f64,
    pub(crate) accuracy: f64,
    pub(crate) confidence: f64,
}

impl Calibration {
    /// `None` if no bin has any weight.
    pub(crate) fn of(bins: &[Bin]) -> Option<Calibration> {
        let total = |part: fn(&Bin) -> Sum| bins.iter().map(|bin| part(bin).value()).collect::<Sum>().value();
        let weight = total(|bin| bin.weight);
        if weight <= 0.0 {
            return None;
        }
        let gap = |bin: &Bin| (bin.correct.value() - bin.confidence.value()).abs();
        let filled = bins.iter().filter(|bin| bin.weight.value() > 0.0);
        Some(Calibration {
            expected: bins.iter().map(gap).collect::<Sum>().value() / weight,
            maximum: filled.map(|bin| gap(bin) / bin.weight.value()).fold(0.0, f64::max),
            accuracy: total(|bin| bin.correct) / weight,
            confidence: total(|bin| bin.confidence) / weight,
        })
    }
}

/// Returns the index of a confidence among bins of equal width. Bin m holds confidences above (m−1)/M and at most m/M,
/// and the first bin also holds 0 (Guo et al. 2017, section 2).
pub(crate) fn place(confidence: f64, bins: usize) -> usize {
    let above = (confidence * bins as f64).ceil();
    // From 0 to the number of bins: the confidence is from 0 to 1.
    (above as usize).saturating_sub(1).min(bins.saturating_sub(1))
}

/// Returns bins of equal mass: the predictions, sorted by confidence, in groups whose sizes differ by one at most,
/// larger ones first (Nixon et al. 2019, adaptive calibration error, for the top label).
pub(crate) fn equal_mass(mut predictions: Vec<(f64, f64, f64)>, bins: usize) -> Vec<Bin> {
    // Equal confidences are ordered by outcome and weight, so that the order of rows is irrelevant.
    predictions.sort_by(|left, right| {
        left.0.total_cmp(&right.0).then(left.1.total_cmp(&right.1)).then(left.2.total_cmp(&right.2))
    });
    let (size, larger) = (predictions.len() / bins.max(1), predictions.len() % bins.max(1));
    let mut rest = predictions.as_slice();
    let mut filled = Vec::with_capacity(bins);
    for index in 0..bins {
        let (group, next) = rest.split_at((size + usize::from(index < larger)).min(rest.len()));
        let mut bin = Bin::default();
        group.iter().for_each(|(confidence, correct, weight)| bin.add(*weight, *confidence, *correct));
        filled.push(bin);
        rest = next;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_below() {
        for (confidence, expected) in
            [(0.0, 0), (0.05, 0), (0.1, 0), (0.11, 1), (0.5, 4), (0.95, 9), (1.0, 9)]
        {
            assert_eq!(place(confidence, 10), expected, "{confidence}");
        }
        assert_eq!(place(1.0, 1), 0);
    }
}
