//! Tests of llama.cpp as a backend, with the bundled tiny model and files derived from it.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod broken_files;
mod deterministic;
mod gguf_file;
mod lora;
mod other_models;
mod replicas;
mod support;
mod tiny_model;
mod vision;
