//! The corpus against the host: each member ends as it must, and the host goes on.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod bytes;
mod host;
mod members;
mod random;
mod repeated;
