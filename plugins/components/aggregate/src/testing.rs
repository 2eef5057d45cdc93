//! Runs aggregators in tests: over all rows at once, and with the state saved after each.

use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, ScoreCard};

/// Creates a row of a sample.
pub(crate) fn row(sample_id: &str, card: ScoreCard) -> Row {
    Row { sample_id: sample_id.to_owned(), weight: 1.0, card }
}

/// Returns the figures of some rows. The split into calls must not matter, so the state goes through JSON after every
/// row.
pub(crate) fn figures<A: Aggregator>(params: Value, rows: Vec<Row>) -> Result<Vec<Figure>, PluginError> {
    let aggregator = A::prepare(params)?;
    let mut state = A::State::default();
    for row in rows {
        aggregator.add(&mut state, row)?;
        let kept = serde_json::to_string(&state).map_err(|error| PluginError::internal(error.to_string()))?;
        state = serde_json::from_str(&kept).map_err(|error| PluginError::internal(error.to_string()))?;
    }
    aggregator.finish(state)
}

/// Returns the value of a figure by its name.
pub(crate) fn value(figures: &[Figure], name: &str) -> Option<f64> {
    figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// Panics unless the figure exists and is near the number.
#[track_caller]
pub(crate) fn assert_near(figures: &[Figure], name: &str, expected: f64, within: f64) {
    let found = value(figures, name);
    assert!(found.is_some_and(|found| (found - expected).abs() <= within), "{name}: {expected} {figures:?}");
}

/// Panics unless parts of the rows, merged once each, give the figures of all rows, and twice the rows drawn twice.
pub(crate) fn assert_merges<A: Aggregator>(params: &Value, rows: &[Row]) {
    let fold = |rows: &[Row]| {
        let aggregator = A::prepare(params.clone()).unwrap_or_else(|error| panic!("{error:?}"));
        let mut state = A::State::default();
        for row in rows {
            aggregator.add(&mut state, row.clone()).unwrap_or_else(|error| panic!("{error:?}"));
        }
        (aggregator, state)
    };
    let values = |aggregator: &A, state: A::State| -> Vec<(String, f64)> {
        let figures = aggregator.finish(state).unwrap_or_else(|error| panic!("{error:?}"));
        figures.into_iter().map(|figure| (figure.name, figure.value)).collect()
    };
    for times in [1, 2] {
        let repeated: Vec<Row> = (0..times).flat_map(|_| rows.to_vec()).collect();
        let (aggregator, whole) = fold(&repeated);
        let mut merged = A::State::default();
        for part in rows.chunks(2) {
            let (_, state) = fold(part);
            for _ in 0..times {
                aggregator.merge(&mut merged, &state).unwrap_or_else(|error| panic!("{error:?}"));
            }
        }
        let (found, expected) = (values(&aggregator, merged), values(&aggregator, whole));
        assert_eq!(found.len(), expected.len(), "{} {found:?} {expected:?}", A::name());
        for ((name, found), (same, expected)) in found.iter().zip(&expected) {
            assert!(name == same && (found - expected).abs() < 1e-9, "{name}: {found} {expected}");
        }
    }
}

#[test]
fn merged_parts_are_the_whole() {
    use gage_sdk::json;
    let card = |number: u32| {
        let (likely, right) = (f64::from(number % 7) / 7.0, !number.is_multiple_of(3));
        let detail = json!({
            "prediction": format!("{}", number % 3), "reference": format!("{}", number % 2),
            "bleu": {"correct": [number + 2, number], "total": [9 + number, 8 + number],
                     "prediction_length": 9 + number, "reference_length": 10},
        });
        ScoreCard::binary(right)
            .sub_score("confidence", likely)
            .sub_score("judge_a", f64::from(number % 2))
            .sub_score("judge_b", f64::from(number % 3))
            .detail(&detail)
    };
    let rows: Vec<Row> = (0..9).map(|number| row(&format!("s{number}"), card(number))).collect();
    assert_merges::<crate::Confusion>(&json!({}), &rows);
    assert_merges::<crate::ExpectedCalibrationError>(&json!({}), &rows);
    assert_merges::<crate::ExpectedCalibrationError>(&json!({"binning": "equal_mass"}), &rows);
    assert_merges::<crate::CorpusBleu>(&json!({}), &rows);
    assert_merges::<crate::KrippendorffAlpha>(&json!({}), &rows);
}
