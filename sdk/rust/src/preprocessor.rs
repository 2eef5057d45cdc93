//! Preprocessors: they turn raw rows of a dataset into Samples.

pub use crate::MemberSpec as PreprocessorSpec;
use crate::bindings::preprocessor::exports::gage::plugin::preprocessor::{Guest, Outcome, RawRow};
use crate::component::{Component, Plugin, each, kind, members, read_json};
use crate::{MemberSpec, PluginError};
use serde_json::{Map, Value};

/// A raw row of a dataset, parsed.
pub struct Row {
    /// The `dataset_id` of the suite.
    pub dataset: String,
    /// Counted from 0 in the order of the file.
    pub index: u64,
    /// The row itself.
    pub body: Map<String, Value>,
}

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutcome {
    /// A Sample, as an object. The host fills in `id` where it is missing.
    Sample(Value),
    /// The row is left out on purpose; the text says why.
    Skip(String),
}

/// One preprocessor of a component.
pub trait Preprocessor {
    /// What it is called in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Makes the preprocessor from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Turns one row into a Sample.
    ///
    /// # Errors
    /// An error is the outcome `invalid_sample` for this row; a pointer says which field.
    fn convert(&self, row: Row) -> Result<RowOutcome, PluginError>;

    /// The Sample of a row as JSON text, where it can be had without reading all of the row. `None`,
    /// which is the default, has the row read and given to [`Preprocessor::convert`], of which this is
    /// a faster way to the same Sample and to no other.
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
                RowOutcome::Sample(sample) => Outcome::Sample(sample.to_string()),
                RowOutcome::Skip(reason) => Outcome::Skip(reason),
            })
        })
    }
}

/// Makes a component of the world `preprocessor-plugin` from
/// [`Preprocessor`](crate::preprocessor::Preprocessor)s.
///
/// `extra`, an object, may stand before `preprocessors`.
#[macro_export]
macro_rules! preprocessors {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? preprocessors: [$($preprocessor:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(preprocessor, $crate::preprocessor::Preprocessor, $crate::preprocessor::Preprocessor, $name, $description, [$($extra)?], [$($preprocessor),+]);
    };
}
