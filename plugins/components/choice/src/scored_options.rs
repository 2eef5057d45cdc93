//! Options of a multiple-choice question with their log-likelihoods, and which of them are right.

use crate::continuations::{Continuation, read};
use crate::metric::{alternatives, unknown_alternatives, with_options, with_reference, with_references};
use gage_choice_kit::Choices;
use gage_sdk::metric::{Inputs, MetricSpec, ValueKind};
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::references::is_empty;

const CONTINUATIONS: usize = 0;
const REFERENCE: usize = 1;
const OPTIONS: usize = 2;
const REFERENCES: usize = 3;

/// Adds the scores of the options, the options, and which of them are right as inputs.
pub(crate) fn with_continuations(spec: MetricSpec) -> MetricSpec {
    let paths = &["model_output.continuations"];
    let spec = spec.input("continuations", &["continuations_field"], paths, ValueKind::Json);
    with_references(with_options(with_reference(spec)))
}

/// At least one option, of which at least one is right.
pub(crate) struct ScoredOptions {
    pub(crate) continuations: Vec<Continuation>,
    /// Whether each option is right.
    pub(crate) right: Vec<bool>,
    /// References that are not options, if the Sample has several.
    pub(crate) unknown: Vec<String>,
}

impl ScoredOptions {
    /// Reads the inputs of [`with_continuations`]. The inner `Err` is the card of a Sample without a score.
    ///
    /// # Errors
    /// `invalid-input` if the score of an option is unusable.
    pub(crate) fn read(inputs: Inputs<'_>) -> Result<Result<ScoredOptions, ScoreCard>, PluginError> {
        let choices = Choices::new(inputs.value(OPTIONS));
        let continuations = read(inputs.value(CONTINUATIONS), &choices)?;
        let reference = inputs.value(REFERENCE);
        let mut labels = choices.resolve_all(reference);
        let alternatives = alternatives(reference, inputs.value(REFERENCES), &choices);
        labels.extend_from_slice(&alternatives);
        let none = |why: &str, tag: &str| Ok(Err(ScoreCard::none(why).tag(tag)));
        if is_empty(reference) && labels.is_empty() {
            return none("there is no reference", "missing_reference");
        }
        if continuations.is_empty() {
            return none("there are no scores of continuations", "missing_prediction");
        }
        let is_right = |continuation: &Continuation| labels.contains(&choices.label_form(&continuation.id));
        let right: Vec<bool> = continuations.iter().map(is_right).collect();
        if !right.contains(&true) {
            return none("the reference is none of the continuations", "unknown_reference");
        }
        let unknown = if alternatives.is_empty() {
            Vec::new()
        } else {
            unknown_alternatives(inputs.value(REFERENCES), &choices)
        };
        Ok(Ok(ScoredOptions { continuations, right, unknown }))
    }

    /// Returns the sum of log-probabilities of the best right option less that of the best wrong one, in nats. `None` if
    /// there is no wrong option.
    pub(crate) fn margin(&self) -> Option<f64> {
        let best = |is_right: bool| {
            let options = self.continuations.iter().zip(&self.right);
            let logprobs =
                options.filter(|(_, right)| **right == is_right).map(|(option, _)| option.logprob());
            logprobs.reduce(f64::max)
        };
        Some(best(true)? - best(false)?)
    }

    /// Returns the probabilities of the options among all.
    pub(crate) fn softmax(&self) -> Softmax<'_> {
        let largest = self.continuations.iter().map(Continuation::logprob).fold(f64::NEG_INFINITY, f64::max);
        let weight = |option: &Continuation| match option.logprob() - largest {
            // Its exponential is exactly 1, so none is computed.
            0.0 => 1.0,
            difference => difference.exp(),
        };
        Softmax { weights: self.continuations.iter().map(weight).collect(), right: &self.right }
    }
}

/// The softmax of the sums of log-probabilities.
pub(crate) struct Softmax<'a> {
    /// Probability of each option divided by the largest one, which cannot overflow.
    weights: Vec<f64>,
    right: &'a [bool],
}

impl Softmax<'_> {
    /// Returns the sum of the weights of the right options, or of the wrong ones.
    fn sum(&self, is_right: bool) -> f64 {
        let weights = self.weights.iter().zip(self.right);
        weights.filter(|(_, right)| **right == is_right).map(|(weight, _)| weight).sum()
    }

    /// Returns the probability that one of the right options is chosen. It is exactly 1 if there is no wrong option.
    pub(crate) fn right(&self) -> f64 {
        let right = self.sum(true);
        right / (right + self.sum(false))
    }

    /// Returns the probability of the most likely option.
    pub(crate) fn largest(&self) -> f64 {
        1.0 / self.weights.iter().sum::<f64>()
    }

    /// Returns the sum of the squared distances between the probabilities and the truth, from 0 to 2. The truth is 1 for the
    /// right option, or shared equally by several.
    ///
    /// Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78 (1950).
    pub(crate) fn brier(&self) -> f64 {
        let sum = self.weights.iter().sum::<f64>();
        let share = 1.0 / self.right.iter().filter(|right| **right).count().max(1) as f64;
        let distances = self.weights.iter().zip(self.right).map(|(weight, right)| {
            let distance = weight / sum - if *right { share } else { 0.0 };
            distance * distance
        });
        distances.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn options(logprobs: [f64; 3], reference: &str) -> ScoredOptions {
        let scores = ["A", "B", "C"].iter().zip(logprobs);
        let scores: Vec<String> = scores
            .map(|(id, logprob)| format!(r#"{{"id":"{id}","logprob":{logprob:?},"byte_count":1}}"#))
            .collect();
        let scores = Value::Json(format!("[{}]", scores.join(",")));
        let inputs = [scores, Value::Json(reference.to_owned()), Value::Absent, Value::Absent];
        let Ok(Ok(options)) = ScoredOptions::read(Inputs::new(&inputs)) else { panic!("options are read") };
        options
    }

    #[test]
    fn probabilities_of_unlikely_texts_do_not_underflow() {
        let options = options([-1000.0, -1000.0, -1000.0 + 2_f64.ln()], r#"["A"]"#);
        let softmax = options.softmax();
        for (found, expected) in [
            (softmax.right(), 0.25),
            (softmax.largest(), 0.5),
            (softmax.brier(), 0.75 * 0.75 + 0.25 * 0.25 + 0.5 * 0.5),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(options.margin().is_some_and(|margin| (margin + 2_f64.ln()).abs() < 1e-12));
    }

    #[test]
    fn probabilities_have_bounds() {
        for (logprobs, reference, right, brier, margin) in [
            ([-1.0, -2.0, -3.0], r#"["A","B","C"]"#, 1.0, None, None),
            ([-1.0, -9000.0, -9000.0], r#"["A"]"#, 1.0, Some(0.0), Some(8999.0)),
            ([-9000.0, -1.0, -9000.0], r#"["A"]"#, 0.0, Some(2.0), Some(-8999.0)),
        ] {
            let options = options(logprobs, reference);
            let softmax = options.softmax();
            assert_eq!((softmax.right(), options.margin()), (right, margin), "{logprobs:?}");
            assert!(brier.is_none_or(|brier| softmax.brier() == brier), "{logprobs:?}");
        }
    }
}
