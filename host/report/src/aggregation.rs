//! How scores become one figure.

use crate::CompensatedSum;
use serde::{Deserialize, Serialize};

/// A way to make one figure of many scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The arithmetic mean.
    Mean,
    /// The mean weighted by `detail.weight` of each score card, 1 where it says nothing; 0 when
    /// all weights are 0.
    WeightedMean,
    /// The sum.
    Sum,
    /// The least score.
    Min,
    /// The greatest score.
    Max,
    /// The middle score, of an even number the mean of the middle two. Keeps 8 bytes a score.
    Median,
    /// No figure: the scores are counted, and listed in `samples.jsonl`.
    Identity,
}

impl Aggregation {
    /// Every aggregation.
    pub const ALL: [Aggregation; 7] = [
        Aggregation::Mean,
        Aggregation::WeightedMean,
        Aggregation::Sum,
        Aggregation::Min,
        Aggregation::Max,
        Aggregation::Median,
        Aggregation::Identity,
    ];

    /// The name in suites.
    pub fn name(self) -> &'static str {
        match self {
            Aggregation::Mean => "mean",
            Aggregation::WeightedMean => "weighted_mean",
            Aggregation::Sum => "sum",
            Aggregation::Min => "min",
            Aggregation::Max => "max",
            Aggregation::Median => "median",
            Aggregation::Identity => "identity",
        }
    }

    /// The aggregation with this name.
    pub fn from_name(name: &str) -> Option<Aggregation> {
        Aggregation::ALL.into_iter().find(|aggregation| aggregation.name() == name)
    }
}

impl std::fmt::Display for Aggregation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Makes one figure of scores that are seen once, in dataset order.
#[derive(Clone, Debug)]
pub struct Accumulator {
    count: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Mean(CompensatedSum),
    WeightedMean { products: CompensatedSum, weights: CompensatedSum },
    Sum(CompensatedSum),
    Min(f64),
    Max(f64),
    Median(Vec<f64>),
    Identity,
}

impl Accumulator {
    /// An accumulator without scores.
    pub fn new(aggregation: Aggregation) -> Accumulator {
        let zero = CompensatedSum::default();
        let state = match aggregation {
            Aggregation::Mean => State::Mean(zero),
            Aggregation::WeightedMean => State::WeightedMean { products: zero, weights: zero },
            Aggregation::Sum => State::Sum(zero),
            Aggregation::Min => State::Min(f64::INFINITY),
            Aggregation::Max => State::Max(f64::NEG_INFINITY),
            Aggregation::Median => State::Median(Vec::new()),
            Aggregation::Identity => State::Identity,
        };
        Accumulator { count: 0, state }
    }

    /// Adds a score; the weight counts only for [`Aggregation::WeightedMean`].
    pub fn add(&mut self, score: f64, weight: f64) {
        self.count += 1;
        match &mut self.state {
            State::Mean(sum) | State::Sum(sum) => sum.add(score),
            State::WeightedMean { products, weights } => {
                products.add(score * weight);
                weights.add(weight);
            }
            State::Min(least) => *least = least.min(score),
            State::Max(greatest) => *greatest = greatest.max(score),
            State::Median(scores) => scores.push(score),
            State::Identity => {}
        }
    }

    /// Number of scores.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The figure; `None` without scores.
    pub fn value(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        match &self.state {
            State::Mean(sum) => Some(sum.divided_by(self.count as f64)),
            State::WeightedMean { products, weights } => match weights.total() {
                0.0 => Some(0.0),
                total => Some(products.divided_by(total)),
            },
            State::Sum(sum) => Some(sum.total()),
            State::Min(score) | State::Max(score) => Some(*score),
            State::Median(scores) => median(scores.clone()),
            State::Identity => None,
        }
    }
}

fn median(mut scores: Vec<f64>) -> Option<f64> {
    let middle = scores.len() / 2;
    let is_even = scores.len().is_multiple_of(2);
    if scores.is_empty() {
        return None;
    }
    let (below, upper, _) = scores.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if is_even => Some(lower.midpoint(upper)),
        _ => Some(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(aggregation: Aggregation, scores: &[(f64, f64)]) -> Option<f64> {
        let mut accumulator = Accumulator::new(aggregation);
        scores.iter().for_each(|(score, weight)| accumulator.add(*score, *weight));
        assert_eq!(accumulator.count(), scores.len() as u64);
        accumulator.value()
    }

    #[test]
    fn names_are_those_of_serde_and_come_back() {
        for aggregation in Aggregation::ALL {
            assert_eq!(serde_json::to_value(aggregation).unwrap(), aggregation.name());
            assert_eq!(Aggregation::from_name(aggregation.name()), Some(aggregation));
            assert_eq!(value(aggregation, &[]), None);
        }
        assert_eq!(Aggregation::from_name("categorical_count"), None);
    }

    #[test]
    fn each_aggregation_makes_its_figure() {
        use Aggregation::{Identity, Max, Mean, Median, Min, Sum, WeightedMean};
        let scores = [(3.0, 1.0), (1.0, 3.0), (2.0, 0.0), (10.0, 0.0)];
        let cases = [
            (Mean, Some(4.0)),
            (WeightedMean, Some(1.5)),
            (Sum, Some(16.0)),
            (Min, Some(1.0)),
            (Max, Some(10.0)),
            (Median, Some(2.5)),
            (Identity, None),
        ];
        for (aggregation, expected) in cases {
            assert_eq!(value(aggregation, &scores), expected, "{aggregation}");
        }
        assert_eq!(value(Median, &scores[..3]), Some(2.0));
        assert_eq!(value(Median, &scores[..1]), Some(3.0));
    }

    /// What the older program gives for the same scores; its mean of 0.1, 0.2 and 0.3 has
    /// another last digit, because it adds without compensation.
    #[test]
    fn figures_agree_with_the_older_program() {
        let ones = |scores: &[f64]| scores.iter().map(|score| (*score, 1.0)).collect::<Vec<_>>();
        let mean = value(Aggregation::Mean, &ones(&[0.1, 0.2, 0.3])).unwrap();
        assert!((mean - 0.20000000000000004).abs() < 1e-15);
        assert_eq!(value(Aggregation::Mean, &ones(&[1.0, 2.0])), Some(1.5));
        assert_eq!(value(Aggregation::WeightedMean, &[(1.0, 0.0)]), Some(0.0));
    }
}
