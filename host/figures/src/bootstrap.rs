//! Bootstrap: the uncertainty of a figure by resampling, if there is no formula.

use crate::quantile::{between, quantile, rank};
use crate::random::SplitMix64;
use crate::{Interval, IntervalMethod, Spread};
use std::collections::BTreeMap;

/// Number of resamples.
const RESAMPLES: usize = 1_000;

/// Seed of the random numbers, used afresh for every figure. It must never change, or the same records would
/// give different bytes.
const SEED: u64 = 0x6761_6765_2d68_6f73;

/// A score that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ResampledScore {
    pub(crate) score: f64,
    pub(crate) weight: f64,
    /// The cluster that it belongs to; 0 without clusters.
    pub(crate) cluster: u64,
}

/// Keeps at most `limit` scores; each score seen is kept with the same probability.
///
/// Algorithm R of Vitter, "Random Sampling with a Reservoir", ACM Transactions on Mathematical
/// Software 11 (1985).
#[derive(Clone, Debug)]
pub(crate) struct Reservoir {
    limit: u64,
    seen: u64,
    kept: Vec<ResampledScore>,
    random: SplitMix64,
}

/// Statistic computed for every resample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    /// A quantile of the scores, in thousandths.
    Quantile(u64),
    /// The weighted mean.
    WeightedMean,
}

impl Reservoir {
    pub(crate) fn new(limit: u64) -> Reservoir {
        Reservoir { limit, seen: 0, kept: Vec::new(), random: SplitMix64::new(SEED) }
    }

    pub(crate) fn add(&mut self, drawn: ResampledScore) {
        self.seen += 1;
        if self.seen <= self.limit {
            self.kept.push(drawn);
        } else if let Ok(place) = usize::try_from(self.random.below(self.seen))
            && let Some(kept) = self.kept.get_mut(place)
        {
            *kept = drawn;
        }
    }

    /// Resamples the scores, or whole clusters of them, with replacement. Returns the standard deviation of the
    /// resampled figures and the interval; `None` for fewer than two scores or clusters.
    ///
    /// The interval is from the percentile method, with its ends at the 2.5 and 97.5 percentiles: Efron,
    /// "Bootstrap Methods: Another Look at the Jackknife", The Annals of Statistics 7 (1979).
    pub(crate) fn resample(mut self, statistic: Statistic, is_clustered: bool) -> Option<(f64, Interval)> {
        let mut random = SplitMix64::new(SEED);
        let mut figures = match statistic {
            Statistic::Quantile(per_mille) => {
                self.kept.sort_by(|one, two| one.score.total_cmp(&two.score));
                resampled_quantiles(&self.kept, is_clustered, per_mille, &mut random)
            }
            Statistic::WeightedMean => resampled_means(&self.kept, is_clustered, &mut random),
        };
        let mut spread = Spread::default();
        figures.iter().for_each(|figure| spread.add(*figure));
        let (low, high) = (quantile(&mut figures, 25)?, quantile(&mut figures, 975)?);
        let interval = Interval::of_95(low, high, IntervalMethod::Bootstrap);
        let is_finite = low.is_finite() && high.is_finite();
        spread.standard_deviation().filter(|_| is_finite).map(|stderr| (stderr, interval))
    }
}

/// Returns the number of each score's unit, and the number of units. A unit is drawn as a whole: a single score,
/// or a cluster, in the order of the ids.
fn units(kept: &[ResampledScore], is_clustered: bool) -> (Vec<usize>, usize) {
    if !is_clustered {
        return ((0..kept.len()).collect(), kept.len());
    }
    let mut numbers: BTreeMap<u64, usize> = kept.iter().map(|drawn| (drawn.cluster, 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    let of = |drawn: &ResampledScore| numbers.get(&drawn.cluster).copied().unwrap_or_default();
    (kept.iter().map(of).collect(), numbers.len())
}

fn resampled_means(kept: &[ResampledScore], is_clustered: bool, random: &mut SplitMix64) -> Vec<f64> {
    let (units, count) = units(kept, is_clustered);
    let mut sums = vec![(0.0, 0.0); count];
    for (drawn, unit) in kept.iter().zip(units) {
        if let Some((products, weights)) = sums.get_mut(unit) {
            *products += drawn.score * drawn.weight;
            *weights += drawn.weight;
        }
    }
    if count < 2 {
        return Vec::new();
    }
    let mut mean = |_| {
        let (mut products, mut weights) = (0.0, 0.0);
        for _ in 0..count {
            if let Some((product, weight)) = sums.get(random.below(count as u64) as usize) {
                products += product;
                weights += weight;
            }
        }
        // A resample whose weights are all zero has no mean.
        (weights > 0.0).then(|| products / weights)
    };
    (0..RESAMPLES).filter_map(&mut mean).collect()
}

/// Resamples quantiles of sorted scores: a resample is the number of times that each score occurs, and its
/// quantile is found in one pass.
fn resampled_quantiles(
    sorted: &[ResampledScore],
    is_clustered: bool,
    per_mille: u64,
    random: &mut SplitMix64,
) -> Vec<f64> {
    let (units, count) = units(sorted, is_clustered);
    let mut times = vec![0_u32; count];
    if count < 2 {
        return Vec::new();
    }
    let mut quantile = |_| {
        times.fill(0);
        for _ in 0..count {
            if let Some(times) = times.get_mut(random.below(count as u64) as usize) {
                *times += 1;
            }
        }
        let occurrences = || {
            let times_of = |unit: &usize| u64::from(times.get(*unit).copied().unwrap_or_default());
            sorted.iter().zip(units.iter().map(times_of)).filter(|(_, times)| *times > 0)
        };
        let total = if is_clustered { occurrences().map(|(_, times)| times).sum() } else { count as u64 };
        let (rank, fraction) = rank(total, per_mille)?;
        let mut before = 0;
        let mut lower = None;
        for (drawn, times) in occurrences() {
            before += times;
            match lower {
                Some(lower) => return Some(between(lower, drawn.score, fraction)),
                None if before > rank + 1 => return Some(drawn.score),
                None if before == rank + 1 => lower = Some(drawn.score),
                None => {}
            }
        }
        lower
    };
    (0..RESAMPLES).filter_map(&mut quantile).collect()
}

#[cfg(test)]
mod tests;
