//! The weighted geometric mean of the primary scores.

use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};

/// The parameters in a suite; there are none.
#[derive(serde::Deserialize)]
struct GeometricMean {}

/// State after the rows so far, as JSON. The host may end a call after any row.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct State {
    log_sum: f64,
    weight: f64,
    count: u64,
    has_zero: bool,
}

impl Aggregator for GeometricMean {
    type State = State;

    fn name() -> &'static str {
        "{{snake}}"
    }

    // Increase the version, "1", when a figure could change.
    fn spec() -> MemberSpec {
        MemberSpec::new("1", "Weighted geometric mean of the primary scores", json!({}))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    fn add(&self, state: &mut State, row: Row) -> Result<(), PluginError> {
        let Some(score) = row.card.primary_score else {
            return Ok(());
        };
        if score < 0.0 {
            let message = format!("sample '{}' has a score below zero, {score}", row.sample_id);
            return Err(PluginError::invalid_input(message));
        }
        if score == 0.0 {
            state.has_zero = true;
        } else {
            state.log_sum += row.weight * score.ln();
        }
        state.weight += row.weight;
        state.count += 1;
        Ok(())
    }

    fn finish(&self, state: State) -> Result<Vec<Figure>, PluginError> {
        if state.weight == 0.0 {
            return Ok(Vec::new());
        }
        let mean = if state.has_zero { 0.0 } else { (state.log_sum / state.weight).exp() };
        Ok(vec![Figure::new("geometric_mean", mean, state.count)])
    }

    // Optional: with it, the figure gets an interval, and gates compare it. `merges` below names the aggregator.
    fn merge(&self, state: &mut State, other: &State) -> Result<(), PluginError> {
        state.log_sum += other.log_sum;
        state.weight += other.weight;
        state.count += other.count;
        state.has_zero |= other.has_zero;
        Ok(())
    }
}

// The list may hold several aggregators.
gage_sdk::aggregators!(
    name: "{{name}}",
    description: "Geometric means",
    extra: json!({ "merges": ["{{snake}}"] }),
    aggregators: [GeometricMean],
);

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ScoreCard;

    #[test]
    fn weights_count() {
        let mut state = State::default();
        for (weight, score) in [(3.0, 2.0), (1.0, 32.0)] {
            let row = Row { sample_id: String::new(), weight, card: ScoreCard::of(score) };
            GeometricMean {}.add(&mut state, row).unwrap();
        }
        let mut merged = State::default();
        GeometricMean {}.merge(&mut merged, &state).unwrap();
        for state in [state, merged] {
            let figures = GeometricMean {}.finish(state).unwrap();
            assert!((figures[0].value - 4.0).abs() < 1e-12);
        }
    }
}
