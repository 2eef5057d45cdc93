//! The configuration of a run. YAML is parsed with the span of every value, variables are expanded, and overrides
//! are applied. The result is validated into one [`PipelineConfig`], which is never parsed again. All errors that
//! the text alone shows are reported together.
//!
//! Reads environment variables and files; starts nothing. Imports `gage-core` and `gage-secrets` only. Crates above
//! it see validated values, and keep the [`Node`] of free-form parameters so that later errors can still point at
//! the source.

mod document_limits;
mod elements;
mod expand;
mod mapping_reader;
mod node;
mod old_names;
mod overrides;
mod parse;
mod permissions;
mod pipeline;
mod placeholder;
mod policy;
mod problems;
mod recorded_config;
mod redacted;
mod resources;
mod secret_marking;
mod secrets;
mod short_form;
mod source;
mod suite_schema;
mod syntax_error;
mod trust_policy;

pub use elements::backend::answers::{AnswerMatch, AnswersConfig};
pub use elements::backend::custom_script::CustomScriptConfig;
pub use elements::backend::http::{
    ANTHROPIC_MAX_TOKENS, ApiKey, Header, HttpBackendConfig, HttpConnection, HttpKind, HttpLimits, HttpRetry,
    KeyError, KeySource, LikelihoodSource, OpenAiOptions, Proxy, ServerTemplate, TokenLimitName,
};
pub use elements::backend::llama_cpp::{
    CacheType, ChatTemplate, FlashAttention, Kernels, LlamaCppConfig, LoraConfig, OnLongPrompt,
    OutputConstraint, Replicas, SplitMode,
};
pub use elements::backend::model_parts::model_parts;
pub use elements::backend::{BackendKind, BackendSpec};
pub use elements::budget::{BudgetSpec, parse_duration};
pub use elements::cache::{CacheSpec, parse_cache_size};
pub use elements::dataset::{
    DataSource, DatasetSpec, ExamplePick, FEW_SHOT_FIELD, FewShotSpec, FieldSpec, FileFormat, FilesSpec,
    HookKind, HookSpec, HubSpec, HubSubsets, MediaSpec, OnInvalid, PoolSource, PreprocessSpec, SUBSET_FIELD,
    loader_of_file,
};
pub use elements::embed_step::EmbedStep;
pub use elements::gate::{GateSpec, SubScoreGate};
pub use elements::judge_step::{JudgeSpec, JudgeStep, ScoreCombination};
pub use elements::metric::{AggregationSpec, MetricSpec};
pub use elements::metric_call::parse_call;
pub use elements::plugin::{
    Grants, HttpGrant, LlmGrant, PluginLimits, PluginSource, PluginSpec, SecretGrant,
};
pub use elements::plugin_call::PluginCall;
pub use elements::pricing::{PriceSpec, PriceTarget};
pub use elements::prompt::{PromptMessage, PromptSpec};
pub use elements::role::{RoleAdapterSpec, RoleType};
pub use elements::sampling::SamplingParams;
pub use elements::step::{ContinuationText, InferenceStep, RequestKind, Steps};
pub use elements::support_step::{SupportStep, ToolLoopSpec};
pub use elements::task::{FailurePolicy, LoopMode, TaskSpec};
pub use elements::{METRIC_AGGREGATIONS, PluginReference, is_aggregation};
pub use node::{Entry, Node, NodeSize, NodeValue};
pub use overrides::apply as apply_override;
pub use permissions::{AllowedHost, AllowedResources, Permissions, Refusal};
pub use pipeline::{
    Environment, PipelineConfig, load, load_datasets, load_document, load_gate, parse_document,
};
pub use policy::{Policy, load_policy};
pub use problems::{Problem, Problems, Severity};
pub use recorded_config::{MissingVariable, RecordedConfig, load_recorded, load_recorded_to_score};
pub use redacted::{RedactedValue, is_unset, redacted_digests, redacted_of_scoring};
pub use resources::{HUB_TOKEN_VARIABLE, Purpose, ResourceKind, Resources, SuiteResource, hub_endpoint};
pub use secret_marking::keep_addresses;
pub use secrets::{
    SecretContext, granted_names, is_secret_key, is_secret_name, public_text, without_secret_defaults,
    without_users,
};
pub use short_form::{API_VERSION, SuiteChoices, choices, expand_short_form};
pub use source::{Source, Sources, Span, shown_path};
pub use suite_schema::suite_schema;
pub use trust_policy::{TrustPolicy, TrustRequirement, TrustRule, TrustScope};
