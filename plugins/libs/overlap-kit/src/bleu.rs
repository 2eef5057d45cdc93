//! BLEU from its counts, with the smoothing of sacreBLEU 2.
//!
//! Papineni and others, "BLEU: a method for automatic evaluation of machine translation", ACL 2002; Chen and Cherry, "A
//! systematic comparison of smoothing techniques for sentence-level BLEU", WMT 2014.

use gage_sdk::{PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use serde::{Deserialize, Serialize};

/// Largest supported order of n-grams.
pub const MAX_ORDER: u8 = 16;

/// Key of the counts in the detail of a card.
pub const DETAIL_KEY: &str = "bleu";

/// BLEU counts of one text, or the sum over a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BleuCounts {
    /// Number of tokens in the prediction.
    pub prediction_length: u64,
    /// Number of tokens in the reference nearest in length; the shorter one if two are equally near.
    pub reference_length: u64,
    /// For each order from 1 up, the number of prediction n-grams that occur in a reference. Each counts at most as
    /// often as in the reference that has it most often.
    pub correct: Vec<u64>,
    /// For each order from 1 up, the number of n-grams in the prediction.
    pub total: Vec<u64>,
}

impl BleuCounts {
    /// Returns whether both lists have the same number of orders, from 1 to [`MAX_ORDER`].
    pub fn is_sound(&self) -> bool {
        let orders = self.correct.len();
        orders == self.total.len() && (1..=usize::from(MAX_ORDER)).contains(&orders)
    }

    /// Adds the counts of another text. Returns `false` and adds nothing if the orders differ.
    #[must_use]
    pub fn add(&mut self, other: &BleuCounts) -> bool {
        if self.correct.len() != other.correct.len() || self.total.len() != other.total.len() {
            return false;
        }
        self.prediction_length = self.prediction_length.saturating_add(other.prediction_length);
        self.reference_length = self.reference_length.saturating_add(other.reference_length);
        for (sum, count) in self.correct.iter_mut().zip(&other.correct) {
            *sum = sum.saturating_add(*count);
        }
        for (sum, count) in self.total.iter_mut().zip(&other.total) {
            *sum = sum.saturating_add(*count);
        }
        true
    }

    /// Returns the factor for a prediction that is shorter than its references; 1 for any other.
    pub fn brevity_penalty(&self) -> f64 {
        if self.prediction_length >= self.reference_length {
            1.0
        } else if self.prediction_length == 0 {
            0.0
        } else {
            (1.0 - self.reference_length as f64 / self.prediction_length as f64).exp()
        }
    }
}

/// Replacement for a precision of zero.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Smoothing {
    /// No replacement: the score is zero.
    Off,
    /// A fixed number of matches.
    Floor(f64),
    /// An additional number of matches and n-grams, for every order except the first.
    AddK(f64),
    /// Half a match, then a quarter for the next such order, and so on.
    Exponential,
}

/// Method that turns counts into a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BleuScoring {
    smoothing: Smoothing,
    effective_order: bool,
}

impl BleuScoring {
    /// Returns the JSON Schema of the parameters: `smooth_method`, `smooth_value`, `effective_order`.
    pub fn schema(effective_order: bool) -> Vec<(&'static str, serde_json::Value)> {
        vec![
            (
                "smooth_method",
                json!({
                    "enum": ["exp", "floor", "add-k", "none"], "default": "exp",
                    "description": "Replacement for a precision of zero",
                }),
            ),
            (
                "smooth_value",
                json!({
                    "type": ["number", "string", "null"], "default": null,
                    "description": "Value of the methods `floor` (default 0.1) and `add-k` (default 1)",
                }),
            ),
            (
                "effective_order",
                flag_schema(effective_order, "Leave out orders that are longer than the prediction"),
            ),
        ]
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// `invalid-config` for an unknown method, and for a value that is negative, above a million, or given for a method
    /// that takes none.
    pub fn read(params: &Params, effective_order: bool) -> Result<BleuScoring, PluginError> {
        let value = params.within("smooth_value", 0.0..=1e6)?;
        let methods = [
            ("exp", Smoothing::Exponential),
            ("floor", Smoothing::Floor(value.unwrap_or(0.1))),
            ("add-k", Smoothing::AddK(value.unwrap_or(1.0))),
            ("none", Smoothing::Off),
        ];
        let smoothing = params.one_of("smooth_method", &methods, Smoothing::Exponential)?;
        if value.is_some() && matches!(smoothing, Smoothing::Exponential | Smoothing::Off) {
            let message = "params: 'smooth_value' is for the methods floor and add-k: take it away, or set \
                'smooth_method'";
            return Err(PluginError::invalid_config(message).at("/smooth_value"));
        }
        Ok(BleuScoring { smoothing, effective_order: params.flag("effective_order", effective_order)? })
    }

    /// Returns the score from 0 to 100, plus a rounding error at most. It is 0 if nothing matches.
    pub fn score(self, counts: &BleuCounts) -> f64 {
        /// Substitute of sacreBLEU for the logarithm of zero.
        const LOG_OF_ZERO: f64 = -9_999_999_999.0;
        let Precisions { percents, effective_order, matches } = self.smoothed(counts);
        if !matches {
            return 0.0;
        }
        let logarithm = |precision: &f64| if *precision == 0.0 { LOG_OF_ZERO } else { precision.ln() };
        let sum: f64 = percents.iter().take(effective_order).map(logarithm).sum();
        counts.brevity_penalty() * (sum / effective_order as f64).exp()
    }

    /// Returns the precision of each order in percent, smoothed as for the score, as sacreBLEU reports them. It is 0
    /// for all orders if nothing matches, and for orders that the predictions are too short for.
    pub fn precisions(self, counts: &BleuCounts) -> Vec<f64> {
        self.smoothed(counts).percents
    }

    fn smoothed(self, counts: &BleuCounts) -> Precisions {
        let orders = counts.correct.len();
        let matches = counts.correct.iter().any(|&correct| correct != 0);
        let mut found = Precisions { percents: vec![0.0; orders], effective_order: orders, matches };
        if !matches {
            return found;
        }
        let mut share = 1.0;
        let pairs = counts.correct.iter().zip(&counts.total);
        for (order, (precision, (&correct, &total))) in found.percents.iter_mut().zip(pairs).enumerate() {
            let added = match self.smoothing {
                Smoothing::AddK(value) if order > 0 => value,
                _ => 0.0,
            };
            let (correct, total) = (correct as f64 + added, total as f64 + added);
            if total == 0.0 {
                break;
            }
            if self.effective_order {
                found.effective_order = order + 1;
            }
            *precision = match self.smoothing {
                _ if correct != 0.0 => 100.0 * correct / total,
                Smoothing::Exponential => {
                    share *= 2.0;
                    100.0 / (share * total)
                }
                Smoothing::Floor(value) => 100.0 * value / total,
                Smoothing::Off | Smoothing::AddK(_) => 0.0,
            };
        }
        found
    }
}

/// Components of a score.
struct Precisions {
    /// Precision of each order, in percent.
    percents: Vec<f64>,
    /// Number of orders that count.
    effective_order: usize,
    /// True if anything matches.
    matches: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoring(params: serde_json::Value) -> Result<BleuScoring, PluginError> {
        BleuScoring::read(&Params::new(params)?, false)
    }

    #[test]
    fn scores() {
        let counts = BleuCounts {
            prediction_length: 3,
            reference_length: 4,
            correct: vec![3, 1, 0, 0],
            total: vec![3, 2, 1, 0],
        };
        let penalty = (-1.0f64 / 3.0).exp();
        for (params, expected) in [
            (json!({ "smooth_method": "none" }), 0.0),
            (json!({ "effective_order": true, "smooth_method": "none" }), 0.0),
            (json!({ "effective_order": true }), penalty * (100.0f64 * 50.0 * 50.0).powf(1.0 / 3.0)),
            (
                json!({ "effective_order": true, "smooth_method": "floor" }),
                penalty * (100.0f64 * 50.0 * 10.0).powf(1.0 / 3.0),
            ),
            (
                json!({ "smooth_method": "add-k" }),
                penalty * (100.0f64 * (200.0 / 3.0) * 50.0 * 100.0).powf(0.25),
            ),
        ] {
            let Ok(scoring) = scoring(params.clone()) else { panic!("{params} is accepted") };
            let found = scoring.score(&counts);
            assert!((found - expected).abs() < 1e-9, "{params}: {found} {expected}");
        }
    }

    #[test]
    fn precisions_are_smoothed() {
        let counts = BleuCounts {
            prediction_length: 300,
            reference_length: 300,
            correct: vec![150, 10, 0, 0],
            total: vec![300, 200, 120, 90],
        };
        for (params, expected) in [
            (json!({}), [50.0, 5.0, 100.0 / 240.0, 100.0 / 360.0]),
            (json!({ "smooth_method": "none" }), [50.0, 5.0, 0.0, 0.0]),
            (json!({ "smooth_method": "floor" }), [50.0, 5.0, 10.0 / 120.0, 10.0 / 90.0]),
            (json!({ "smooth_method": "add-k" }), [50.0, 1100.0 / 201.0, 100.0 / 121.0, 100.0 / 91.0]),
        ] {
            let Ok(scoring) = scoring(params.clone()) else { panic!("{params} is accepted") };
            let found = scoring.precisions(&counts);
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9),
                "{found:?}"
            );
        }
        let Ok(scoring) = scoring(json!({})) else { panic!("the defaults are accepted") };
        let nothing = BleuCounts { correct: vec![0, 0], total: vec![3, 2], ..BleuCounts::default() };
        assert_eq!(scoring.precisions(&nothing), [0.0, 0.0]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for params in [
            json!({ "smooth_method": "exponential" }),
            json!({ "smooth_value": 0.5 }),
            json!({ "smooth_method": "floor", "smooth_value": -1 }),
            json!({ "smooth_method": "add-k", "smooth_value": "nan" }),
            json!({ "smooth_method": "add-k", "smooth_value": "1e400" }),
            json!({ "effective_order": "false" }),
        ] {
            assert!(scoring(params.clone()).is_err(), "{params}");
        }
    }

    #[test]
    fn counts_of_other_orders_are_not_added() {
        let mut sum = BleuCounts { correct: vec![1], total: vec![2], ..BleuCounts::default() };
        let other = BleuCounts { correct: vec![1, 1], total: vec![2, 2], ..BleuCounts::default() };
        assert!(!sum.add(&other));
        assert!(sum.add(&sum.clone()));
        assert_eq!((sum.correct, sum.total), (vec![2], vec![4]));
    }
}
