//! Runs plugins: WebAssembly components of the worlds in `wit/`, each batch in a fresh
//! instance of a component that was linked beforehand, within limits of work, time and memory, and
//! with access to nothing that was not granted.
//!
//! Everything that a guest returns is checked in the module `checked` before anything else sees it.
//! Imports `gage-core` and `gage-config`; knows nothing of datasets, models or runs. All calls
//! block: they are made from threads that may.

mod any_component;
mod batch;
mod bindings;
mod cache;
mod capabilities;
mod compile;
mod component;
mod component_members;
mod host;
mod inputs;
mod inspect;
mod kinds;
mod limits;
mod message;
mod microbench;
mod registry;
mod sandbox;
mod schema;
mod validate_output;
mod world;

pub use any_component::{AnyComponent, AnyKind, summarise};
pub use batch::ItemError;
pub use bindings::backend_exports::{GenerateRequest, LoglikelihoodRequest};
pub use bindings::llm::{
    EmbedRequest as TextsOfRole, LoglikelihoodRequest as ContinuationsOfRole,
    RollingLoglikelihoodRequest as TextOfRole, RollingScore,
};
pub use bindings::types::{ContinuationScore, FinishReason, Generation, MediaRef, Message, Role, Usage};
pub use capabilities::media::MediaSet;
pub use capabilities::models::{ModelError, ModelErrorKind, ModelRequest, Models, Vectors};
pub use compile::{CompileLimits, CompileProgress, ComponentCompiler, compile_from_stdin};
pub use component::{CallWork, InstanceSetup, LoadError, PluginIdentity};
pub use component_members::{
    ConfiguredMember, InputDescription, MemberDescription, PluginComponent, PluginKind, ValueDescription,
};
pub use host::{HostOptions, PluginHost};
pub use inputs::Input;
pub use inspect::{ComponentSummary, WIT_VERSION};
pub use kinds::aggregator::{
    Aggregator, AggregatorComponent, AggregatorFigure, AggregatorKind, AggregatorRow, AggregatorState,
};
pub use kinds::backend::{BackendComponent, BackendKind, BackendOffer, BackendPluginComponent};
pub use kinds::doc_hook::{DocHook, DocHookComponent, DocHookKind, DocHookOutput, MediaKind, MediaSource};
pub use kinds::extractor::{ExtractedAnswer, Extractor, ExtractorComponent, ExtractorKind};
pub use kinds::judge::{Judge, JudgeCase, JudgeComponent, JudgeKind, JudgeReply, Prompt, Verdict};
pub use kinds::metric::{Metric, MetricComponent, MetricItem, MetricKind, ScoredItem};
pub use kinds::preprocessor::{
    Preprocessor, PreprocessorComponent, PreprocessorKind, PreprocessorOutput, RawRow, SampleText,
};
pub use kinds::role_adapter::{
    AdapterReply, PreparedCall, RoleAdapter, RoleAdapterComponent, RoleAdapterKind,
};
pub use limits::Limits;
pub use message::message_from_guest;
pub use microbench::{ComponentCosts, ItemBench, ItemCosts, Timing, component_costs};
pub use registry::{BundledComponent, ListedPlugin, Registry, RegistryError, read_component};
pub use world::{Capability, World};
