//! Error rates of gates over thousands of simulated runs.

use super::super::error_rates::populations;
use super::super::mcnemar;
use super::super::measure::Measure;
use super::super::paired_scores::PairedScores;
use super::super::score_units::ScoreUnits;
use super::super::student_t::normal_quantile;
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
                let units = ScoreUnits {
                    sizes: vec![1.0; totals.len()],
                    totals,
                    within: 0.0,
                    reach: 1.0,
                    largest: 1.0,
                };
                if units.difference().unwrap().margin_p_value(margin) <= ALPHA {
                    passed += super::super::binomial::probability(lost, samples, margin);
                }
            }
            worst = worst.max(passed);
        }
    }
    assert!(worst <= ALPHA, "{worst}");
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
        for _ in 0..runs {
            let scores = paired((0..samples).map(|_| 0.05 * normal(&mut random) - visible));
            called += u32::from(scores.test().worse <= ALPHA);
        }
        // Two standard errors are below two points.
        let power = f64::from(called) / f64::from(runs);
        assert!((power - 0.8).abs() < 0.03, "{samples} samples: a loss of {visible} is seen in {power}");
    }
}

#[test]
fn too_few_graded_samples_show_no_loss() {
    let loss = |samples: u32| paired((0..samples).map(|number| -0.3 - f64::from(number % 2) * 0.1));
    for samples in 1..=6 {
        // The mean of six samples may be off by a third of the scale.
        assert!(loss(samples).test().worse > ALPHA, "{samples}");
        assert_eq!(loss(4).smallest_visible(ALPHA), None, "{samples}");
    }
    assert!(loss(20).test().worse <= ALPHA);
    assert!(loss(20).smallest_visible(ALPHA).unwrap() > 0.0);
}

#[test]
fn gates_of_simulated_runs_keep_their_level() {
    for population in populations() {
        // Larger populations have fewer runs; the example `error_rates` simulates all of them longer.
        let runs = 60_000 / population.samples().max(100);
        let rates = population.error_rates(runs);
        assert!(rates.is_within(ALPHA, runs), "{} of {runs} runs: {rates:?}", population.name());
    }
}

#[test]
fn gates_with_clusters_have_power() {
    let population = populations().into_iter().find(|one| one.name() == "graded, clusters of 20: 50");
    let rates = population.unwrap().error_rates(300);
    // 90 of 100, less three standard errors.
    assert!(rates.pass_unchanged > 0.848, "{rates:?}");
}

#[test]
fn equal_runs_pass_with_few_clusters() {
    for (clusters, size, verdict) in
        [(50, 20, true), (10, 20, true), (5, 20, true), (3, 20, false), (2, 500, true)]
    {
        let mut scores = PairedScores::new(true, Some([0.0, 1.0]));
        for number in 0..clusters * size {
            let score = f64::from(u8::from(number % 3 == 0));
            scores.add(&measure(), score, score, number / size);
        }
        assert_eq!(scores.margin_p_value(0.05, ALPHA) <= ALPHA, verdict, "{clusters} of {size}");
        assert_eq!(scores.is_too_few_for_margin(0.05, ALPHA), !verdict, "{clusters} of {size}");
    }
}
