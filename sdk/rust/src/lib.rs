//! What a plugin author writes Rust against: traits for the plugin worlds of `gage:plugin`
//! and a macro for each that makes a component of them.
//!
//! Imported by the components in `plugins/` and by those of other teams. It knows nothing of
//! the host.
//!
//! A metric is a type that is made from its parameters once for each batch and then scores
//! one item after the other:
//!
//! ```
//! use gage_sdk::metric::{Inputs, Metric, MetricSpec};
//! use gage_sdk::{PluginError, ScoreCard};
//!
//! struct NonEmpty;
//!
//! impl Metric for NonEmpty {
//!     fn spec() -> MetricSpec {
//!         MetricSpec::binary("non_empty", "1", "Whether the model said anything")
//!             .prediction("target_field")
//!     }
//!     fn prepare(_params: serde_json::Value) -> Result<Self, PluginError> {
//!         Ok(NonEmpty)
//!     }
//!     fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
//!         let text = inputs.text(0).unwrap_or_default();
//!         Ok(ScoreCard::binary(!text.trim().is_empty()))
//!     }
//! }
//!
//! gage_sdk::metrics!(
//!     name: "emptiness", description: "Whether there is an answer",
//!     metrics: [NonEmpty],
//! );
//! # fn main() {}
//! ```

pub mod backend;
#[doc(hidden)]
pub mod bindings;
mod card;
pub mod log;
pub mod metric;
pub mod preprocessor;

pub use bindings::types::{ErrorKind, PluginError, PluginInfo, ScoreCard, SubScore};
pub use serde_json;
pub use serde_json::json;

/// Reads `params` into a type of the plugin's own; an error names the key.
///
/// # Errors
/// `invalid-config` with serde's message.
pub fn from_params<T: serde::de::DeserializeOwned>(params: serde_json::Value) -> Result<T, PluginError> {
    serde_json::from_value(params).map_err(|error| PluginError::invalid_config(format!("params: {error}")))
}
