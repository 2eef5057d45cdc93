//! JSON Schema next to a suite, which editors use for completion, help and checks.

use crate::{SuiteError, files};
use gage_core::foreign_file;
use serde_json::Value;
use std::path::Path;

/// Name of the schema file, in the folder of the suite.
const SCHEMA_FILE_NAME: &str = "suite.schema.json";

/// Returns the comment that names the schema, in the form that the YAML language server reads.
pub(crate) fn schema_comment() -> String {
    format!("# yaml-language-server: $schema={SCHEMA_FILE_NAME}\n")
}

/// Writes a new suite, which begins with the comment that names its schema, and the schema.
///
/// # Errors
/// Fails if the file exists, or cannot be written.
pub fn write_suite(path: &Path, text: &str) -> Result<(), SuiteError> {
    files::write_new(path, format!("{}{text}", schema_comment()))?;
    write_schema(&files::folder_of(path))
}

/// Writes this program version's schema to a folder. It replaces the schema of another version, but no other
/// file of this name.
///
/// # Errors
/// Fails if the file cannot be written.
pub(crate) fn write_schema(folder: &Path) -> Result<(), SuiteError> {
    let path = folder.join(SCHEMA_FILE_NAME);
    let current = gage_config::suite_schema();
    let is_kept = foreign_file::read_named(&path, files::MAX_SUITE_SIZE).is_ok_and(|found| {
        serde_json::from_slice::<Value>(&found)
            .map_or(true, |found| found == current || found["$id"] != current["$id"])
    });
    if is_kept { Ok(()) } else { files::replace(&path, &format!("{current:#}\n")) }
}
