//! The program from the outside: real components, a real model, a real server on loopback.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod components;
mod documentation;
mod interruption;
mod languages;
mod plugin_commands;
mod plugins;
mod server;
mod support;
mod tiny_suite;
