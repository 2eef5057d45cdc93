//! Parsers of what components return that have no public function, for fuzz targets.

use crate::component_schemas::compile_schema;
use gage_core::FieldError;
use serde_json::Value;

/// Compiles the JSON Schema of a plugin's parameters, and returns the problems of some parameters.
///
/// # Errors
/// If the schema cannot be used.
pub fn parameter_problems(schema: &str, params: &Value) -> Result<Vec<FieldError>, String> {
    Ok(compile_schema(schema)?.problems(params, &[]))
}
