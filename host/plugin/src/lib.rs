//! Runs plugins: WebAssembly components of the worlds in `wit/`, each batch in a fresh
//! instance of a component that was linked beforehand, within limits of work, time and memory.
//!
//! Everything that a guest returns is checked in the module `checked` before anything else sees it.
//! Imports `gage-core` and `gage-config`; knows nothing of datasets, models or runs. All calls
//! block: they are made from threads that may.

mod backend;
mod batch;
mod bindings;
mod cache;
mod checked;
mod component;
mod host;
mod inputs;
mod inspect;
mod limits;
mod metric;
mod preprocessor;
mod registry;
mod sandbox;
mod schema;

pub use backend::{BackendComponent, BackendDescription};
pub use batch::ItemError;
pub use bindings::backend_exports::{ContinuationScore, GenerateRequest, LoglikelihoodRequest};
pub use bindings::types::{FinishReason, Generation, Message, Role};
pub use component::{LoadError, PluginIdentity};
pub use host::{HostOptions, PluginHost};
pub use inspect::{ComponentSummary, World};
pub use limits::Limits;
pub use metric::{
    Input, InputDescription, Metric, MetricDescription, MetricFamily, MetricItem, ValueDescription,
};
pub use preprocessor::{Converted, Preprocessor, PreprocessorDescription, PreprocessorFamily, RawRow};
pub use registry::{BundledComponent, Registry, RegistryError};
