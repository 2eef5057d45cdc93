//! A model file that llama.cpp runs on this machine.
//!
//! A model lives in a process of its own (`process`), so that a failure of llama.cpp does not end
//! the run, or on a thread (`thread`). Either is reached by a `link`, and runs the same loop
//! (`worker`), in which a `scheduler` works on many requests at once.
//!
//! llama.cpp logs to `tracing` under the target `llama-cpp-2`. How its threads wait for one another counts for much;
//! what OpenMP reads about that it reads before `main` begins, so a program cannot set it for itself: the process of a
//! model is started with [`thread_environment`].

mod backend;
mod batch;
pub mod bench;
mod captured_log;
mod constrained_choice;
mod continuations;
mod cpu_variants;
mod details;
mod embedding;
mod gbnf;
pub mod gguf;
mod image_placement;
mod json_schema_support;
mod likelihood;
mod load;
mod load_options;
mod log_forwarding;
pub mod memory_estimate;
mod model;
mod model_client;
mod omp_wait_policy;
mod pinned_files;
mod prefix_cache;
mod process;
mod protocol;
mod runtime;
mod sampling;
mod scheduler;
mod special_token_escaping;
mod text;
mod thread;
mod tokenizer;
mod vision;
mod vocabulary;
mod warnings;
mod worker;

pub use backend::open;
pub use load_options::{LlamaCppOptions, ModelOptions, cache_name, flash_number, split_name};
pub use omp_wait_policy::thread_environment;
pub use process::{ModelProgram, serve_model};
pub use vocabulary::Vocabulary;
