//! Attacks on the program by what it does not trust. Each must end with a clear error, in bounded time and memory.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod plugins;
#[path = "../end_to_end/scripted_backend.rs"]
mod scripted_backend;
#[expect(dead_code, reason = "the tests of the whole program use more of it")]
#[path = "../end_to_end/support.rs"]
mod support;
