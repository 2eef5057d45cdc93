//! Calibration of a judge: its verdicts beside the labels that people gave to the same answers.

use crate::mcnemar::worse_p_value;
use gage_figures::{Interval, IntervalMethod, Z_95, wilson_interval};
use serde::Serialize;

/// An answer with a verdict and a label.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedAnswer {
    /// True if the judge accepted the answer.
    pub judge: bool,
    /// True if a person accepted the answer.
    pub human: bool,
    /// Length of the answer, in characters.
    pub characters: u64,
    /// For a judge that compares two answers in both orders: what it chose in each.
    pub orders: Option<[OrderChoice; 2]>,
}

/// The choice of a judge between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderChoice {
    /// The answer that was shown first.
    First,
    /// The answer that was shown second.
    Second,
    /// Neither.
    Tie,
}

/// Agreement of a judge with people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Number of answers with a verdict and a label.
    pub answers: u64,
    /// Number of answers by verdict and label.
    pub counts: ConfusionCounts,
    /// Share of answers for which both agree.
    pub agreement: Estimate,
    /// Cohen's kappa: the agreement beyond chance, from −1 to 1; absent if the judge, or people, gave one verdict only.
    pub kappa: Option<Estimate>,
    /// Share of answers that the judge accepts, minus the share that people accept.
    pub bias: f64,
    /// P-value of McNemar's exact test, two-sided: whether such a bias could be chance.
    pub bias_p_value: f64,
    /// Correlation of the judge's error (1 for an accepted answer that people reject, −1 for the opposite) with the
    /// logarithm of the answer's length; absent with fewer than four answers, or if one of the two does not vary.
    pub length_bias: Option<Estimate>,
    /// Position bias of a judge that compares two answers in both orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PositionBias>,
}

/// Numbers of answers by the verdict of the judge and the label of people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConfusionCounts {
    /// Both accept the answer.
    pub both_accept: u64,
    /// Only the judge accepts it.
    pub only_judge: u64,
    /// Only people accept it.
    pub only_human: u64,
    /// Both reject it.
    pub both_reject: u64,
}

impl ConfusionCounts {
    /// Adds an answer, by the verdict of the judge and the label of people.
    pub fn add(&mut self, judge: bool, human: bool) {
        match (judge, human) {
            (true, true) => self.both_accept += 1,
            (true, false) => self.only_judge += 1,
            (false, true) => self.only_human += 1,
            (false, false) => self.both_reject += 1,
        }
    }
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// Position bias of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PositionBias {
    /// Share of answers with the same winner in both orders.
    pub consistent: Estimate,
    /// Share of choices for the answer that was shown first, ties left out; 0.5 without a bias. Absent without choices.
    pub first: Option<Estimate>,
}

impl Estimate {
    fn of_share(count: u64, of: u64) -> Option<Estimate> {
        let interval = wilson_interval(count, of)?;
        Some(Estimate { value: count as f64 / of as f64, low: interval.low, high: interval.high })
    }
}

/// Compares verdicts with labels. `None` without answers.
pub fn calibrate(answers: &[JudgedAnswer]) -> Option<Calibration> {
    let mut counts = ConfusionCounts::default();
    answers.iter().for_each(|answer| counts.add(answer.judge, answer.human));
    let total = answers.len() as u64;
    let ConfusionCounts { only_judge, only_human, .. } = counts;
    Some(Calibration {
        answers: total,
        counts,
        agreement: Estimate::of_share(counts.both_accept + counts.both_reject, total)?,
        kappa: kappa(counts),
        bias: (only_judge as f64 - only_human as f64) / total as f64,
        bias_p_value: (2.0 * worse_p_value(only_judge.max(only_human), only_judge.min(only_human))).min(1.0),
        length_bias: length_bias(answers),
        position: position_bias(answers),
    })
}

/// Returns Cohen's kappa with its large-sample interval.
///
/// Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960); the
/// standard error is that of Fleiss, Cohen and Everitt, "Large sample standard errors of kappa and weighted kappa",
/// Psychological Bulletin 72 (1969). If both always agree, that error is 0; the interval is then that of the agreement.
fn kappa(counts: ConfusionCounts) -> Option<Estimate> {
    let cells = [[counts.both_accept, counts.only_judge], [counts.only_human, counts.both_reject]];
    let total: f64 = cells.iter().flatten().map(|count| *count as f64).sum();
    // The first index is the judge's verdict, the second that of people.
    let shares = [
        [cells[0][0] as f64 / total, cells[0][1] as f64 / total],
        [cells[1][0] as f64 / total, cells[1][1] as f64 / total],
    ];
    let of_judge = [shares[0][0] + shares[0][1], shares[1][0] + shares[1][1]];
    let of_people = [shares[0][0] + shares[1][0], shares[0][1] + shares[1][1]];
    let observed = shares[0][0] + shares[1][1];
    let expected = of_judge[0] * of_people[0] + of_judge[1] * of_people[1];
    let is_single = |verdicts: [f64; 2]| verdicts.contains(&0.0);
    if is_single(of_judge) || is_single(of_people) {
        return None;
    }
    let kappa = (observed - expected) / (1.0 - expected);
    let agreeing: f64 = (0..2)
        .map(|index| {
            let weight = 1.0 - (of_judge[index] + of_people[index]) * (1.0 - kappa);
            shares[index][index] * weight * weight
        })
        .sum();
    let differing = shares[0][1] * (of_people[0] + of_judge[1]).powi(2)
        + shares[1][0] * (of_people[1] + of_judge[0]).powi(2);
    let rest = kappa - expected * (1.0 - kappa);
    let variance = agreeing + (1.0 - kappa).powi(2) * differing - rest * rest;
    if observed >= 1.0 {
        let agreement = wilson_interval(cells[0][0] + cells[1][1], cells.iter().flatten().sum())?;
        let low = (agreement.low - expected) / (1.0 - expected);
        return Some(Estimate { value: kappa, low, high: 1.0 });
    }
    let half_width = Z_95 * variance.max(0.0).sqrt() / ((1.0 - expected) * total.sqrt());
    let (low, high) = ((kappa - half_width).max(-1.0), (kappa + half_width).min(1.0));
    Some(Estimate { value: kappa, low, high })
}

/// Returns the correlation of the judge's error with the logarithm of the length, with the interval of Fisher's z.
fn length_bias(answers: &[JudgedAnswer]) -> Option<Estimate> {
    if answers.len() < 4 {
        return None;
    }
    let count = answers.len() as f64;
    let error = |answer: &JudgedAnswer| f64::from(u8::from(answer.judge)) - f64::from(u8::from(answer.human));
    let length = |answer: &JudgedAnswer| (answer.characters as f64).ln_1p();
    let mean = |value: &dyn Fn(&JudgedAnswer) -> f64| answers.iter().map(value).sum::<f64>() / count;
    let (mean_error, mean_length) = (mean(&error), mean(&length));
    let covariance = mean(&|answer| (error(answer) - mean_error) * (length(answer) - mean_length));
    let spread = |value: &dyn Fn(&JudgedAnswer) -> f64, center: f64| {
        mean(&|answer: &JudgedAnswer| (value(answer) - center).powi(2)).sqrt()
    };
    let (of_errors, of_lengths) = (spread(&error, mean_error), spread(&length, mean_length));
    // The mean of equal values may be rounded.
    if of_errors < 1e-9 || of_lengths < 1e-9 {
        return None;
    }
    let value = (covariance / (of_errors * of_lengths)).clamp(-1.0, 1.0);
    let (z, half_width) = (value.atanh(), Z_95 / (count - 3.0).sqrt());
    let interval = Interval::of_95((z - half_width).tanh(), (z + half_width).tanh(), IntervalMethod::T);
    Some(Estimate { value, low: interval.low, high: interval.high })
}

fn position_bias(answers: &[JudgedAnswer]) -> Option<PositionBias> {
    let orders: Vec<[OrderChoice; 2]> = answers.iter().filter_map(|answer| answer.orders).collect();
    let is_consistent = |[one, other]: &&[OrderChoice; 2]| {
        matches!(
            (one, other),
            (OrderChoice::First, OrderChoice::Second)
                | (OrderChoice::Second, OrderChoice::First)
                | (OrderChoice::Tie, OrderChoice::Tie)
        )
    };
    let consistent = orders.iter().filter(is_consistent).count() as u64;
    let choices = || orders.iter().flatten().filter(|choice| **choice != OrderChoice::Tie);
    let first = choices().filter(|choice| **choice == OrderChoice::First).count() as u64;
    Some(PositionBias {
        consistent: Estimate::of_share(consistent, orders.len() as u64)?,
        first: Estimate::of_share(first, choices().count() as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(counts: [u64; 4]) -> Vec<JudgedAnswer> {
        let kinds = [(true, true), (true, false), (false, true), (false, false)];
        let of = |((judge, human), count): ((bool, bool), u64)| {
            let answer = JudgedAnswer { judge, human, characters: 10, orders: None };
            std::iter::repeat_n(answer, usize::try_from(count).unwrap_or(0))
        };
        kinds.into_iter().zip(counts).flat_map(of).collect()
    }

    /// Expected values: the formulas of the sources, computed in Python.
    #[test]
    fn kappa_and_its_interval_are_those_of_the_sources() {
        for (counts, agreement, kappa, [low, high]) in [
            ([20, 5, 10, 15], 0.7, 0.4, [0.151_1, 0.648_9]),
            ([45, 15, 25, 15], 0.6, 0.130_4, [-0.062_9, 0.323_8]),
            ([10, 0, 0, 10], 1.0, 1.0, [0.677_8, 1.0]),
        ] {
            let found = calibrate(&answers(counts)).expect("answers");
            let close = |found: f64, expected: f64| (found - expected).abs() < 1e-3;
            assert!(close(found.agreement.value, agreement), "{counts:?} {found:?}");
            let found = found.kappa.expect("two verdicts");
            assert!(close(found.value, kappa), "{counts:?} {found:?}");
            assert!(close(found.low, low) && close(found.high, high), "{counts:?} {found:?}");
        }
        // A judge that accepts everything agrees by chance only.
        for counts in [[5, 0, 0, 0], [4, 2, 0, 0], [3, 0, 3, 0], [0, 1, 0, 0]] {
            assert_eq!(calibrate(&answers(counts)).and_then(|found| found.kappa), None, "{counts:?}");
        }
        assert_eq!(calibrate(&[]), None);
    }

    #[test]
    fn biases_have_their_directions() {
        let found = calibrate(&answers([50, 12, 2, 36])).expect("answers");
        assert!((found.bias - 0.1).abs() < 1e-12 && found.bias_p_value < 0.02, "{found:?}");
        assert_eq!(found.length_bias, None, "all are of one length");
        let mut unequal = answers([5, 5, 0, 10]);
        // The judge accepts long answers that people reject.
        unequal.iter_mut().filter(|one| one.judge && !one.human).for_each(|one| one.characters = 1_000);
        let bias = calibrate(&unequal).and_then(|found| found.length_bias).expect("lengths");
        assert!(bias.value > 0.99 && bias.low > 0.9, "{bias:?}");
        let position = |orders| {
            let answer =
                |orders| JudgedAnswer { judge: true, human: true, characters: 1, orders: Some(orders) };
            calibrate(&[answer(orders); 1]).and_then(|found| found.position).expect("orders")
        };
        let always_first = position([OrderChoice::First, OrderChoice::First]);
        assert_eq!(
            (always_first.consistent.value, always_first.first.map(|one| one.value)),
            (0.0, Some(1.0))
        );
        let fair = position([OrderChoice::First, OrderChoice::Second]);
        assert_eq!((fair.consistent.value, fair.first.map(|one| one.value)), (1.0, Some(0.5)));
        assert_eq!(position([OrderChoice::Tie, OrderChoice::Tie]).first, None);
    }
}
