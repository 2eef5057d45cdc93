//! Backends, the sources of answers: an HTTP server, llama.cpp in its own process, or a component.
//!
//! Every backend is a [`Backend`]. It takes one request per call, many of them concurrently, and batches internally as
//! it likes. This crate does not link llama.cpp, and knows nothing of samples or runs. Of roles it knows only what
//! components with an `llm` grant may ask ([`RoleModels`]).

mod anthropic_http;
mod api;
mod cache;
mod cancellation;
mod conversation;
mod custom_script;
mod gemini_http;
mod guest;
mod http;
mod llama_cpp;
mod open;
mod open_error;
mod open_options;
mod openai_http;
mod reply_media;
mod role_models;
mod text_generation;
mod trailing_space;

pub use api::{
    ACCEPTED_MEDIA_FACT, Backend, BackendError, BackendErrorKind, BackendInfo, CHAT_TEMPLATE_FACT,
    Capabilities, Continuation, DrawIndex, EmbedOutput, EmbedRequest, GenerateRequest, LoglikelihoodOutput,
    LoglikelihoodRequest, MediaSupport, Reply, RequestTiming, RollingOutput, RollingRequest, SamplePlace,
};
pub use cache::{AnswerCache, AnswerCacheError, AnswerReading};
pub use cancellation::{RequestSlot, cancellable, retry_pause, waiting, with_slot};
pub use gage_model_protocol::{
    BenchFigure, BenchOptions, BenchReport, Confinement, ConfinementPart, GpuDevice, Greeting, KernelBuild,
    KernelVariant, ModelOptions, gguf, gpu_layers, memory_estimate,
};
pub use guest::{media_kind_to_guest, output_to_guest};
pub use http::{
    BatchError, BatchReport, ConnectionKey, HealthState, HttpBatch, HttpHosts, HttpRecording, RecordingError,
    TakenResults, Transport, TransportBody, TransportError, TransportErrorKind, TransportReply,
    TransportRequest,
};
pub use llama_cpp::{ModelProgram, ModelProgramReport, Vocabulary, bench};
pub use open::{check_http_files, media_support, open};
pub use open_error::OpenError;
pub use open_options::OpenOptions;
pub use role_models::{RoleModel, RoleModels};
