//! Numbers of samples needed, checked against sums over all outcomes.

use super::super::binomial::{at_least, likely_probabilities};
use super::super::mcnemar;
use super::super::sample_size::{ChangeRates, SampleSizeQuestion, pass_power, samples_needed};
use super::super::smallest_visible_loss;
use super::runs::{Run, compared, gate, scores};
use crate::Verdict;
use gage_config::GateSpec;

const WANTED: f64 = 0.8;

/// Probability that a change passes, with the PASS boundary found by the test itself for every number of changed samples.
fn exact_pass_power(
    samples: u64,
    ChangeRates { changed, gain }: ChangeRates,
    margin: f64,
    alpha: f64,
) -> f64 {
    let passes = |worse: i64, moved: i64| {
        let better = (moved - worse).unsigned_abs();
        mcnemar::margin_p_value(samples, worse.unsigned_abs(), better, margin, alpha) <= alpha
    };
    let of = |(moved, chance): (i64, f64)| {
        // Far below every alpha used here.
        if chance < 1e-12 || !passes(0, moved) {
            return 0.0;
        }
        let (mut most, mut least) = (0, moved + 1);
        while least - most > 1 {
            let middle = i64::midpoint(most, least);
            if passes(middle, moved) { most = middle } else { least = middle }
        }
        let worse = (changed - gain) / 2.0 / changed;
        chance * (1.0 - at_least(most + 1, moved, worse))
    };
    likely_probabilities(samples.cast_signed(), changed).map(of).sum()
}

#[test]
fn so_many_samples_tell_in_four_runs_of_five() {
    for (changed, gain, margin, alpha, adjusted) in [
        // Changes that pass.
        (0.1, 0.0, 0.05, 0.05, 0.05),
        (0.05, -0.005, 0.04, 0.05, 0.05),
        (0.02, 0.01, 0.02, 0.05, 0.01),
        (0.2, 0.0, 0.1, 0.0005, 0.0005),
        // Losses.
        (0.1, -0.05, 0.02, 0.05, 0.05),
        (0.02, -0.02, 0.01, 0.05, 0.05),
        (0.3, -0.1, 0.01, 0.05, 0.0125),
    ] {
        let changes = ChangeRates { changed, gain };
        let needed =
            samples_needed(changes, SampleSizeQuestion { margin, alpha, adjusted }, WANTED, 1).unwrap();
        let power = |samples: u64| {
            let of_loss = mcnemar::power(samples, changed, -gain, adjusted);
            let of_margin = exact_pass_power(samples, changes, margin, alpha);
            if gain < 0.0 { of_loss.max(of_margin) } else { of_margin }
        };
        let (enough, fewer) = (power(needed), power(needed - needed / 8 - 1));
        assert!(enough >= 0.795, "{changes:?} {margin}: {needed} tell in {enough}");
        // The power jumps by a few points, so fewer samples may do as well.
        assert!(fewer < 0.82, "{changes:?} {margin}: {needed}, and fewer tell in {fewer}");
    }
}

#[test]
fn sums_and_the_approximation_for_many_samples_agree() {
    for (changed, gain, margin, alpha) in
        [(0.1, -0.001, 0.0035, 0.05), (0.01, 0.0, 0.0008, 0.05), (0.2, 0.0, 0.006, 0.001)]
    {
        let (changes, asked) =
            (ChangeRates { changed, gain }, SampleSizeQuestion { margin, alpha, adjusted: alpha });
        let (summed, approximate) =
            (pass_power(100_000, changes, asked), pass_power(100_001, changes, asked));
        assert!((summed - approximate).abs() < 0.01, "{changes:?} {margin}: {summed} {approximate}");
        assert!((0.3..0.97).contains(&summed), "{summed} would show nothing");
    }
}

#[test]
fn the_needed_samples_see_the_loss_that_was_asked_about() {
    for (changed, loss, alpha) in [(0.1, 0.05, 0.05), (0.3, 0.1, 0.0125), (0.02, 0.01, 0.05)] {
        // A margin that cannot be ruled out.
        let asked = SampleSizeQuestion { margin: loss / 2.0, alpha, adjusted: alpha };
        let needed = samples_needed(ChangeRates { changed, gain: -loss }, asked, WANTED, 1).unwrap();
        let seen = mcnemar::smallest_visible(needed, changed, alpha, WANTED).unwrap();
        assert!((0.95..=1.001).contains(&(seen / loss)), "{needed} see {seen} and not {loss}");
    }
}

#[test]
fn what_a_plan_promises_is_what_a_comparison_says() {
    // Half of the samples change, half of these in each direction.
    let run = |offset: usize| {
        let scores: Vec<f64> =
            (0..400).map(|number| f64::from(u8::from((number + offset) % 4 < 2))).collect();
        Run::of(&scores)
    };
    let found = compared(run(0), run(1), Vec::new());
    assert_eq!((found.metrics[0].worse, found.metrics[0].better), (100, 100));
    assert_eq!(found.metrics[0].smallest_visible, smallest_visible_loss(400, 0.5));
    assert_eq!(smallest_visible_loss(4, 0.5), None);
}

#[test]
fn runs_that_lost_the_margin_pass_with_at_most_any_alpha() {
    for alpha in [0.05, 0.0005, 1e-5] {
        for changed in [0.05, 0.1, 0.4] {
            let passed = exact_pass_power(150, ChangeRates { changed, gain: -0.05 }, 0.05, alpha);
            assert!(passed <= alpha, "{changed} {alpha}: {passed}");
        }
    }
}

#[test]
fn a_gate_of_any_alpha_can_be_passed_and_says_when_it_cannot() {
    let of = |samples: usize, alpha: f64| {
        let gate = vec![GateSpec { alpha, ..gate(0.05).remove(0) }];
        let found = compared(Run::of(&scores(samples, 0)), Run::of(&scores(samples, 0)), gate);
        let gate = found.metrics[0].gate.clone().unwrap();
        (gate.verdict, gate.samples_needed, gate.reason)
    };
    let impossible = "samples are too few to rule it out at alpha 0.0005";
    for (samples, alpha, verdict, is_said) in [
        (400, 0.05, Verdict::Pass, false),
        (400, 0.0005, Verdict::Pass, false),
        (1_000, 1e-9, Verdict::Pass, false),
        (50, 0.0005, Verdict::Inconclusive, true),
        (9, 0.0005, Verdict::Inconclusive, true),
    ] {
        let (found, needed, reason) = of(samples, alpha);
        assert_eq!((found, reason.contains(impossible)), (verdict, is_said), "{samples} {alpha}: {reason}");
        // It passes with the reported number of samples needed.
        if let Some(needed) = needed {
            assert_eq!(of(usize::try_from(needed).unwrap(), alpha).0, Verdict::Pass, "{reason}");
        }
    }
}
