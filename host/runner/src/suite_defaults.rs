//! The defaults below a suite: values for what it leaves open.

use gage_config::Problems;
use serde_json::Value;

/// What is set where a suite leaves something open, such as variables of the environment.
pub trait SuiteDefaults: Send + Sync {
    /// The values, as overrides. The document is the suite.
    fn overrides(&self, _document: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Renames the sources of values in messages, so that they name what set the value.
    fn rename_sources(&self, _problems: &mut Problems) {}
}

/// No defaults: what a suite leaves open keeps its documented default.
pub(crate) struct NoDefaults;

impl SuiteDefaults for NoDefaults {}
