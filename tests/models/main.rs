//! The program from the outside, with a real model: the tests that need `gage-model`.
//!
//! They belong to the package `gage-llama` and run the `gage-host` next to its `gage-model`, which `cargo test --workspace`
//! builds as well.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod documentation;
mod embedding;
#[expect(dead_code, reason = "the tests of llama.cpp use more of it")]
#[path = "../../host/llama/tests/backend/gguf_file.rs"]
mod gguf_file;
#[expect(dead_code, reason = "the tests of the hub use more of it")]
#[path = "../../host/data/tests/hub/hub_server.rs"]
mod hub_server;
#[cfg(target_os = "linux")]
mod kernel_modules;
mod locks;
mod measuring;
mod model_files;
mod model_kinds;
mod model_programs;
mod perplexity;
mod planning;
#[cfg(unix)]
mod processes;
#[expect(dead_code, reason = "the tests without a model use more of it")]
#[path = "../end_to_end/server.rs"]
mod server;
mod shipped_suites;
mod site;
mod started_runs;
#[expect(dead_code, reason = "the tests without a model use more of it")]
#[path = "../end_to_end/support.rs"]
mod support;
mod tiny_suite;
mod vision;
#[path = "../end_to_end/words_suite.rs"]
mod words_suite;
