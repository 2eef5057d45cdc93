//! Accumulators: combine scores into one value.

use crate::quantile::quantile;
use crate::{Aggregation, CompensatedSum};

/// Combines scores into one value in one pass, in dataset order.
#[derive(Clone, Debug)]
pub struct Accumulator {
    count: u64,
    state: AccumulatorState,
}

#[derive(Clone, Debug)]
enum AccumulatorState {
    Mean(CompensatedSum),
    WeightedMean { products: CompensatedSum, weights: CompensatedSum },
    Sum(CompensatedSum),
    Min(f64),
    Max(f64),
    Quantile { scores: Vec<f64>, per_mille: u64 },
    Count,
    Nothing,
}

impl Accumulator {
    /// Returns an empty accumulator. For [`Aggregation::PassRate`], a score is 1 if the sample passed,
    /// otherwise 0. [`Aggregation::Categorical`], [`Aggregation::Identity`] and [`Aggregation::Custom`]
    /// have no value here.
    pub fn new(aggregation: &Aggregation) -> Accumulator {
        let zero = CompensatedSum::default();
        let state = match aggregation {
            Aggregation::Mean | Aggregation::PassRate => AccumulatorState::Mean(zero),
            Aggregation::WeightedMean => AccumulatorState::WeightedMean { products: zero, weights: zero },
            Aggregation::Sum => AccumulatorState::Sum(zero),
            Aggregation::Min => AccumulatorState::Min(f64::INFINITY),
            Aggregation::Max => AccumulatorState::Max(f64::NEG_INFINITY),
            Aggregation::Median | Aggregation::Percentile(_) => {
                let per_mille = per_mille(aggregation).unwrap_or_default();
                AccumulatorState::Quantile { scores: Vec::new(), per_mille }
            }
            Aggregation::Count => AccumulatorState::Count,
            Aggregation::Categorical | Aggregation::Identity | Aggregation::Custom(_) => {
                AccumulatorState::Nothing
            }
        };
        Accumulator { count: 0, state }
    }

    /// Adds a score; the weight counts only for [`Aggregation::WeightedMean`].
    pub fn add(&mut self, score: f64, weight: f64) {
        self.count += 1;
        match &mut self.state {
            AccumulatorState::Mean(sum) | AccumulatorState::Sum(sum) => sum.add(score),
            AccumulatorState::WeightedMean { products, weights } => {
                products.add(score * weight);
                weights.add(weight);
            }
            AccumulatorState::Min(least) => *least = least.min(score),
            AccumulatorState::Max(greatest) => *greatest = greatest.max(score),
            AccumulatorState::Quantile { scores, .. } => scores.push(score),
            AccumulatorState::Count | AccumulatorState::Nothing => {}
        }
    }

    /// Returns the number of scores.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the scores of a quantile in ascending order; empty for other aggregations.
    pub(crate) fn sorted(&mut self) -> &[f64] {
        match &mut self.state {
            AccumulatorState::Quantile { scores, .. } => {
                scores.sort_by(f64::total_cmp);
                scores
            }
            _ => &[],
        }
    }

    /// Returns the value; `None` without scores. It is infinite or NaN only if a sum exceeds the range of `f64`.
    pub fn value(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        match &self.state {
            AccumulatorState::Mean(sum) => Some(sum.divided_by(self.count as f64)),
            AccumulatorState::WeightedMean { products, weights } => match weights.total() {
                0.0 => Some(0.0),
                total => Some(products.divided_by(total)),
            },
            AccumulatorState::Sum(sum) => Some(sum.total()),
            AccumulatorState::Min(score) | AccumulatorState::Max(score) => Some(*score),
            AccumulatorState::Quantile { scores, per_mille } => quantile(&mut scores.clone(), *per_mille),
            AccumulatorState::Count => Some(self.count as f64),
            AccumulatorState::Nothing => None,
        }
    }
}

/// Returns the quantile of an aggregation, in thousandths; `None` if it is not a quantile.
pub(crate) fn per_mille(aggregation: &Aggregation) -> Option<u64> {
    match aggregation {
        Aggregation::Median => Some(500),
        Aggregation::Percentile(percent) => Some(u64::from((*percent).min(100)) * 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(aggregation: &Aggregation, scores: &[(f64, f64)]) -> Option<f64> {
        let mut accumulator = Accumulator::new(aggregation);
        scores.iter().for_each(|(score, weight)| accumulator.add(*score, *weight));
        assert_eq!(accumulator.count(), scores.len() as u64);
        accumulator.value()
    }

    #[test]
    fn each_aggregation_makes_its_figure() {
        use Aggregation::{
            Categorical, Count, Custom, Identity, Max, Mean, Median, Min, PassRate, Percentile, Sum,
            WeightedMean,
        };
        let scores = [(3.0, 1.0), (1.0, 3.0), (2.0, 0.0), (10.0, 0.0)];
        let cases = [
            (Mean, Some(4.0)),
            (WeightedMean, Some(1.5)),
            (Sum, Some(16.0)),
            (Min, Some(1.0)),
            (Max, Some(10.0)),
            (Median, Some(2.5)),
            (Percentile(50), Some(2.5)),
            (Percentile(90), Some(7.9)),
            (Percentile(1), Some(1.03)),
            (Count, Some(4.0)),
            (PassRate, Some(4.0)),
            (Categorical, None),
            (Identity, None),
            (Custom("other".to_owned()), None),
        ];
        for (aggregation, expected) in cases {
            let found = value(&aggregation, &scores);
            let is_equal =
                found.zip(expected).map_or(found == expected, |(one, two)| (one - two).abs() < 1e-12);
            assert!(is_equal, "{aggregation}: {found:?}");
            assert_eq!(value(&aggregation, &[]), None, "{aggregation}");
        }
        assert_eq!(value(&Median, &scores[..3]), Some(2.0));
        assert_eq!(value(&Median, &scores[..1]), Some(3.0));
    }

    #[test]
    fn a_mean_of_weights_0_is_0() {
        assert_eq!(value(&Aggregation::WeightedMean, &[(1.0, 0.0)]), Some(0.0));
    }
}
