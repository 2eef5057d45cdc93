//! A model file that llama.cpp runs in this process.
//!
//! One thread per model owns the model and its contexts; requests reach it over a channel and
//! are answered over one-shot channels. Conversations are generated in several sequences at
//! once; log-likelihoods are computed one request at a time, in a context of their own, so that
//! they do not depend on what else is in flight.
//!
//! llama.cpp logs to `tracing` under the target `llama-cpp-2`. Where it is built with OpenMP,
//! set `OMP_WAIT_POLICY=passive` in the environment of the process: threads that spin while they
//! wait make everything several times slower on busy cores. OpenMP reads the variable before
//! `main` begins, so this program cannot set it for itself.

mod backend;
mod batch;
mod continuations;
mod generation;
mod likelihood;
mod model;
mod options;
mod prefix;
mod runtime;
mod sampling;
mod scoring;
mod special;
mod text;
mod tokenizer;
mod worker;

pub use backend::open;
pub use options::{ChatTemplateChoice, LlamaCppOptions};
