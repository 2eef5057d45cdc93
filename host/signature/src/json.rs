//! Bounded reading of the JSON in signatures.

use crate::rejection::Rejection;
use gage_core::{is_nested_deeper, parse_json, shown_name};
use serde::de::DeserializeOwned;

/// Maximum nesting of JSON.
const MAX_JSON_DEPTH: usize = 32;
/// Maximum number of JSON values.
const MAX_JSON_VALUES: usize = 10_000;

/// Reads a part of a signature. `format` names the format for messages.
pub(crate) fn read<T: DeserializeOwned>(
    json: &[u8],
    part: &'static str,
    format: &'static str,
) -> Result<T, Rejection> {
    if is_nested_deeper(json, MAX_JSON_DEPTH) {
        return Err(Rejection::Nested { part, max_depth: MAX_JSON_DEPTH });
    }
    parse_json(json, MAX_JSON_VALUES).map_err(|error| Rejection::Form {
        part,
        format,
        problem: shown_name(&error.to_string()),
    })
}

/// Checks that a part has the expected type.
pub(crate) fn check_type(part: &'static str, found: &str, expected: &'static str) -> Result<(), Rejection> {
    match found == expected {
        true => Ok(()),
        false => Err(Rejection::Type { part, found: shown_name(found), expected }),
    }
}
