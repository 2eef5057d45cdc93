//! Downloads from a hub on the loopback interface.
#![expect(clippy::expect_used, reason = "a test says what it expects")]

#[expect(dead_code, reason = "the tests of the program use more of it")]
mod hub_server;

mod changed;
mod choice;
mod faults;
mod fresh;
mod offline;
mod resume;
mod subsets;
mod support;
mod web;
