//! Downloads from a hub on the loopback interface.
#![expect(clippy::expect_used, reason = "a test says what it expects")]

mod hub_server;

mod choice;
mod faults;
mod fresh;
mod offline;
mod resume;
mod support;
