//! Defaults for values that a suite omits.

use gage_config::Problems;
use serde_json::Value;

/// Defaults for values that a suite omits, for example from environment variables.
pub trait SuiteDefaults: Send + Sync {
    /// Returns the values for a suite's document, as overrides.
    fn overrides(&self, _document: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Renames the sources of values in messages, so that they name the origin of each value.
    fn rename_sources(&self, _problems: &mut Problems) {}
}

/// No defaults: omitted values keep their documented defaults.
pub(crate) struct NoDefaults;

impl SuiteDefaults for NoDefaults {}
