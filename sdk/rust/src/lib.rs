//! SDK for plugins in Rust: for each kind of plugin of `gage:plugin` a trait,
//! and a macro that makes a component of the types that implement it.
//!
//! Imported by the components in `plugins/` and by those of other teams. It knows nothing of
//! the host.
//!
//! | kind | trait | macro |
//! | --- | --- | --- |
//! | metric | [`metric::Metric`], and the shapes in [`base`] | [`metrics!`] |
//! | preprocessor | [`preprocessor::Preprocessor`] | [`preprocessors!`] |
//! | doc hook | [`doc_hook::DocHook`] | [`doc_hooks!`] |
//! | aggregator | [`aggregator::Aggregator`] | [`aggregators!`] |
//! | judge | [`judge::Judge`] | [`judges!`] |
//! | answer extractor | [`extractor::Extractor`] | [`extractors!`] |
//! | role adapter | [`role_adapter::RoleAdapter`] | [`role_adapters!`] |
//! | backend | [`backend::Backend`] | [`backend!`] |
//!
//! A component holds one kind, and as many members of it as its macro lists; a backend stands alone.
//! Any plugin may use [`log`]; [`media`], [`http`] and [`llm`] need a grant of the user, and only
//! what is used is asked for.
//!
//! The shortest metric compares two texts:
//!
//! ```
//! use gage_sdk::base::{Compare, Comparison};
//! use gage_sdk::{PluginError, ScoreCard, metric::MetricSpec};
//!
//! #[derive(serde::Deserialize)]
//! struct SameLength {}
//!
//! impl Compare for SameLength {
//!     fn name() -> &'static str {
//!         "same_length"
//!     }
//!
//!     fn spec() -> MetricSpec {
//!         MetricSpec::new("1", "Whether the answer is as long as its label")
//!     }
//!     fn compare(&self, prediction: &str, reference: &str) -> Result<ScoreCard, PluginError> {
//!         Ok(ScoreCard::binary(prediction.len() == reference.len()))
//!     }
//! }
//!
//! gage_sdk::metrics!(name: "lengths", description: "Lengths", metrics: [Comparison<SameLength>]);
//! # fn main() {}
//! ```
//!
//! Any other is a type that is made from its parameters once for each batch and then scores one
//! item after the other:
//!
//! ```
//! use gage_sdk::metric::{Inputs, Metric, MetricSpec};
//! use gage_sdk::{PluginError, ScoreCard, json};
//!
//! struct NonEmpty;
//!
//! impl Metric for NonEmpty {
//!     fn name() -> &'static str {
//!         "non_empty"
//!     }
//!
//!     fn spec() -> MetricSpec {
//!         MetricSpec::new("1", "Whether the model said anything")
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
//!     name: "emptiness",
//!     description: "Whether there is an answer",
//!     extra: json!({ "license": "Apache-2.0" }),
//!     metrics: [NonEmpty],
//! );
//! # fn main() {}
//! ```

pub mod aggregator;
#[cfg(all(target_arch = "wasm32", not(target_feature = "atomics")))]
mod allocator;
pub mod backend;
pub mod base;
#[doc(hidden)]
pub mod bindings;
mod card;
#[doc(hidden)]
pub mod component;
pub mod doc_hook;
mod error;
pub mod extractor;
pub mod http;
pub mod judge;
pub mod llm;
pub mod log;
pub mod media;
mod member;
pub mod message;
pub mod metric;
pub mod preprocessor;
pub mod role_adapter;
pub mod text;
mod value;

pub use bindings::types::{ErrorKind, MemberSpec, PluginError, PluginInfo, ScoreCard, SubScore};
pub use serde_json;
pub use serde_json::json;

/// Reads `params` into a type of the plugin's own; an error says what does not fit.
///
/// # Errors
/// `invalid-config` with serde's message.
pub fn from_params<T: serde::de::DeserializeOwned>(params: serde_json::Value) -> Result<T, PluginError> {
    serde_json::from_value(params).map_err(|error| PluginError::invalid_config(format!("params: {error}")))
}
