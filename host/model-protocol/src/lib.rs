//! Protocol between `gage-host` and `gage-model`, and what both know about model files without llama.cpp.
//!
//! Imports `gage-core` and, for the settings of a model, `gage-config`. Does not link llama.cpp, so a program that only
//! reads GGUF files, estimates memory or talks to a model process needs no C++ compiler.

mod bench;
mod build_info;
mod confinement;
mod frames;
pub mod gguf;
pub mod gpu_layers;
mod load_options;
pub mod memory_estimate;
mod messages;
mod settings;

pub use bench::{BenchFigure, BenchOptions, BenchReport};
pub use build_info::{BuildInfo, GpuDevice, KernelBuild, KernelVariant, PROTOCOL_VERSION, UnusedKernels};
pub use confinement::{Confinement, ConfinementPart};
pub use frames::{read_frame, write_frame};
pub use load_options::{GrammarSource, ModelOptions};
pub use messages::{
    Answer, Command, Completion, Constraint, Counts, DEFAULT_MAX_NEW_TOKENS, DEFAULT_SEED, FromModel,
    GenerateTask, Greeting, Job, JobError, JobErrorKind, JobResult, LoadedModel, ModelFacts, Prompt,
    ScoredText, Task, ToModel, TokenLogprob,
};
pub use settings::{Settings, to_u32, to_usize};

/// Log target of llama.cpp's own log lines.
pub const LOG_TARGET: &str = "llama-cpp-2";

/// Log target of the number of layers on GPUs, which replicas of a model would repeat.
pub const GPU_LOG_TARGET: &str = "gage_llama::gpus";
