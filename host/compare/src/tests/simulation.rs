//! Error rates of gates over thousands of simulated runs.

use super::super::measure::Measure;
use super::super::noninferiority::{ScoreUnits, normal_quantile};
use super::super::paired_scores::PairedScores;
use super::super::{mcnemar, sign_flip_tests};
use gage_figures::random::SplitMix64;

const GATES: u32 = 10_000;
const ALPHA: f64 = 0.05;

fn measure() -> Measure {
    Measure { metric_id: "m".to_owned(), sub_score: None, is_pass: false, higher_is_better: true }
}

/// A number from 0 to below 1.
fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns the maximum number of wrong gates among 10,000 at the level alpha: the mean plus five standard errors.
fn most_wrong() -> u32 {
    let count = f64::from(GATES);
    (count * ALPHA + 5.0 * (count * ALPHA * (1.0 - ALPHA)).sqrt()) as u32
}

#[test]
fn runs_that_did_not_change_are_seldom_called_a_regression() {
    let mut random = SplitMix64::new(11);
    let mut called = 0;
    for _ in 0..GATES {
        // 500 samples; a fifth of them changes from run to run, in either direction.
        let (mut worse, mut better) = (0, 0);
        for _ in 0..500 {
            match uniform(&mut random) {
                low if low < 0.1 => worse += 1,
                low if low < 0.2 => better += 1,
                _ => {}
            }
        }
        called += u32::from(mcnemar::worse_p_value(worse, better) <= ALPHA);
    }
    // The exact test keeps its level; discreteness puts it below.
    assert!(f64::from(called) <= f64::from(GATES) * ALPHA, "{called} of {GATES}");
    assert!(called > 200, "{called}: the test would see nothing");
}

#[test]
fn unchanged_graded_scores_are_seldom_a_regression() {
    let mut random = SplitMix64::new(12);
    let mut called = 0;
    for gate in 0..u64::from(GATES) {
        let mut scores = PairedScores::new(false, None);
        for _ in 0..60 {
            // Skewed, and the same in both runs.
            let (base, new) = (uniform(&mut random).powi(4), uniform(&mut random).powi(4));
            scores.add(&measure(), base, new, 0);
        }
        let test = scores.test(gate, 197).unwrap_err();
        let found = sign_flip_tests(&[test], 1)[0];
        called += u32::from(found.worse <= ALPHA);
    }
    // The test rejects for the nine lowest of 198 sums, so 455 of 10,000 are expected, with a standard error of 21.
    assert!(f64::from(called) <= f64::from(GATES) * ALPHA, "{called} of {GATES}");
    assert!(called >= 350, "{called} of {GATES}: the test would see nothing");
}

#[test]
fn runs_that_lost_the_margin_seldom_pass() {
    let mut random = SplitMix64::new(13);
    let mut passed = 0;
    for _ in 0..GATES / 10 {
        // 300 samples with a true loss of 0.05: 12.5 % worse, 7.5 % better.
        let (mut worse, mut better) = (0, 0);
        for _ in 0..300 {
            match uniform(&mut random) {
                low if low < 0.125 => worse += 1,
                low if low < 0.2 => better += 1,
                _ => {}
            }
        }
        passed += u32::from(mcnemar::margin_p_value(300, worse, better, 0.05, ALPHA) <= ALPHA);
    }
    assert!(passed <= most_wrong() / 10 + 10, "{passed} of {}", GATES / 10);
}

#[test]
fn rare_large_losses_do_not_slip_through() {
    // The hardest case for a test of a mean: a few samples lose everything, the others nothing. Every number of
    // losses is weighted by its probability, so the result is deterministic.
    let mut worst = 0.0_f64;
    for margin in [0.005, 0.01, 0.02, 0.05] {
        for samples in [50, 100, 200, 300, 400, 600, 1_000, 2_000] {
            let mut passed = 0.0;
            for lost in super::super::binomial::likely(samples, margin) {
                let mut totals = vec![0.0; samples as usize];
                totals.iter_mut().take(lost as usize).for_each(|total| *total = -1.0);
                let units = ScoreUnits { sizes: vec![1.0; totals.len()], totals, reach: 1.0, largest: 1.0 };
                if units.margin_p_value(margin) <= ALPHA {
                    passed += super::super::binomial::probability(lost, samples, margin);
                }
            }
            worst = worst.max(passed);
        }
    }
    assert!(worst <= 0.055, "{worst}");
}

#[test]
fn a_loss_is_called_as_often_as_its_power_says() {
    let mut random = SplitMix64::new(14);
    let (samples, changed, loss) = (400, 0.1, 0.04);
    let (down, up) = ((changed + loss) / 2.0, (changed - loss) / 2.0);
    let mut called = 0;
    for _ in 0..GATES {
        let (mut worse, mut better) = (0, 0);
        for _ in 0..samples {
            match uniform(&mut random) {
                low if low < down => worse += 1,
                low if low < down + up => better += 1,
                _ => {}
            }
        }
        called += u32::from(mcnemar::worse_p_value(worse, better) <= ALPHA);
    }
    let power = mcnemar::power(samples, changed, loss, ALPHA);
    // Two standard errors of a share of 10,000 are one point.
    assert!((f64::from(called) / f64::from(GATES) - power).abs() < 0.015, "{called} {power}");
}

/// Draws from the standard normal distribution.
fn normal(random: &mut SplitMix64) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Scores whose differences are the given gains.
fn paired(gains: impl Iterator<Item = f64>) -> PairedScores {
    let mut scores = PairedScores::new(false, None);
    gains.for_each(|gain| scores.add(&measure(), 0.5, 0.5 + gain, 0));
    scores
}

#[test]
fn the_visible_loss_of_graded_scores_is_seen_four_times_of_five() {
    let mut random = SplitMix64::new(15);
    for samples in [50_u32, 200, 1_000] {
        // Differences at the quantiles of the normal distribution, without randomness.
        let levels = (0..samples).map(|number| (f64::from(number) + 0.5) / f64::from(samples));
        let visible =
            paired(levels.map(|level| 0.05 * normal_quantile(level))).smallest_visible(ALPHA).unwrap();
        let runs = 2_000;
        let mut called = 0;
        for run in 0..runs {
            let scores = paired((0..samples).map(|_| 0.05 * normal(&mut random) - visible));
            let test = scores.test(run, 199).unwrap_err();
            called += u32::from(sign_flip_tests(&[test], 1)[0].worse <= ALPHA);
        }
        // Two standard errors are below two points.
        let power = f64::from(called) / runs as f64;
        assert!((power - 0.8).abs() < 0.03, "{samples} samples: a loss of {visible} is seen in {power}");
    }
}

#[test]
fn too_few_graded_samples_show_no_loss() {
    let loss = |samples: u32| paired((0..samples).map(|number| -0.3 - f64::from(number % 2) * 0.1));
    for samples in 1..=4 {
        // Four samples have sixteen sign patterns.
        assert_eq!(loss(samples).smallest_visible(ALPHA), None, "{samples}");
        let test = loss(samples).test(1, 10_000).unwrap_err();
        assert!(sign_flip_tests(&[test], 1)[0].worse > ALPHA, "{samples}");
        assert_eq!(loss(samples).samples_needed(0.01, ALPHA, ALPHA), Some(5), "{samples}");
    }
    assert!(loss(5).smallest_visible(ALPHA).unwrap() > 0.0);
}

/// Sizes of clusters, with a name.
type Sizes = (&'static str, Vec<f64>);

fn unequal_sizes(random: &mut SplitMix64) -> Vec<Sizes> {
    let two_of_500 = |count: usize, others: f64| {
        (0..count).map(|number| if number < 2 { 500.0 } else { others }).collect::<Vec<f64>>()
    };
    let skewed = |count: usize, random: &mut SplitMix64| {
        (0..count).map(|_| (5.0 * (1.5 * normal(random)).exp()).ceil()).collect::<Vec<f64>>()
    };
    vec![
        ("two of 50 are a hundred times larger", two_of_500(50, 5.0)),
        ("two of 200 hold most", two_of_500(200, 1.0)),
        ("50 skewed", skewed(50, random)),
        ("300 skewed", skewed(300, random)),
        ("100 equal", vec![5.0; 100]),
    ]
}

#[test]
fn clusters_of_any_sizes_that_lost_the_margin_seldom_pass() {
    let mut random = SplitMix64::new(16);
    for (name, sizes) in unequal_sizes(&mut random) {
        // The samples of a cluster change together: by a little, or completely in one cluster of twenty.
        let graded = |random: &mut SplitMix64| -0.05 + 0.2 * normal(random);
        let rare = |random: &mut SplitMix64| if uniform(random) < 0.05 { -1.0 } else { 0.0 };
        let kinds: [(&str, &dyn Fn(&mut SplitMix64) -> f64); 2] = [("graded", &graded), ("rare", &rare)];
        for (kind, change) in kinds {
            let mut passed = 0;
            for _ in 0..GATES / 5 {
                let totals = sizes.iter().map(|size| size * change(&mut random)).collect();
                let units = ScoreUnits { totals, sizes: sizes.clone(), reach: 1.0, largest: 1.0 };
                passed += u32::from(units.margin_p_value(0.05) <= ALPHA);
            }
            // 100 of 2,000, plus two standard errors of 9.7.
            assert!(passed <= 120, "{name}, {kind}: {passed} of {}", GATES / 5);
        }
    }
}

#[test]
fn many_clusters_without_a_loss_pass() {
    let mut random = SplitMix64::new(17);
    let sizes: Vec<f64> = (0..200).map(|number| f64::from(number % 10 + 1)).collect();
    let mut passed = 0;
    for _ in 0..500 {
        let totals = sizes.iter().map(|size| size * 0.1 * normal(&mut random)).collect();
        passed += u32::from(
            ScoreUnits { totals, sizes: sizes.clone(), reach: 1.0, largest: 1.0 }.margin_p_value(0.05)
                <= ALPHA,
        );
    }
    assert!(passed > 400, "{passed} of 500");
}

#[test]
fn graded_losses_with_rare_outliers_seldom_pass() {
    let mut random = SplitMix64::new(18);
    for (samples, chance) in [(100, 0.02), (300, 0.01), (1_000, 0.005)] {
        // A small change everywhere, and a rare total loss; the margin on average.
        let mut passed = 0;
        for _ in 0..GATES / 10 {
            let gains = (0..samples).map(|_| {
                let lost = if uniform(&mut random) < chance { -0.5 } else { 0.0 };
                lost - (0.05 - 0.5 * chance) + 0.02 * normal(&mut random)
            });
            let totals: Vec<f64> = gains.collect();
            let units = ScoreUnits { sizes: vec![1.0; totals.len()], totals, reach: 1.0, largest: 1.0 };
            passed += u32::from(units.margin_p_value(0.05) <= ALPHA);
        }
        assert!(passed <= 64, "{samples} samples, {chance}: {passed} of {}", GATES / 10);
    }
}
