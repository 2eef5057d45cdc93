//! Figures match those of SciPy and statsmodels.

use super::super::holm::{benjamini_hochberg, holm};
use super::super::mcnemar;
use super::super::measure::Measure;
use super::super::paired_scores::PairedScores;
use super::super::sample_size::{ChangeRates, SampleSizeQuestion, pass_power};
use super::super::student_t::{power as t_power, student_upper_tail};
use gage_figures::IntervalMethod;
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    mcnemar: Vec<McNemar>,
    mcnemar_power: Vec<McNemarPower>,
    margin: Vec<Margin>,
    pass_power: Vec<PassPower>,
    student: Vec<Student>,
    t_power: Vec<TPower>,
    adjusted: Vec<Adjusted>,
    clustered: Vec<Clustered>,
}

#[derive(Deserialize)]
struct McNemar {
    worse: u64,
    better: u64,
    p_value: f64,
}

#[derive(Deserialize)]
struct McNemarPower {
    samples: u64,
    changed: f64,
    loss: f64,
    alpha: f64,
    power: f64,
}

#[derive(Deserialize)]
struct Margin {
    samples: u64,
    worse: u64,
    better: u64,
    margin: f64,
    alpha: f64,
    p_value: f64,
}

#[derive(Deserialize)]
struct PassPower {
    samples: u64,
    changed: f64,
    gain: f64,
    margin: f64,
    alpha: f64,
    power: f64,
}

#[derive(Deserialize)]
struct Student {
    t: f64,
    degrees: f64,
    upper: f64,
}

#[derive(Deserialize)]
struct TPower {
    shift: f64,
    degrees: f64,
    alpha: f64,
    power: f64,
}

#[derive(Deserialize)]
struct Adjusted {
    p_values: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Clustered {
    clusters: Vec<Vec<f64>>,
    low: f64,
    high: f64,
    worse: f64,
    better: f64,
    within_margin: f64,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../../tests/fixtures/comparison.json")).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64, what: &str) {
    assert!(
        (found - expected).abs() <= relative * expected.abs() + 1e-13,
        "{what}: {found} is not {expected}"
    );
}

#[test]
fn mcnemar_is_the_exact_binomial_test() {
    for McNemar { worse, better, p_value } in fixture().mcnemar {
        assert_near(mcnemar::worse_p_value(worse, better), p_value, 1e-8, &format!("{worse}, {better}"));
    }
}

#[test]
fn the_power_of_mcnemar_is_that_of_all_outcomes() {
    for McNemarPower { samples, changed, loss, alpha, power } in fixture().mcnemar_power {
        let found = mcnemar::power(samples, changed, loss, alpha);
        assert_near(found, power, 1e-9, &format!("{samples} {changed} {loss} {alpha}"));
    }
}

#[test]
fn the_visible_loss_is_seen_four_times_of_five() {
    for (samples, changed) in [(1_000, 0.0), (1_000, 0.05), (14_000, 0.2), (60, 0.3)] {
        let visible = mcnemar::smallest_visible(samples, changed, 0.05, 0.8).unwrap();
        let power = mcnemar::power(samples, changed, visible, 0.05);
        assert!((0.8..0.81).contains(&power), "{samples} {changed}: {visible} {power}");
    }
    assert_eq!(mcnemar::smallest_visible(4, 0.5, 0.05, 0.8), None);
}

#[test]
fn the_margin_is_ruled_out_as_by_a_finer_search() {
    for Margin { samples, worse, better, margin, alpha, p_value } in fixture().margin {
        let found = mcnemar::margin_p_value(samples, worse, better, margin, alpha);
        assert_near(found, p_value, 2e-3, &format!("{samples} {worse} {better} {margin} {alpha}"));
    }
    assert_eq!(mcnemar::margin_p_value(0, 0, 0, 0.1, 0.05), 1.0);
}

#[test]
fn the_power_to_pass_is_that_of_all_outcomes() {
    for PassPower { samples, changed, gain, margin, alpha, power } in fixture().pass_power {
        let asked = SampleSizeQuestion { margin, alpha, adjusted: alpha };
        let found = pass_power(samples, ChangeRates { changed, gain }, asked);
        assert!(
            (found - power).abs() <= 0.01,
            "{samples} {changed} {gain} {margin} {alpha}: {found} is not {power}"
        );
    }
}

#[test]
fn students_tail_and_power_are_those_of_the_library() {
    for Student { t, degrees, upper } in fixture().student {
        assert_near(student_upper_tail(t, degrees), upper, 1e-9, &format!("{t} {degrees}"));
    }
    for TPower { shift, degrees, alpha, power } in fixture().t_power {
        let found = t_power(shift, degrees, alpha);
        assert!((found - power).abs() <= 0.01, "{shift} {degrees} {alpha}: {found} is not {power}");
    }
}

#[test]
fn adjustments_are_those_of_the_library() {
    for Adjusted { p_values, holm: by_holm, benjamini_hochberg: by_hochberg } in fixture().adjusted {
        let tests: Vec<(f64, f64)> = p_values.iter().map(|p_value| (*p_value, 0.05)).collect();
        for (ratio, expected) in holm(&tests).into_iter().zip(by_holm) {
            assert_near((ratio * 0.05).min(1.0), expected, 1e-12, "Holm");
        }
        for (found, expected) in benjamini_hochberg(&p_values).into_iter().zip(by_hochberg) {
            assert_near(found, expected, 1e-12, "Benjamini and Hochberg");
        }
    }
    // Each test has its own level: the first is judged at half of its level, then the second at its full level.
    let ratios = holm(&[(0.01, 0.05), (0.001, 0.001)]);
    assert!((ratios[0] - 0.4).abs() < 1e-12 && (ratios[1] - 1.0).abs() < 1e-12, "{ratios:?}");
}

/// Scores of clustered differences, on a scale from −1 to 2.
fn clustered(clusters: &[Vec<f64>]) -> PairedScores {
    let measure =
        Measure { metric_id: "m".to_owned(), sub_score: None, is_pass: false, higher_is_better: true };
    let mut scores = PairedScores::new(true, Some([-1.0, 2.0]));
    for (number, cluster) in (0..).zip(clusters) {
        cluster.iter().for_each(|difference| scores.add(&measure, 0.5, 0.5 + difference, number));
    }
    scores
}

#[test]
fn intervals_of_clusters_are_those_of_the_matrices() {
    for Clustered { clusters, low, high, .. } in fixture().clustered {
        let found = clustered(&clusters).interval().unwrap();
        assert_eq!(found.method, IntervalMethod::Cluster);
        assert_near(found.low, low, 1e-8, &format!("{clusters:?}"));
        assert_near(found.high, high, 1e-8, &format!("{clusters:?}"));
    }
    assert_eq!(clustered(&[vec![0.1, 0.2]]).interval(), None);
}

#[test]
fn tests_of_clusters_are_those_of_the_matrices() {
    for Clustered { clusters, worse, better, within_margin, .. } in fixture().clustered {
        let scores = clustered(&clusters);
        let found = scores.test();
        assert_near(found.worse, worse, 1e-8, &format!("worse: {clusters:?}"));
        assert_near(found.better, better, 1e-8, &format!("better: {clusters:?}"));
        let found = scores.margin_p_value(0.05, 0.05);
        assert_near(found, within_margin, 1e-8, &format!("margin: {clusters:?}"));
    }
}

#[test]
fn of_many_clusters_of_which_two_are_large_little_is_known() {
    // Each of the large clusters changes as one; the forty small ones agree with them.
    let mut clusters: Vec<Vec<f64>> =
        (0..40).map(|number| vec![f64::from(number % 3) / 10.0 - 0.1]).collect();
    clusters.extend([vec![0.0; 300], vec![0.2; 300]]);
    let interval = clustered(&clusters).interval().unwrap();
    // One degree of freedom: 12.7 standard errors; forty would give 2.
    assert!(interval.low < -0.5 && interval.high > 0.7, "{interval:?}");
}

#[test]
fn a_loss_reaches_over_the_declared_scale() {
    let reach = |scale: Option<[f64; 2]>, scores: [f64; 2]| {
        let measure =
            Measure { metric_id: "m".to_owned(), sub_score: None, is_pass: false, higher_is_better: true };
        let mut paired = PairedScores::new(false, scale);
        paired.add(&measure, scores[0], scores[1], 0);
        paired.units().reach
    };
    for (scale, scores, expected) in [
        (Some([-1.0, 1.0]), [0.25, 0.75], 2.0),
        (Some([0.0, 2.0]), [0.25, 0.75], 2.0),
        (Some([0.0, 10.0]), [7.0, 8.0], 10.0),
        (Some([0.0, 0.5]), [0.25, 0.75], 0.75),
        (None, [0.25, 0.75], 1.0),
        (None, [7.0, 8.5], 1.5),
    ] {
        assert_eq!(reach(scale, scores), expected, "{scale:?} {scores:?}");
    }
}
