//! llama.cpp: loads a model file and works on many requests at once.
//!
//! The program `gage-model` ([`serve`]) is a child process of `gage-host`, so that a crash in llama.cpp does not end a
//! run. It confines itself before it reads a model file (`confinement`). Its requests go through one loop (`worker`), in
//! which a `scheduler` shares the calls of the model. This is the only crate that links llama.cpp. It imports
//! `gage-model-protocol`, `gage-core` and `gage-config`, and no crate imports it.
//!
//! llama.cpp logs to `tracing` under the target `llama-cpp-2`. The way its threads wait for one another matters for
//! speed. OpenMP reads its variables before `main` begins, so `gage-host` sets them when it starts the program.

mod batch;
mod bench;
mod build;
mod captured_log;
mod compute_capability;
mod confinement;
mod constrained_choice;
mod context_parameters;
mod continuations;
mod embedding;
mod gbnf;
mod gpus;
mod kernel_modules;
mod likelihood;
mod load;
mod load_error;
mod message_sender;
mod model;
mod module_error;
mod prefix_cache;
mod runtime;
mod sampling;
mod scheduler;
mod serve;
mod text;
mod tokenizer;
mod vision;
mod vocabulary;
mod worker;

pub use build::build_info;
pub use confinement::close_inherited_descriptors;
pub use kernel_modules::set_kernel_folders;
pub use serve::serve;
