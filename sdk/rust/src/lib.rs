//! SDK for plugins in Rust. For each kind of plugin in `gage:plugin`, there is a trait, and a macro that
//! creates a component from the types that implement it.
//!
//! Used by the components in `plugins/` and by those of other teams. It knows nothing of the host.
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
//! A component holds one kind, with all members listed in its macro; a backend component holds a single
//! backend. Any plugin may use [`log`]. [`media`], [`http`] and [`llm`] need a grant from the user, and a
//! component imports only those that it uses.
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
//! Any other metric is a type that is created from its parameters once per batch and then scores the items
//! one by one:
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
#[cfg(any(test, all(target_arch = "wasm32", not(target_feature = "atomics"))))]
mod small_blocks;
pub mod text;
mod value;

pub use bindings::types::{ErrorKind, MemberSpec, PluginError, PluginInfo, ScoreCard, SubScore};
pub use serde_json;
pub use serde_json::json;

/// Deserializes `params` into a type of the plugin; an error names the mismatch.
///
/// # Errors
/// `invalid-config` with serde's message.
pub fn from_params<T: serde::de::DeserializeOwned>(params: serde_json::Value) -> Result<T, PluginError> {
    serde_json::from_value(params).map_err(|error| PluginError::invalid_config(format!("params: {error}")))
}
