//! Plugins: WebAssembly components of the worlds in `wit/`, run in a sandbox.
//!
//! Each batch of items gets a fresh instance of a component that was linked beforehand. An instance has
//! limits on work, time and memory, and access only to what the suite grants.
//!
//! The module `validate_output` checks everything that a guest returns before any other code sees it. The
//! crate knows nothing of datasets, models or runs. All calls block, so they must be made from threads that may
//! block, or through a [`CallCoalescer`].

mod any_component;
mod batch;
mod bindings;
mod cache;
mod call_coalescer;
mod call_subject;
mod capabilities;
mod compile;
mod component;
mod component_members;
mod component_schemas;
mod contract_version;
#[cfg(test)]
mod documented_limits;
mod engine;
mod figure;
mod function_cache;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guest_code;
mod host;
mod host_options;
mod inputs;
mod inspect;
mod kinds;
mod limits;
mod member_description;
mod message;
mod microbench;
mod native;
mod optional_component;
mod packages;
mod plugin_description;
mod plugin_line;
mod registered_plugin;
mod registry;
mod registry_error;
mod sandbox;
mod schema;
mod schema_size;
mod shortage;
mod slots;
mod validate_output;
mod work;
mod world;

pub use any_component::{AnyComponent, AnyKind, summarise};
pub use batch::ItemError;
pub use bindings::backend_exports::{GenerateRequest, LoglikelihoodRequest};
pub use bindings::llm::{
    EmbedRequest as LlmEmbedRequest, LoglikelihoodRequest as LlmLoglikelihoodRequest,
    RollingLoglikelihoodRequest as LlmRollingRequest, RollingScore,
};
pub use bindings::types::{ContinuationScore, FinishReason, Generation, MediaRef, Message, Role, Usage};
pub use call_coalescer::CallCoalescer;
pub use capabilities::media::MediaSet;
pub use capabilities::models::{ModelError, ModelErrorKind, ModelRequest, Models, Vectors};
pub use compile::{CompileLimits, CompileProgress, ComponentCompiler, compile_from_stdin};
pub use component::{InstanceSetup, LoadError, PluginIdentity};
pub use component_members::{ConfiguredMember, LoadedComponent, PluginComponent, PluginKind};
pub use contract_version::{MIN_WIT_VERSION, WIT_VERSION};
pub use figure::AggregatorFigure;
pub use guest_code::GuestCode;
pub use host::PluginHost;
pub use host_options::HostOptions;
pub use inputs::{Input, MetricItem, ResolvedInputs};
pub use inspect::ComponentSummary;
pub use kinds::aggregator::{Aggregator, AggregatorKind, AggregatorRow, AggregatorState};
pub use kinds::backend::{BackendComponent, BackendKind, BackendOffer, BackendPluginComponent};
pub use kinds::doc_hook::{DocHook, DocHookKind, DocHookOutput, MediaKind, MediaSource};
pub use kinds::extractor::{ExtractedAnswer, Extractor, ExtractorKind};
pub use kinds::judge::{Judge, JudgeCase, JudgeKind, JudgeReply, Prompt, Verdict};
pub use kinds::metric::{Metric, MetricComponent, MetricKind, ScoredItem};
pub use kinds::preprocessor::{
    Preprocessor, PreprocessorComponent, PreprocessorKind, PreprocessorOutput, RawRow, SampleText,
};
pub use kinds::role_adapter::{AdapterReply, PreparedCall, RoleAdapter, RoleAdapterKind};
pub use limits::Limits;
pub use member_description::{InputDescription, MemberDescription, ValueDescription};
pub use message::message_from_guest;
pub use microbench::{ComponentCosts, ItemBench, ItemCosts, Timing, component_costs};
pub use native::{NativeMetric, NativeMetrics};
pub use optional_component::OptionalComponent;
pub use packages::note_packages;
pub use plugin_description::PluginDescription;
pub use plugin_line::{LineReceiver, LineSource, PluginLine};
pub use registered_plugin::{BundledComponent, ListedPlugin, PluginOrigin};
pub use registry::{Registry, read_component};
pub use registry_error::RegistryError;
pub use work::{MemberWork, PluginWork, without_counting};
pub use world::{Capability, World};
