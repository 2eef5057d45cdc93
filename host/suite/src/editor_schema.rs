//! JSON Schema next to a suite, which editors use for completion, help and checks.

use crate::{SuiteError, files};
use std::path::Path;

/// The name of the schema's file, in the folder of the suite.
const SCHEMA_FILE_NAME: &str = "suite.schema.json";

/// Returns the comment that names the schema, as the YAML language server of editors reads it.
pub(crate) fn schema_comment() -> String {
    format!("# yaml-language-server: $schema={SCHEMA_FILE_NAME}\n")
}

/// Writes the schema of this version of the program to a folder.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_schema(folder: &Path) -> Result<(), SuiteError> {
    let path = folder.join(SCHEMA_FILE_NAME);
    let schema = format!("{:#}\n", gage_config::suite_schema());
    if std::fs::read(&path).is_ok_and(|found| found == schema.as_bytes()) {
        return Ok(());
    }
    files::replace(&path, &schema)
}
