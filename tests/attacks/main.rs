//! Attacks on the program by what it does not trust. Each ends with an error that names the cause, within bounded time and
//! memory, and never with a signal.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod chat_templates;
mod edited_runs;
#[cfg(unix)]
mod foreign_folders;
#[expect(dead_code, reason = "the tests of the hub use more of it")]
#[path = "../../host/data/tests/hub/hub_server.rs"]
mod hub_server;
mod json_values;
mod plugins;
mod reply_media;
#[path = "../end_to_end/scripted_backend.rs"]
mod scripted_backend;
mod suite_texts;
mod suites;
#[expect(dead_code, reason = "the tests of the whole program use more of it")]
#[path = "../end_to_end/support.rs"]
mod support;
