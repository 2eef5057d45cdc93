//! Results of resampling.

use super::*;
use proptest::prelude::*;

fn drawn(score: f64, cluster: u64) -> ResampledScore {
    ResampledScore { score, weight: 1.0, cluster }
}

fn resampled(scores: &[ResampledScore], statistic: Statistic, is_clustered: bool) -> Option<(f64, Interval)> {
    let mut reservoir = Reservoir::new(1_000);
    scores.iter().for_each(|drawn| reservoir.add(*drawn));
    reservoir.resample(statistic, is_clustered)
}

#[test]
fn an_interval_of_a_mean_is_near_that_of_the_formula() {
    let scores: Vec<ResampledScore> =
        (0..400).map(|number| drawn(f64::from(number % 20), number as u64)).collect();
    let mut spread = Spread::default();
    scores.iter().for_each(|drawn| spread.add(drawn.score));
    let expected = spread.standard_error().unwrap();
    let found = resampled(&scores, Statistic::WeightedMean, false).unwrap();
    assert!((found.0 / expected - 1.0).abs() < 0.1, "{found:?} {expected}");
    let half_width = (found.1.high - found.1.low) / 2.0;
    assert!((half_width / (1.96 * expected) - 1.0).abs() < 0.1, "{found:?}");
    assert_eq!(found.1.method, IntervalMethod::Bootstrap);
}

#[test]
fn an_interval_of_a_median_is_near_that_of_the_order_statistics() {
    // Among 401 numbers, the ranks 181 and 221 enclose the median with a probability of 95 % (binomial distribution).
    let scores: Vec<ResampledScore> = (1..=401).map(|number| drawn(f64::from(number), 0)).collect();
    let found = resampled(&scores, Statistic::Quantile(500), false).unwrap().1;
    assert!((found.low - 181.0).abs() < 5.0 && (found.high - 221.0).abs() < 5.0, "{found:?}");
}

#[test]
fn clusters_are_drawn_whole() {
    // Two samples in each of twenty clusters carry no more information than one of each.
    let once: Vec<ResampledScore> = (0..20).map(|number| drawn((number % 7) as f64, number)).collect();
    let twice: Vec<ResampledScore> = once.iter().flat_map(|drawn| [*drawn, *drawn]).collect();
    for statistic in [Statistic::WeightedMean, Statistic::Quantile(500)] {
        let clustered = resampled(&twice, statistic, true).unwrap();
        let alone = resampled(&twice, statistic, false).unwrap();
        assert!(clustered.0 > alone.0, "{statistic:?}: {clustered:?} {alone:?}");
    }
    assert_eq!(
        resampled(&twice, Statistic::WeightedMean, true),
        resampled(&once, Statistic::WeightedMean, false)
    );
}

#[test]
fn one_score_or_cluster_says_nothing() {
    for statistic in [Statistic::WeightedMean, Statistic::Quantile(500)] {
        assert_eq!(resampled(&[], statistic, false), None);
        assert_eq!(resampled(&[drawn(1.0, 0)], statistic, false), None);
        assert_eq!(resampled(&[drawn(1.0, 3), drawn(2.0, 3)], statistic, true), None);
        let same = resampled(&[drawn(1.0, 3), drawn(1.0, 4)], statistic, true).unwrap();
        assert_eq!((same.0, same.1.low, same.1.high), (0.0, 1.0, 1.0));
    }
    let weightless = ResampledScore { weight: 0.0, ..drawn(1.0, 0) };
    assert_eq!(resampled(&[weightless, weightless], Statistic::WeightedMean, false), None);
}

#[test]
fn a_reservoir_keeps_its_limit_and_every_score_alike() {
    let mut reservoir = Reservoir::new(1_000);
    (0..100_000).for_each(|number| reservoir.add(drawn(f64::from(number), 0)));
    assert_eq!(reservoir.kept.len(), 1_000);
    let early = reservoir.kept.iter().filter(|drawn| drawn.score < 50_000.0).count();
    assert!((430..=570).contains(&early), "{early}");
}

/// The bytes of a summary depend on these numbers, which were computed by the same steps in Python.
#[test]
fn resamples_never_change() {
    let scores: Vec<ResampledScore> =
        (0..50).map(|number| drawn(f64::from(number * number % 17), 0)).collect();
    let cases = [
        (Statistic::Quantile(500), 4.0, 9.0, 1.2522328406039687),
        (Statistic::WeightedMean, 6.54, 9.62, 0.7930218340179731),
    ];
    for (statistic, low, high, stderr) in cases {
        let found = resampled(&scores, statistic, false).unwrap();
        let differences = [found.1.low - low, found.1.high - high, found.0 - stderr];
        assert!(differences.iter().all(|difference| difference.abs() < 1e-12), "{statistic:?}: {found:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_same_scores_give_the_same_interval_within_them(
        scores in prop::collection::vec((-1e3..1e3, 0.1..5.0, 0_u64..6), 2..40),
        per_mille in 0_u64..=1_000,
        is_clustered in any::<bool>(),
    ) {
        let scores: Vec<ResampledScore> =
            scores.into_iter().map(|(score, weight, cluster)| ResampledScore { score, weight, cluster }).collect();
        let least = scores.iter().map(|drawn| drawn.score).fold(f64::INFINITY, f64::min);
        let greatest = scores.iter().map(|drawn| drawn.score).fold(f64::NEG_INFINITY, f64::max);
        for statistic in [Statistic::WeightedMean, Statistic::Quantile(per_mille)] {
            let found = resampled(&scores, statistic, is_clustered);
            prop_assert_eq!(found, resampled(&scores, statistic, is_clustered));
            let Some((stderr, interval)) = found else { continue };
            prop_assert!(stderr >= 0.0 && interval.low <= interval.high);
            prop_assert!(interval.low >= least - 1e-9 && interval.high <= greatest + 1e-9);
        }
    }

    /// The result of one pass over the counts is the quantile of the drawn scores, listed in full.
    #[test]
    fn resampled_quantiles_are_quantiles(
        scores in prop::collection::vec(-1e3..1e3, 2..30),
        per_mille in 0_u64..=1_000,
    ) {
        let mut kept: Vec<ResampledScore> = scores.iter().map(|score| drawn(*score, 0)).collect();
        kept.sort_by(|one, two| one.score.total_cmp(&two.score));
        let found = resampled_quantiles(&kept, false, per_mille, &mut SplitMix64::new(SEED));
        let mut random = SplitMix64::new(SEED);
        for figure in found.into_iter().take(50) {
            let draw = |_| kept[random.below(kept.len() as u64) as usize].score;
            let mut written_out: Vec<f64> = (0..kept.len()).map(draw).collect();
            prop_assert_eq!(Some(figure), quantile(&mut written_out, per_mille));
        }
    }
}

#[test]
fn numbers_at_the_end_of_the_range_are_no_panic() {
    let scores: Vec<ResampledScore> =
        (0..40).map(|number| drawn(if number % 2 == 0 { f64::MAX } else { -f64::MAX }, number)).collect();
    for statistic in [Statistic::WeightedMean, Statistic::Quantile(500), Statistic::Quantile(900)] {
        for is_clustered in [false, true] {
            let found = resampled(&scores, statistic, is_clustered);
            assert!(found.is_none_or(|found| found.1.low <= found.1.high), "{found:?}");
        }
    }
}
