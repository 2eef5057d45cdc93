//! The corpus against the host: each member ends as required, and the host continues.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod bytes;
mod host;
mod members;
mod random;
mod repeated;
