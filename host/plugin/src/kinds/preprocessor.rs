//! Preprocessors: convert a raw row to a Sample.

use super::{bindings, plain};
use crate::batch::ItemError;
use crate::bindings::preprocessor_exports::Outcome;
use crate::bindings::preprocessor_world::{PreprocessorPlugin, PreprocessorPluginPre};
use crate::component_members::{ConfiguredMember, PluginComponent, PluginKind};
use crate::limits::Limits;
use crate::validate_output;
use crate::world::World;
use gage_core::add_derived;
use serde_json::Value;

pub use crate::bindings::preprocessor_exports::RawRow;

/// The bindings of preprocessors.
pub struct PreprocessorKind;

/// A component with one or more preprocessors.
pub type PreprocessorComponent = PluginComponent<PreprocessorKind>;

/// A preprocessor with its parameters, ready to convert.
pub type Preprocessor = ConfiguredMember<PreprocessorKind>;

impl PluginKind for PreprocessorKind {
    const WORLD: World = World::Preprocessor;
    type Detail = ();
    bindings!(PreprocessorPlugin, PreprocessorPluginPre, gage_plugin_preprocessor, call_preprocessors, plain);
}

/// Text of a Sample as the component wrote it, with size and depth within the limits. It is parsed only once,
/// by the code that creates the Sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleText(String);

impl SampleText {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text as JSON.
    ///
    /// # Errors
    /// `invalid_result` if it is not JSON.
    pub fn parse(&self) -> Result<Value, ItemError> {
        validate_output::parsed(&self.0, "the Sample")
    }

    /// Returns the text with what the host derives from other members, as the next preprocessor expects it.
    ///
    /// # Errors
    /// `invalid_result` if it is not JSON.
    pub fn with_derived(&self) -> Result<SampleText, ItemError> {
        let mut sample = self.parse()?;
        if let Some(members) = sample.as_object_mut().filter(|members| members.contains_key("schema_version"))
        {
            add_derived(members);
        }
        Ok(SampleText(sample.to_string()))
    }
}

/// Result of converting a row.
#[derive(Clone, Debug, PartialEq)]
pub enum PreprocessorOutput {
    /// JSON text that should be a Sample.
    Sample(SampleText),
    /// The row is skipped, for this reason.
    Skipped(String),
}

impl Preprocessor {
    /// Converts a batch, with one result per row, in order.
    pub fn convert(&self, rows: &[RawRow]) -> Vec<Result<PreprocessorOutput, ItemError>> {
        let limits = self.limits();
        let of_sample = Limits { result_bytes: limits.sample_bytes, ..limits.clone() };
        self.batch(
            rows,
            async |plugin, store, batch| {
                plugin.gage_plugin_preprocessor().call_convert(store, self.name(), self.params(), batch).await
            },
            |outcome, _| match outcome {
                Outcome::Sample(text) => {
                    validate_output::bounded_json(&text, "the Sample", &of_sample)?;
                    Ok(PreprocessorOutput::Sample(SampleText(text)))
                }
                Outcome::Skip(reason) => {
                    Ok(PreprocessorOutput::Skipped(validate_output::cut(reason, limits.error_bytes)))
                }
            },
        )
    }
}
