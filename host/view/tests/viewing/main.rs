//! The pages in a real browser, and the server's answers to other clients.

#![cfg(unix)]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod hostile;
mod list;
mod live;
mod many;
mod metrics;
mod notes;
mod opened;
mod phone;
mod report;
mod runs;
mod server;
mod shards;
mod support;
