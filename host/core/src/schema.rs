//! Version of the Sample format, and its JSON Schema.

use serde_json::Value;

/// Version of the Sample format that this program reads and writes.
pub const SCHEMA_VERSION: &str = "v1";

const SAMPLE: &str = include_str!("schema/sample.json");

/// Returns the JSON Schema (draft 2020-12) of the Sample, as read by
/// [`Sample::from_value`](crate::Sample::from_value). It describes every field and the accepted shorthands.
/// Every accepted Sample is valid under it. Rules between fields are beyond a schema and are documented in
/// its descriptions: a label agrees with its reference, option ids are distinct, a few-shot example has an
/// answer, ids are counted in bytes.
#[expect(clippy::expect_used, reason = "the text is part of the program, and tests read it")]
pub fn sample_schema() -> Value {
    serde_json::from_str(SAMPLE).expect("the embedded schema is JSON")
}
