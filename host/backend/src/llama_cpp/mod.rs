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
mod choices;
mod continuations;
mod details;
mod embedding;
mod gbnf;
pub mod gguf;
mod held;
mod likelihood;
mod link;
pub mod memory;
mod model;
mod opening;
mod options;
mod pinned_files;
mod prefix;
mod process;
mod protocol;
mod relay;
mod runtime;
mod sampling;
mod scheduler;
mod showing;
mod special;
mod text;
mod thread;
mod tokenizer;
mod variants;
mod vision;
mod vocabulary;
mod waiting;
mod warnings;
mod worker;

pub use backend::open;
pub use options::{LlamaCppOptions, ModelOptions, cache_name, flash_number, split_name};
pub use process::{ModelProgram, serve_model};
pub use vocabulary::Vocabulary;
pub use waiting::thread_environment;
