//! Environment variables of the process, and those of a file that count where the process sets none.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static OF_FILE: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Sets the variables of a file, such as `.env`. Those of the process have precedence. Only the first call has an effect.
pub fn set_file_variables(variables: BTreeMap<String, String>) {
    let _ = OF_FILE.set(variables);
}

/// Returns the value of a variable that is UTF-8: that of the process, or else that of the file.
pub fn variable(name: &str) -> Option<String> {
    match std::env::var(name) {
        Ok(value) => Some(value),
        Err(std::env::VarError::NotPresent) => OF_FILE.get()?.get(name).cloned(),
        Err(std::env::VarError::NotUnicode(_)) => None,
    }
}
