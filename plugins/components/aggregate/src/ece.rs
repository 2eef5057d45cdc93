//! `ece`: the quality of stated confidences.

use crate::calibration::{Bin, Calibration, equal_mass, place};
use crate::detail::{sub_score, weight};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};

/// Expected calibration error: the mean distance between accuracy and mean confidence, over bins of similar confidence.
/// Each bin is weighted by its content (Naeini et al. 2015; Guo et al. 2017, "On Calibration of Modern Neural
/// Networks").
///
/// Figures: `ece`; `mce`, the largest distance of a bin; `accuracy`; `mean_confidence`. All are from 0 to 1. Their
/// count is the number of rows with a confidence and a truth; without such rows there are none.
///
/// Parameters: `bins`, 1 to 100, default 10; `binning`, `equal_width` (default) or `equal_mass`; `confidence` and
/// `correct`, the sub-scores to read (by default with these names). If a card has no sub-score `correct`, its `pass`
/// counts. A confidence or a truth outside 0 to 1 is `invalid-input`; otherwise it would be silently lost. Rows count
/// by their weight; bins of equal mass are formed without it.
///
/// The state of `equal_width` has constant size. For `equal_mass` it takes some 20 to 40 bytes per row, so 1 MiB is
/// enough for about 30 000 rows.
pub struct ExpectedCalibrationError {
    bins: usize,
    has_equal_mass: bool,
    /// Name of the sub-score to read; likewise `correct`.
    confidence: String,
    correct: String,
}

/// Running state over the rows.
#[derive(Default, Serialize, Deserialize)]
pub struct EceState {
    count: u64,
    /// Bins of equal width.
    bins: Vec<Bin>,
    /// Confidence, correctness and weight, for bins of equal mass.
    predictions: Vec<(f64, f64, f64)>,
}

impl Aggregator for ExpectedCalibrationError {
    type State = EceState;

    fn name() -> &'static str {
        "ece"
    }

    fn spec() -> MemberSpec {
        let properties = json!({
            "bins": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "default": 10,
                "description": "number of bins",
            },
            "binning": {
                "enum": ["equal_width", "equal_mass"],
                "default": "equal_width",
                "description": "bins of equal width, or with equal numbers of samples",
            },
            "confidence": {
                "type": "string",
                "default": "confidence",
                "description": "sub-score with the confidence",
            },
            "correct": {
                "type": "string",
                "default": "correct",
                "description": "sub-score with the correctness",
            },
        });
        MemberSpec::new("1", "Expected calibration error of stated confidences", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| ["bins", "binning", "confidence", "correct"])?;
        Ok(ExpectedCalibrationError {
            bins: params.whole("bins", 1..=100, 10)?.into(),
            has_equal_mass: params.one_of(
                "binning",
                &[("equal_width", false), ("equal_mass", true)],
                false,
            )?,
            confidence: params.text_or("confidence", "confidence")?,
            correct: params.text_or("correct", "correct")?,
        })
    }

    fn add(&self, state: &mut EceState, row: Row) -> Result<(), PluginError> {
        let confidence = sub_score(&row.card, &self.confidence);
        let passed = || row.card.pass.map(|pass| if pass { 1.0 } else { 0.0 });
        let correct = sub_score(&row.card, &self.correct).or_else(passed);
        let Some((confidence, correct)) = confidence.zip(correct) else { return Ok(()) };
        for (what, number) in [("confidence", confidence), ("truth", correct)] {
            if !(0.0..=1.0).contains(&number) {
                let message =
                    format!("the {what} of sample '{}' must be from 0 to 1, not {number}", row.sample_id);
                return Err(PluginError::invalid_input(message));
            }
        }
        let weight = weight(&row.sample_id, row.weight)?;
        state.count += 1;
        if self.has_equal_mass {
            state.predictions.push((confidence, correct, weight));
            return Ok(());
        }
        state.bins.resize(self.bins, Bin::default());
        if let Some(bin) = state.bins.get_mut(place(confidence, self.bins)) {
            bin.add(weight, confidence, correct);
        }
        Ok(())
    }

    fn finish(&self, state: EceState) -> Result<Vec<Figure>, PluginError> {
        let bins = match self.has_equal_mass {
            true => equal_mass(state.predictions, self.bins),
            false => state.bins,
        };
        let Some(Calibration { expected, maximum, accuracy, confidence }) = Calibration::of(&bins) else {
            return Ok(Vec::new());
        };
        let figures =
            [("ece", expected), ("mce", maximum), ("accuracy", accuracy), ("mean_confidence", confidence)];
        Ok(figures.map(|(name, value)| Figure::new(name, value, state.count)).to_vec())
    }

    fn merge(&self, state: &mut EceState, other: &EceState) -> Result<(), PluginError> {
        state.count += other.count;
        state.predictions.extend_from_slice(&other.predictions);
        state.bins.resize(state.bins.len().max(other.bins.len()), Bin::default());
        state.bins.iter_mut().zip(&other.bins).for_each(|(bin, other)| bin.merge(other));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, figures, row};
    use gage_sdk::ScoreCard;

    const PREDICTIONS: [(f64, bool); 10] = [
        (0.95, true),
        (0.9, true),
        (0.91, false),
        (0.8, true),
        (0.72, false),
        (0.61, true),
        (0.35, false),
        (0.3, false),
        (0.05, true),
        (0.0, false),
    ];

    fn rows() -> Vec<Row> {
        let card = |confidence: f64, is_right: bool| {
            ScoreCard::of(0.0)
                .sub_score("confidence", confidence)
                .sub_score("correct", f64::from(u8::from(is_right)))
        };
        PREDICTIONS.iter().map(|(confidence, is_right)| row("s", card(*confidence, *is_right))).collect()
    }

    /// Computed from the definitions with numpy: `digitize` by the right edges, and `array_split` of the
    /// sorted predictions.
    #[test]
    fn agrees_with_numpy() {
        for (params, ece, mce) in [
            (json!({}), 0.347, 0.475),
            (json!({ "bins": 5 }), 0.249, 0.475),
            (json!({ "bins": 3, "binning": "equal_mass" }), 0.119, 0.253333333333),
            (json!({ "bins": 20, "binning": "equal_mass" }), 0.397, 0.95),
        ] {
            let Ok(found) = figures::<ExpectedCalibrationError>(params.clone(), rows()) else {
                panic!("{params}")
            };
            assert_near(&found, "ece", ece, 1e-12);
            assert_near(&found, "mce", mce, 1e-12);
            assert_near(&found, "accuracy", 0.5, 1e-12);
            assert_near(&found, "mean_confidence", 0.559, 1e-12);
            assert!(found.iter().all(|figure| figure.count == 10));
        }
    }

    #[test]
    fn rows_without_confidence_do_not_count() {
        let with_pass = ScoreCard::binary(true).sub_score("stated", 0.75);
        let rows =
            vec![row("a", with_pass), row("b", ScoreCard::none("?")), row("c", ScoreCard::binary(true))];
        let params = json!({ "confidence": "stated" });
        let Ok(found) = figures::<ExpectedCalibrationError>(params, rows) else {
            panic!("rows are taken in")
        };
        assert_near(&found, "ece", 0.25, 1e-12);
        assert_eq!(found.first().map(|figure| figure.count), Some(1));
        assert_eq!(figures::<ExpectedCalibrationError>(json!({}), Vec::new()), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        let bad = ScoreCard::binary(true).sub_score("confidence", 1.5);
        assert!(figures::<ExpectedCalibrationError>(json!({}), vec![row("a", bad)]).is_err());
        let good = ScoreCard::binary(true).sub_score("confidence", 0.5);
        let heavy = Row { weight: -1.0, ..row("a", good) };
        assert!(figures::<ExpectedCalibrationError>(json!({}), vec![heavy]).is_err());
        for params in [json!({ "bins": 0 }), json!({ "binning": "width" }), json!({ "bin": 1 })] {
            assert!(ExpectedCalibrationError::prepare(params).is_err());
        }
    }
}
