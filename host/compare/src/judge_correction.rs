//! Share of accepted answers, corrected for the errors of the judge, with an interval that contains their uncertainty.

use crate::calibration::{ConfusionCounts, Estimate};
use crate::student_t::student_quantile;
use gage_figures::{LEVEL_95, Z_95};
use serde::Serialize;

/// Added to each cell of the counts, and to the verdicts without a label, so that no variance is 0.
const PSEUDO_COUNT: f64 = 0.5;

/// Verdicts of a judge about a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgedCounts {
    /// Number of accepted answers.
    pub accepted: u64,
    /// Number of judged answers.
    pub judged: u64,
}

impl JudgedCounts {
    /// Adds a verdict.
    pub fn add(&mut self, is_accepted: bool) {
        self.accepted += u64::from(is_accepted);
        self.judged += 1;
    }
}

/// Shares of answers that people would accept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CorrectedRates {
    /// Share of answers that the judge accepts.
    pub judged: f64,
    /// Prediction-powered estimate, if the answers with a label are a random part of the judged ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction_powered: Option<Estimate>,
    /// Estimate of Rogan and Gladen, if the judge errs as often as on the answers with a label.
    pub rogan_gladen: Option<Estimate>,
}

/// Corrects the verdicts about the run that the labels are from. `None` without verdicts.
pub fn correct_own(labelled: ConfusionCounts, judged: JudgedCounts) -> Option<CorrectedRates> {
    Some(CorrectedRates {
        prediction_powered: prediction_powered(labelled, judged),
        ..correct_other(labelled, judged)?
    })
}

/// Corrects the verdicts about another run, by the error rates of the judge on the answers with a label. `None` without
/// verdicts.
pub fn correct_other(labelled: ConfusionCounts, judged: JudgedCounts) -> Option<CorrectedRates> {
    (judged.judged > 0).then(|| CorrectedRates {
        judged: judged.accepted as f64 / judged.judged as f64,
        prediction_powered: None,
        rogan_gladen: rogan_gladen(labelled, judged),
    })
}

/// Returns the estimate of Rogan and Gladen, "Estimating Prevalence from the Results of a Screening Test", American Journal
/// of Epidemiology 107 (1978), with the interval of Lang and Reiczigel, "Confidence Limits for Prevalence of Disease Adjusted
/// for Estimated Sensitivity and Specificity", Preventive Veterinary Medicine 113 (2014).
///
/// `None` if people accepted or rejected no answer, or if the judge is no better than chance.
fn rogan_gladen(labelled: ConfusionCounts, judged: JudgedCounts) -> Option<Estimate> {
    let right = labelled.both_accept as f64;
    let (accepted, rejected) =
        (right + labelled.only_human as f64, (labelled.both_reject + labelled.only_judge) as f64);
    if accepted == 0.0 || rejected == 0.0 {
        return None;
    }
    let rate = |share: f64, sensitivity: f64, specificity: f64| {
        let youden = sensitivity + specificity - 1.0;
        (youden > 0.0).then(|| (share + specificity - 1.0) / youden)
    };
    let (count, specific) = (judged.judged as f64, labelled.both_reject as f64);
    let value = rate(judged.accepted as f64 / count, right / accepted, specific / rejected)?;
    // With pseudo-observations.
    let (all, accepted, rejected) = (Z_95.mul_add(Z_95, count), accepted + 2.0, rejected + 2.0);
    let share = (Z_95 * Z_95).mul_add(0.5, judged.accepted as f64) / all;
    let (sensitivity, specificity) = ((right + 1.0) / accepted, (specific + 1.0) / rejected);
    let middle = rate(share, sensitivity, specificity)?;
    let of_accepted = sensitivity * (1.0 - sensitivity) / accepted;
    let of_rejected = specificity * (1.0 - specificity) / rejected;
    let shift = 2.0 * Z_95 * Z_95 * (middle * of_accepted - (1.0 - middle) * of_rejected);
    let variance =
        share * (1.0 - share) / all + middle.powi(2) * of_accepted + (1.0 - middle).powi(2) * of_rejected;
    let half = Z_95 * variance.sqrt() / (sensitivity + specificity - 1.0);
    Some(within_unit(value, middle + shift - half, middle + shift + half))
}

/// Returns the prediction-powered estimate: people's share among the answers with a label, plus the difference of the
/// judge's shares among the others and among these, times a weight that makes the variance smallest.
///
/// Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (2023). `None` for fewer than two labels.
fn prediction_powered(labelled: ConfusionCounts, judged: JudgedCounts) -> Option<Estimate> {
    let ConfusionCounts { both_accept, only_judge, only_human, both_reject } = labelled;
    let labels = both_accept + only_judge + only_human + both_reject;
    if labels < 2 {
        return None;
    }
    let others = judged.judged.saturating_sub(labels) as f64;
    let accepted_others = judged.accepted.saturating_sub(both_accept + only_judge) as f64;
    let cell = |count: u64| count as f64 + PSEUDO_COUNT;
    let count = labels as f64 + 4.0 * PSEUDO_COUNT;
    let (both, by_judge, by_human) = (cell(both_accept), cell(only_judge), cell(only_human));
    let (human, judge) = ((both + by_human) / count, (both + by_judge) / count);
    let (covariance, variance) = (both / count - human * judge, judge * (1.0 - judge));
    let labels = labels as f64;
    let weight = match others {
        0.0 => 0.0,
        others => (covariance / ((1.0 + labels / others) * variance)).clamp(0.0, 1.0),
    };
    let share = (accepted_others + PSEUDO_COUNT) / (others + 2.0 * PSEUDO_COUNT);
    let mut error = (human * (1.0 - human) - 2.0 * weight * covariance + weight * weight * variance) / labels;
    if others > 0.0 {
        error += weight * weight * share * (1.0 - share) / others;
    }
    let middle = human + weight * (share - judge);
    let half = student_quantile((1.0 - LEVEL_95) / 2.0, labels - 1.0) * error.sqrt();
    let exact = |part: u64| (both_accept + part) as f64 / labels;
    let of_others = if others > 0.0 { accepted_others / others } else { 0.0 };
    let value = exact(only_human) + weight * (of_others - exact(only_judge));
    Some(within_unit(value, middle - half, middle + half))
}

/// An estimate of a share: all of it lies from 0 to 1, and the value within the interval.
fn within_unit(value: f64, low: f64, high: f64) -> Estimate {
    let value = value.clamp(0.0, 1.0);
    Estimate { value, low: low.clamp(0.0, value), high: high.clamp(value, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_figures::random::SplitMix64;

    /// The example of Lang and Reiczigel's formulas, computed in Python.
    #[test]
    fn corrections_are_those_of_the_formulas() {
        let labelled = ConfusionCounts { both_accept: 45, only_judge: 8, only_human: 5, both_reject: 42 };
        let judged = JudgedCounts { accepted: 560, judged: 1_000 };
        let found = correct_own(labelled, judged).unwrap();
        let near = |found: Option<Estimate>, expected: [f64; 3]| {
            let found = found.unwrap();
            for (one, other) in [found.value, found.low, found.high].into_iter().zip(expected) {
                assert!((one - other).abs() < 1e-6, "{found:?} {expected:?}");
            }
        };
        near(found.rogan_gladen, [0.540_540_541, 0.438_978_236, 0.645_027_749]);
        near(found.prediction_powered, [0.521_840_278, 0.450_359_330, 0.593_999_947]);
    }

    #[test]
    fn a_judge_that_knows_nothing_corrects_nothing() {
        let judged = JudgedCounts { accepted: 5, judged: 10 };
        for labelled in [
            ConfusionCounts { both_accept: 5, only_judge: 5, only_human: 5, both_reject: 5 },
            ConfusionCounts { both_accept: 5, only_human: 1, ..ConfusionCounts::default() },
            ConfusionCounts { both_reject: 5, only_judge: 1, ..ConfusionCounts::default() },
        ] {
            assert_eq!(correct_other(labelled, judged).unwrap().rogan_gladen, None, "{labelled:?}");
        }
        assert_eq!(correct_own(ConfusionCounts::default(), JudgedCounts::default()), None);
    }

    #[test]
    fn intervals_contain_the_truth_in_95_of_100_runs() {
        let mut random = SplitMix64::new(21);
        let mut is = |chance: f64| ((random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64) < chance;
        for (truth, sensitivity, specificity, labels, answers) in
            [(0.8, 0.9, 0.8, 100, 1_000), (0.95, 0.95, 0.7, 200, 500), (0.3, 0.7, 0.6, 200, 800)]
        {
            let (mut covered, mut shown, runs) = ([0_u32; 2], [0_u32; 2], 1_000);
            for _ in 0..runs {
                let (mut labelled, mut judged) = (ConfusionCounts::default(), JudgedCounts::default());
                for number in 0..answers {
                    let human = is(truth);
                    let judge = if human { is(sensitivity) } else { !is(specificity) };
                    judged.add(judge);
                    if number < labels {
                        labelled.add(judge, human);
                    }
                }
                let found = correct_own(labelled, judged).unwrap();
                for (place, estimate) in
                    [found.prediction_powered, found.rogan_gladen].into_iter().enumerate()
                {
                    let Some(Estimate { low, high, .. }) = estimate else { continue };
                    shown[place] += 1;
                    covered[place] += u32::from((low..=high).contains(&truth));
                }
            }
            for (covered, shown) in covered.into_iter().zip(shown) {
                assert!(
                    shown > 950 && f64::from(covered) >= 0.93 * f64::from(shown),
                    "{truth}: {covered} {shown}"
                );
            }
        }
    }
}
