//! Preprocessors: convert raw rows of a dataset to Samples.

pub use crate::MemberSpec as PreprocessorSpec;
use crate::bindings::preprocessor::exports::gage::plugin::preprocessor::{Guest, Outcome, RawRow};
use crate::component::{Component, Plugin, each, json_text, kind, members, read_json};
use crate::{MemberSpec, PluginError};
use serde_json::{Map, Value};

/// A parsed raw row of a dataset.
pub struct Row {
    /// The `dataset_id` of the suite.
    pub dataset: String,
    /// Index of the row, from 0 in file order.
    pub index: u64,
    /// The row itself.
    pub body: Map<String, Value>,
}

/// Result of converting a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutcome {
    /// A Sample, as an object. The host adds a missing `id`.
    Sample(Value),
    /// The row is skipped on purpose, for this reason.
    Skip(String),
}

/// A preprocessor of a component.
pub trait Preprocessor {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Creates the preprocessor from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Converts one row to a Sample.
    ///
    /// # Errors
    /// An error gives this row the outcome `invalid_sample`; its pointer may name the field.
    fn convert(&self, row: Row) -> Result<RowOutcome, PluginError>;

    /// Returns the Sample of a row as JSON text without parsing the whole row. This is a faster way to the
    /// same Sample as [`Preprocessor::convert`]. If it returns `None`, the default, the row is parsed and
    /// passed to `convert`.
    fn convert_text(&self, _row: &str) -> Option<String> {
        None
    }
}

kind!(Preprocessor, "preprocessor", MemberSpec, name);

impl<P: Plugin<Kind = dyn Preprocessor>> Guest for Component<P> {
    members!(preprocessors, MemberSpec);

    fn convert(preprocessor: String, params: String, rows: Vec<RawRow>) -> Vec<Result<Outcome, PluginError>> {
        each::<P, _, _>(&preprocessor, &params, rows, |preprocessor, row| {
            if let Some(sample) = preprocessor.convert_text(&row.body) {
                return Ok(Outcome::Sample(sample));
            }
            let body = read_json(&row.body, "the row")?;
            let row = Row { dataset: row.dataset, index: row.index, body };
            Ok(match preprocessor.convert(row)? {
                RowOutcome::Sample(sample) => Outcome::Sample(json_text(&sample)),
                RowOutcome::Skip(reason) => Outcome::Skip(reason),
            })
        })
    }
}

/// Creates a component of the world `preprocessor-plugin` from
/// [`Preprocessor`](crate::preprocessor::Preprocessor)s.
///
/// An optional `extra`, an object, comes before `preprocessors`.
#[macro_export]
macro_rules! preprocessors {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? preprocessors: [$($preprocessor:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(preprocessor, $crate::preprocessor::Preprocessor, $crate::preprocessor::Preprocessor, $name, $description, [$($extra)?], [$($preprocessor),+]);
    };
}
