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
