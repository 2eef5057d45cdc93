//! The version of the Sample's shape, and its JSON Schema.

use serde_json::Value;

/// The version of the Sample's shape that this program reads and writes.
pub const SCHEMA_VERSION: &str = "v1";

const SAMPLE: &str = include_str!("schema/sample.json");

/// The JSON Schema (draft 2020-12) of the Sample, as [`Sample::from_value`](crate::Sample::from_value)
/// reads it: every field with its meaning, and the shorthands that are accepted. What is read is
/// valid under it. Rules that hold between fields (a label agrees with its reference, option ids are
/// distinct, a few-shot example has an answer, ids are counted in bytes) are beyond a schema and are
/// told in its descriptions.
#[expect(clippy::expect_used, reason = "the text is part of the program, and tests read it")]
pub fn sample_schema() -> Value {
    serde_json::from_str(SAMPLE).expect("the embedded schema is JSON")
}
