//! The preprocessor world.

use crate::PluginError;
pub use crate::bindings::preprocessor_world::exports::gage::plugin::preprocessor::{
    Outcome, PreprocessorSpec, RawRow,
};

/// A raw row of a dataset, parsed.
pub struct Row {
    /// The `dataset_id` of the suite.
    pub dataset: String,
    /// Counted from 0 in the order of the file.
    pub index: u64,
    /// The row itself.
    pub body: serde_json::Map<String, serde_json::Value>,
}

/// What becomes of a row.
pub enum Converted {
    /// A Sample, as an object.
    Sample(serde_json::Value),
    /// The row is left out on purpose; the text says why.
    Skip(String),
}

/// One preprocessor of a component.
pub trait Preprocessor: Sized {
    /// Its name, its version and its parameters.
    fn spec() -> PreprocessorSpec;

    /// Makes the preprocessor from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: serde_json::Value) -> Result<Self, PluginError>;

    /// Turns one row into a Sample.
    ///
    /// # Errors
    /// An error is the outcome `invalid_sample` for this row; a pointer says which field.
    fn convert(&self, row: Row) -> Result<Converted, PluginError>;
}

impl PreprocessorSpec {
    /// A preprocessor whose parameters have the given JSON Schema properties; other keys are
    /// refused.
    pub fn new(
        name: &str,
        version: &str,
        description: &str,
        properties: serde_json::Value,
    ) -> PreprocessorSpec {
        PreprocessorSpec {
            name: name.to_owned(),
            version: version.to_owned(),
            description: description.to_owned(),
            params_schema: serde_json::json!({
                "type": "object", "additionalProperties": false, "properties": properties,
            })
            .to_string(),
        }
    }
}

/// Makes a preprocessor from the JSON text of its parameters; what the macro calls.
#[doc(hidden)]
pub fn prepare<P: Preprocessor>(params: &str) -> Result<P, PluginError> {
    let params = serde_json::from_str(params)
        .map_err(|error| PluginError::invalid_config(format!("params are not JSON: {error}")))?;
    P::prepare(params)
}

/// Converts a batch with one preprocessor; what the macro calls.
#[doc(hidden)]
pub fn convert_batch<P: Preprocessor>(params: &str, rows: Vec<RawRow>) -> Vec<Result<Outcome, PluginError>> {
    match prepare::<P>(params) {
        Ok(preprocessor) => rows.into_iter().map(|row| convert_one(&preprocessor, row)).collect(),
        Err(error) => rows.iter().map(|_| Err(error.clone())).collect(),
    }
}

fn convert_one<P: Preprocessor>(preprocessor: &P, row: RawRow) -> Result<Outcome, PluginError> {
    let body = serde_json::from_str(&row.body)
        .map_err(|error| PluginError::invalid_input(format!("the row is not a JSON object: {error}")))?;
    let row = Row { dataset: row.dataset, index: row.index, body };
    Ok(match preprocessor.convert(row)? {
        Converted::Sample(sample) => Outcome::Sample(sample.to_string()),
        Converted::Skip(reason) => Outcome::Skip(reason),
    })
}

/// Makes a component of the world `preprocessor-plugin` from [`Preprocessor`]s.
#[macro_export]
macro_rules! preprocessors {
    (name: $name:expr, description: $description:expr, preprocessors: [$($preprocessor:ty),+ $(,)?] $(,)?) => {
        struct GageComponent;

        impl $crate::bindings::preprocessor_world::exports::gage::plugin::preprocessor::Guest for GageComponent {
            fn describe() -> $crate::PluginInfo {
                $crate::PluginInfo {
                    name: $name.to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    description: $description.to_owned(),
                }
            }

            fn preprocessors() -> Vec<$crate::preprocessor::PreprocessorSpec> {
                vec![$(<$preprocessor as $crate::preprocessor::Preprocessor>::spec()),+]
            }

            fn check(preprocessor: String, params: String) -> Result<(), $crate::PluginError> {
                $(if <$preprocessor as $crate::preprocessor::Preprocessor>::spec().name == preprocessor {
                    return $crate::preprocessor::prepare::<$preprocessor>(&params).map(|_| ());
                })+
                Err($crate::PluginError::unsupported(format!("no preprocessor '{preprocessor}' in this component")))
            }

            fn convert(
                preprocessor: String,
                params: String,
                rows: Vec<$crate::preprocessor::RawRow>,
            ) -> Vec<Result<$crate::preprocessor::Outcome, $crate::PluginError>> {
                $(if <$preprocessor as $crate::preprocessor::Preprocessor>::spec().name == preprocessor {
                    return $crate::preprocessor::convert_batch::<$preprocessor>(&params, rows);
                })+
                let error = $crate::PluginError::unsupported(format!("no preprocessor '{preprocessor}' in this component"));
                rows.iter().map(|_| Err(error.clone())).collect()
            }
        }

        $crate::bindings::preprocessor_world::export!(GageComponent with_types_in $crate::bindings::preprocessor_world);
    };
}
