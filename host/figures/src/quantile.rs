//! Quantiles of numbers that are all in memory, and the intervals of quantiles.

use crate::statistics::LEVEL_95;
use crate::{CompensatedSum, Interval, IntervalMethod, RobustMean};
use std::collections::BTreeMap;

/// Returns a quantile, given in thousandths: 500 is the median. `None` without numbers.
///
/// Between two numbers it is interpolated by definition 7 of Hyndman and Fan, "Sample Quantiles in
/// Statistical Packages", The American Statistician 50 (1996). Reorders the numbers; takes linear time.
pub(crate) fn quantile(numbers: &mut [f64], per_mille: u64) -> Option<f64> {
    let (rank, fraction) = rank(numbers.len() as u64, per_mille)?;
    let position = usize::try_from(rank).ok().filter(|position| *position < numbers.len())?;
    let (_, lower, above) = numbers.select_nth_unstable_by(position, f64::total_cmp);
    let lower = *lower;
    let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lower);
    Some(between(lower, upper, fraction))
}

/// Returns the position of a quantile among `count` sorted numbers: the rank of the lower number, counted
/// from 0, and the fraction of the distance to the next. `None` without numbers.
pub(crate) fn rank(count: u64, per_mille: u64) -> Option<(u64, f64)> {
    // Integer arithmetic avoids rounding.
    let thousandths = count.checked_sub(1)?.saturating_mul(per_mille.min(1_000));
    Some((thousandths / 1_000, (thousandths % 1_000) as f64 / 1_000.0))
}

/// Interpolates between the lower and the upper number.
pub(crate) fn between(lower: f64, upper: f64, fraction: f64) -> f64 {
    if fraction == 0.0 || lower == upper {
        lower
    } else if fraction == 0.5 {
        lower.midpoint(upper)
    } else {
        // Not `clamp`, which panics on NaN: a resample beyond the range of `f64` may contain one.
        (lower * (1.0 - fraction) + upper * fraction).max(lower).min(upper)
    }
}

/// Number of standard deviations from the expected count beyond which the binomial distribution is neglected.
const MAX_DEVIATIONS: f64 = 12.0;

/// Returns the interval of a quantile, given in thousandths, from the sorted scores of independent samples: two of the
/// scores. `None` if there are too few scores for both ends: 6 for the median, 36 for p90, 368 for p99.
///
/// It holds for every distribution, with a level of at least 95 %: David and Nagaraja, "Order Statistics" (2003), section
/// 7.1.
pub(crate) fn quantile_interval(sorted: &[f64], per_mille: u64) -> Option<Interval> {
    let (low, high) = rank_bounds(sorted.len() as u64, per_mille)?;
    of_ranks(sorted, low, high)
}

/// Returns the interval of a quantile from the scores of clustered samples, each with its cluster. `None` if there are too
/// few for both ends.
///
/// The interval of the share of scores up to the quantile is that of a clustered proportion; it encloses scores at these
/// shares: Woodruff, "Confidence Intervals for Medians and Other Position Measures", Journal of the American Statistical
/// Association 47 (1952).
pub(crate) fn clustered_quantile_interval(
    scores: &mut [(f64, u64)],
    value: f64,
    per_mille: u64,
) -> Option<Interval> {
    scores.sort_by(|(one, _), (two, _)| one.total_cmp(two));
    let mut clusters: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (score, cluster) in scores.iter() {
        let (below, size) = clusters.entry(*cluster).or_default();
        *below += f64::from(u8::from(*score <= value));
        *size += 1.0;
    }
    let share = RobustMean::of_units(clusters.values().copied())?;
    let share = RobustMean { mean: per_mille as f64 / 1_000.0, ..share };
    let count = scores.len() as f64;
    let trials = if share.variance > 0.0 { count } else { share.effective };
    let interval = share.proportion_interval(trials, IntervalMethod::Cluster)?;
    let sorted: Vec<f64> = scores.iter().map(|(score, _)| *score).collect();
    // Casts: both are from 0 to the number of scores.
    let (low, high) = ((interval.low * count).floor() as u64, (interval.high * count).floor() as u64 + 1);
    of_ranks(&sorted, low, high).map(|found| Interval { method: IntervalMethod::Cluster, ..found })
}

/// Returns the interval between the scores with two ranks, counted from 1.
fn of_ranks(sorted: &[f64], low: u64, high: u64) -> Option<Interval> {
    let score = |rank: u64| sorted.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
    Some(Interval::of_95(score(low)?, score(high)?, IntervalMethod::OrderStatistics))
}

/// Returns the ranks, counted from 1, of two of `count` sorted scores that enclose a quantile with a probability of at least
/// 95 %, and miss it on either side with at most 2.5 %. `None` if there are none.
fn rank_bounds(count: u64, per_mille: u64) -> Option<(u64, u64)> {
    let share = per_mille as f64 / 1_000.0;
    let trials = count as f64;
    let expected = trials * share;
    let reach = MAX_DEVIATIONS * (expected * (1.0 - share)).sqrt() + MAX_DEVIATIONS;
    // Casts: both are from 0 to the count.
    let (first, last) = ((expected - reach).max(0.0) as u64, (expected + reach).min(trials) as u64);
    // The probabilities of the binomial distribution, relative to that of the first count. They are scaled, so that none
    // overflows.
    let odds = share / (1.0 - share);
    let mut weights = vec![1.0_f64];
    for successes in first..last {
        let ratio = (count - successes) as f64 / (successes + 1) as f64 * odds;
        let next = weights.last().copied().unwrap_or_default() * ratio;
        weights.push(next);
        if next > 1e200 {
            weights.iter_mut().for_each(|weight| *weight *= 1e-200);
        }
    }
    let mut all = CompensatedSum::default();
    all.extend(weights.iter().copied());
    let most = (1.0 - LEVEL_95) / 2.0 * all.total();
    // The rank l misses if fewer than l scores are below the quantile, and u if at least u are.
    let misses = |weights: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        weights
            .take_while(|weight| {
                sum += **weight;
                sum <= most
            })
            .count() as u64
    };
    let below = misses(&mut weights.iter());
    let above = misses(&mut weights.iter().rev());
    let (low, high) = (first + below, last + 1 - above);
    (below > 0 && above > 0 && low >= 1 && high <= count).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_definition_7() {
        // By `numpy.quantile`, whose default is the same definition.
        let numbers = [15.0, 20.0, 35.0, 40.0, 50.0];
        let cases =
            [(50, 16.0), (250, 20.0), (300, 23.0), (400, 29.0), (500, 35.0), (900, 46.0), (990, 49.6)];
        for (per_mille, expected) in cases {
            let found = quantile(&mut numbers.clone(), per_mille).unwrap();
            assert!((found - expected).abs() < 1e-12, "{per_mille}: {found}");
        }
        assert_eq!(quantile(&mut [], 500), None);
        assert_eq!(quantile(&mut [7.0], 990), Some(7.0));
        assert_eq!(quantile(&mut [f64::MAX, f64::MAX], 500), Some(f64::MAX));
    }

    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        // By `scipy.stats.binom`: P(B < low) and P(B >= high) are at most 0.025, and adjacent ranks are not.
        for (count, per_mille, expected) in [
            (5, 500, None),
            (6, 500, Some((1, 6))),
            (20, 500, Some((6, 15))),
            (401, 500, Some((181, 221))),
            (35, 900, None),
            (36, 900, Some((29, 36))),
            (367, 990, None),
            (368, 990, Some((360, 368))),
            (36, 100, Some((1, 8))),
            (100_000, 500, Some((49_690, 50_311))),
        ] {
            assert_eq!(rank_bounds(count, per_mille), expected, "{count} {per_mille}");
        }
    }

    #[test]
    fn clusters_of_one_are_like_samples_and_equal_ones_are_wider() {
        let mut scores: Vec<(f64, u64)> = (1..=400).map(|score| (f64::from(score), score as u64)).collect();
        let single = clustered_quantile_interval(&mut scores, 200.5, 500).unwrap();
        assert!((single.low - 181.0).abs() < 3.0 && (single.high - 221.0).abs() < 3.0, "{single:?}");
        scores.iter_mut().for_each(|(score, cluster)| *cluster = (*score as u64) / 20);
        let wide = clustered_quantile_interval(&mut scores, 200.5, 500).unwrap();
        assert!(wide.low < 130.0 && wide.high > 270.0, "{wide:?}");
        scores.iter_mut().for_each(|(_, cluster)| *cluster = 1);
        assert_eq!(clustered_quantile_interval(&mut scores, 200.5, 500), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn quantiles_grow_and_stay_between_the_ends(numbers in prop::collection::vec(-1e6..1e6, 1..60)) {
            let of = |per_mille: u64| quantile(&mut numbers.clone(), per_mille).unwrap();
            let found: Vec<f64> = (0..=20).map(|step| of(step * 50)).collect();
            prop_assert!(found.is_sorted(), "{found:?}");
            prop_assert_eq!(of(0), numbers.iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(of(1_000), numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
    }
}
