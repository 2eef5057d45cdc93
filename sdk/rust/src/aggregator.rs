//! Aggregators: compute figures from score cards, if the host's own do not suffice.

use crate::bindings::aggregator::exports::gage::plugin::aggregator::Guest;
pub use crate::bindings::aggregator::exports::gage::plugin::aggregator::{Figure, Row};
use crate::component::{Component, Plugin, kind, make, members};
use crate::{ErrorKind, MemberSpec, PluginError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// An aggregator of a component: a fold over the rows of the dataset, in order.
///
/// The host may end a call after any row, and keeps the state as JSON until the next call. JSON cannot
/// represent infinite numbers.
pub trait Aggregator: Sized {
    /// State after the rows so far.
    type State: Default + Serialize + DeserializeOwned;

    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec;

    /// Creates the aggregator from its parameters, once per call.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>;

    /// Adds one row.
    ///
    /// # Errors
    /// An error ends the aggregation.
    fn add(&self, state: &mut Self::State, row: Row) -> Result<(), PluginError>;

    /// Returns the figures; the list may be empty.
    ///
    /// # Errors
    /// Same as for [`Aggregator::add`].
    fn finish(&self, state: Self::State) -> Result<Vec<Figure>, PluginError>;

    /// Adds the rows of another state. With it, figures get intervals and can be gated: list the name of the aggregator
    /// under `merges` in `extra`.
    ///
    /// # Errors
    /// Same as for [`Aggregator::add`]; `unsupported` by default.
    fn merge(&self, _state: &mut Self::State, _other: &Self::State) -> Result<(), PluginError> {
        Err(PluginError::new(ErrorKind::Unsupported, "this aggregator cannot merge states"))
    }
}

impl Figure {
    /// Creates a figure that summarizes a number of rows, without a standard error.
    pub fn new(name: &str, value: f64, count: u64) -> Figure {
        Figure { name: name.to_owned(), value, stderr: None, count }
    }
}

/// An [`Aggregator`] whose state is bytes, so that all have the same type. Used by the macro.
#[doc(hidden)]
pub trait Fold {
    fn fold(&self, state: &[u8], rows: Vec<Row>) -> Result<Vec<u8>, PluginError>;
    fn finish(&self, state: &[u8]) -> Result<Vec<Figure>, PluginError>;
    fn resample(&self, states: &[Vec<u8>], draws: &[Vec<u32>]) -> Result<Vec<Vec<Figure>>, PluginError>;
}

impl<A: Aggregator> Fold for A {
    fn fold(&self, state: &[u8], rows: Vec<Row>) -> Result<Vec<u8>, PluginError> {
        let mut state = read::<A::State>(state)?;
        rows.into_iter().try_for_each(|row| self.add(&mut state, row))?;
        serde_json::to_vec(&state)
            .map_err(|error| PluginError::internal(format!("the state cannot be kept: {error}")))
    }

    fn finish(&self, state: &[u8]) -> Result<Vec<Figure>, PluginError> {
        Aggregator::finish(self, read(state)?)
    }

    fn resample(&self, states: &[Vec<u8>], draws: &[Vec<u32>]) -> Result<Vec<Vec<Figure>>, PluginError> {
        let states = states.iter().map(|state| read(state)).collect::<Result<Vec<A::State>, _>>()?;
        let draw = |times: &Vec<u32>| {
            if times.iter().all(|times| *times == 0) {
                return Ok(Vec::new());
            }
            let mut merged = A::State::default();
            for (state, times) in states.iter().zip(times) {
                (0..*times).try_for_each(|_| self.merge(&mut merged, state))?;
            }
            Aggregator::finish(self, merged)
        };
        draws.iter().map(draw).collect()
    }
}

fn read<S: Default + DeserializeOwned>(state: &[u8]) -> Result<S, PluginError> {
    if state.is_empty() {
        return Ok(S::default());
    }
    serde_json::from_slice(state)
        .map_err(|error| PluginError::internal(format!("the state cannot be read: {error}")))
}

kind!(Fold, "aggregator", MemberSpec, name);

impl<P: Plugin<Kind = dyn Fold>> Guest for Component<P> {
    members!(aggregators, MemberSpec);

    fn fold(
        aggregator: String,
        params: String,
        state: Vec<u8>,
        rows: Vec<Row>,
    ) -> Result<Vec<u8>, PluginError> {
        make::<P>(&aggregator, &params)?.fold(&state, rows)
    }

    fn finish(aggregator: String, params: String, state: Vec<u8>) -> Result<Vec<Figure>, PluginError> {
        make::<P>(&aggregator, &params)?.finish(&state)
    }

    fn resample(
        aggregator: String,
        params: String,
        states: Vec<Vec<u8>>,
        draws: Vec<Vec<u32>>,
    ) -> Result<Vec<Vec<Figure>>, PluginError> {
        make::<P>(&aggregator, &params)?.resample(&states, &draws)
    }
}

/// Creates a component of the world `aggregator-plugin` from [`Aggregator`](crate::aggregator::Aggregator)s.
///
/// An optional `extra`, an object, comes before `aggregators`.
#[macro_export]
macro_rules! aggregators {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? aggregators: [$($aggregator:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(aggregator, $crate::aggregator::Fold, $crate::aggregator::Aggregator, $name, $description, [$($extra)?], [$($aggregator),+]);
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScoreCard;
    use serde_json::json;

    struct Sum;

    impl Aggregator for Sum {
        type State = f64;
        fn name() -> &'static str {
            "sum"
        }

        fn spec() -> MemberSpec {
            MemberSpec::new("1", "The sum of all scores", json!({}))
        }
        fn prepare(_params: Value) -> Result<Sum, PluginError> {
            Ok(Sum)
        }
        fn add(&self, state: &mut f64, row: Row) -> Result<(), PluginError> {
            *state += row.card.primary_score.unwrap_or_default();
            Ok(())
        }
        fn finish(&self, state: f64) -> Result<Vec<Figure>, PluginError> {
            Ok(vec![Figure::new("sum", state, 0)])
        }
        fn merge(&self, state: &mut f64, other: &f64) -> Result<(), PluginError> {
            *state += other;
            Ok(())
        }
    }

    #[test]
    fn states_count_as_often_as_they_are_drawn() {
        let row = |score| Row { sample_id: String::new(), weight: 1.0, card: ScoreCard::of(score) };
        let states = [0.5, 1.0].map(|score| Sum.fold(&[], vec![row(score)]).unwrap());
        let found = Sum.resample(&states, &[vec![1, 1], vec![0, 2], vec![0, 0]]).unwrap();
        let values: Vec<f64> = found.iter().flatten().map(|figure| figure.value).collect();
        assert_eq!(values, [1.5, 2.0]);
        assert!(found[2].is_empty());
    }

    #[test]
    fn where_a_call_ends_means_nothing() {
        let row = |score| Row { sample_id: String::new(), weight: 1.0, card: ScoreCard::of(score) };
        let state = Sum.fold(&[], vec![row(0.1)]).unwrap();
        let state = Sum.fold(&state, vec![row(0.2), row(1.0)]).unwrap();
        assert_eq!(Fold::finish(&Sum, &state), Ok(vec![Figure::new("sum", 0.1 + 0.2 + 1.0, 0)]));
        assert!(Fold::finish(&Sum, b"?").is_err());
    }
}
