//! The pages in a real browser, and what the server answers to those who are no browser.

#![cfg(unix)]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod hostile;
mod live;
mod phone;
mod report;
mod runs;
mod server;
mod support;
