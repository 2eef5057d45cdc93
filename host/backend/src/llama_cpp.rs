//! Runs a model file on this machine with llama.cpp.
//!
//! A model runs in its own process (`process`), the program `gage-model` (`model_program`), so that a crash in
//! llama.cpp does not end the run. `kernel_selection` chooses the kernels that it may load. A `hang_watchdog` notices a
//! process that hangs. Several processes may run the model: a `replica_pool` hands out the requests, which reach each
//! process through a `model_client`. Nothing here links llama.cpp: see the crate `gage-llama`.

mod backend;
mod chat_renderer;
mod details;
mod deterministic_support;
mod hang_watchdog;
mod image_placement;
mod json_schema_support;
mod kernel_selection;
mod log_forwarding;
mod model_client;
mod model_environment;
mod model_process;
mod model_program;
mod omp_wait_policy;
mod one_shot;
mod open_options;
mod process;
mod process_handle;
mod replica_placement;
mod replica_pool;
mod special_token_escaping;
mod warnings;

pub(crate) use backend::open;
pub use model_program::{ModelProgram, ModelProgramReport};
pub use one_shot::{Vocabulary, bench};
pub(crate) use open_options::LlamaCppOptions;
