//! JSON Schema of a suite.

#[cfg(test)]
mod tests;

use serde_json::Value;

const SUITE: &str = include_str!("suite_schema.json");

/// Returns the JSON Schema (draft 2020-12) of a suite: every key of a PipelineConfig or a RunConfig, with its type,
/// default, an example and a description.
///
/// Rules between keys, such as references to ids, are beyond a schema; `gage-host validate` checks them.
#[expect(clippy::expect_used, reason = "the text is part of the program, and tests read it")]
pub fn suite_schema() -> Value {
    serde_json::from_str(SUITE).expect("the embedded schema is JSON")
}
