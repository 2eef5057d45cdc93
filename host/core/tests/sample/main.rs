//! The Sample from a user's perspective: the examples of the specification, the datasets of the repository,
//! the published schema, and lossless round trips.

#![expect(clippy::expect_used, reason = "what a test sets up itself may fail it")]

mod datasets;
mod examples;
mod generated;
mod round_trip;
mod schema;
