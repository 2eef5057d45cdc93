//! Runs plugins: WebAssembly components of the worlds in `wit/`, each batch in a fresh
//! instance of a component that was linked beforehand, within limits of work, time and memory, and
//! with access to nothing that was not granted.
//!
//! Everything that a guest returns is checked in the module `checked` before anything else sees it.
//! Imports `gage-core` and `gage-config`; knows nothing of datasets, models or runs. All calls
//! block: they are made from threads that may.

mod any;
mod batch;
mod bindings;
mod cache;
mod capabilities;
mod checked;
mod compile;
mod component;
mod family;
mod host;
mod inputs;
mod inspect;
mod kinds;
mod limits;
mod measure;
mod message;
mod registry;
mod sandbox;
mod schema;
mod world;

pub use any::{AnyFamily, AnyKind, summarise};
pub use batch::ItemError;
pub use bindings::backend_exports::{GenerateRequest, LoglikelihoodRequest};
pub use bindings::llm::{
    EmbedRequest as TextsOfRole, LoglikelihoodRequest as ContinuationsOfRole,
    RollingLoglikelihoodRequest as TextOfRole, RollingScore,
};
pub use bindings::types::{ContinuationScore, FinishReason, Generation, MediaRef, Message, Role, Usage};
pub use capabilities::media::MediaSet;
pub use capabilities::models::{ModelError, ModelErrorKind, ModelRequest, Models, Vectors};
pub use compile::{CompileLimits, CompileProgress, Compiler, compile_from_stdin};
pub use component::{LoadError, PluginIdentity, Setup, Work};
pub use family::{Configured, Family, InputDescription, Kind, MemberDescription, ValueDescription};
pub use host::{HostOptions, PluginHost};
pub use inputs::Input;
pub use inspect::{ComponentSummary, WIT_EARLIER, WIT_VERSION};
pub use kinds::aggregator::{
    Aggregator, AggregatorFamily, AggregatorFigure, AggregatorKind, AggregatorRow, AggregatorState,
};
pub use kinds::backend::{BackendComponent, BackendFamily, BackendKind, BackendOffer};
pub use kinds::doc_hook::{DocHook, DocHookFamily, DocHookKind, Hooked, MediaKind, MediaSource};
pub use kinds::extractor::{ExtractedAnswer, Extractor, ExtractorFamily, ExtractorKind};
pub use kinds::judge::{Judge, JudgeCase, JudgeFamily, JudgeKind, JudgeReply, Prompt, Verdict};
pub use kinds::metric::{Metric, MetricFamily, MetricItem, MetricKind, Scored};
pub use kinds::preprocessor::{
    Converted, Preprocessor, PreprocessorFamily, PreprocessorKind, RawRow, SampleText,
};
pub use kinds::role_adapter::{AdapterReply, Prepared, RoleAdapter, RoleAdapterFamily, RoleAdapterKind};
pub use limits::Limits;
pub use measure::{ComponentCosts, ItemBench, ItemCosts, Timing, component_costs};
pub use message::message_from_guest;
pub use registry::{BundledComponent, Listed, Registry, RegistryError, read_component};
pub use world::{Capability, World};
