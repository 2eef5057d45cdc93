//! How often gates are wrong, over thousands of simulated runs.

use super::super::margin::Units;
use super::super::paired_scores::PairedScores;
use super::super::pairing::Measure;
use super::super::{mcnemar, sign_flip_tests};
use crate::random::SplitMix64;

const GATES: u32 = 10_000;
const ALPHA: f64 = 0.05;

fn measure() -> Measure {
    Measure { metric_id: "m".to_owned(), sub_score: None, is_pass: false, higher_is_better: true }
}

/// A number from 0 to below 1.
fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// How many of 10,000 gates may be wrong with the chance alpha: five standard errors more.
fn most_wrong() -> u32 {
    let count = f64::from(GATES);
    (count * ALPHA + 5.0 * (count * ALPHA * (1.0 - ALPHA)).sqrt()) as u32
}

#[test]
fn runs_that_did_not_change_are_seldom_called_a_regression() {
    let mut random = SplitMix64::new(11);
    let mut called = 0;
    for _ in 0..GATES {
        // 500 samples, of which a fifth changes from run to run, either way.
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
    // The exact test keeps its level; discreteness makes it stay below.
    assert!(f64::from(called) <= f64::from(GATES) * ALPHA, "{called} of {GATES}");
    assert!(called > 200, "{called}: the test would see nothing");
}

#[test]
fn graded_scores_that_did_not_change_are_seldom_called_a_regression() {
    let mut random = SplitMix64::new(12);
    let mut called = 0;
    let gates = 2_000;
    for gate in 0..gates {
        let mut scores = PairedScores::new(false);
        for _ in 0..60 {
            // Skewed, and the same in both runs.
            let (base, new) = (uniform(&mut random).powi(4), uniform(&mut random).powi(4));
            scores.add(&measure(), base, new, 0);
        }
        let test = scores.test(gate).unwrap_err();
        let found = sign_flip_tests(&[test], 199, 1)[0];
        called += u32::from(found.worse <= ALPHA);
    }
    // Of 2,000: 100 expected, and five standard errors of 9.7.
    assert!(called <= 149, "{called} of {gates}");
    assert!(called >= 51, "{called} of {gates}");
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
        passed += u32::from(mcnemar::margin_p_value(300, worse, better, 0.05) <= ALPHA);
    }
    assert!(passed <= most_wrong() / 10 + 10, "{passed} of {}", GATES / 10);
}

#[test]
fn rare_large_losses_do_not_slip_through() {
    // The hardest case for a test of a mean: few samples lose everything, the others nothing. Every number of
    // losses is weighed by its probability, so that nothing is left to chance.
    let mut worst = 0.0_f64;
    for margin in [0.005, 0.01, 0.02, 0.05] {
        for samples in [50, 100, 200, 300, 400, 600, 1_000, 2_000] {
            let mut passed = 0.0;
            for lost in super::super::binomial::likely(samples, margin) {
                let mut totals = vec![0.0; samples as usize];
                totals.iter_mut().take(lost as usize).for_each(|total| *total = -1.0);
                let units = Units { sizes: vec![1.0; totals.len()], totals, reach: 1.0 };
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
