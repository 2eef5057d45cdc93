//! A string whose value is never displayed.

use crate::register_secret;
use serde::{Serialize, Serializer};
use std::fmt::{Debug, Formatter, Result as FormatResult};
use std::sync::Arc;

/// A string whose value is only available from [`SecretString::reveal`]. Clones share the value; `Debug` and serde
/// show its name.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretString {
    name: Arc<str>,
    value: Arc<str>,
}

impl SecretString {
    /// Creates a secret and marks it, so that searches find it. `name` is its variable or key.
    pub fn new(name: &str, value: &str) -> SecretString {
        register_secret(value);
        SecretString::unmarked(name, value)
    }

    /// Creates a string that is neither displayed nor searched for, such as the value of an ordinary header.
    pub fn unmarked(name: &str, value: &str) -> SecretString {
        SecretString { name: name.into(), value: value.into() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.value
    }
}

impl Debug for SecretString {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        write!(formatter, "SecretString({})", self.name)
    }
}

impl Serialize for SecretString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_its_name_and_never_its_value() {
        let secret = SecretString::new("VENDOR_KEY", "value-of-vendor-1");
        assert_eq!(format!("{secret:?}"), "SecretString(VENDOR_KEY)");
        assert_eq!(serde_json::json!(secret), "VENDOR_KEY");
        assert_eq!((secret.name(), secret.reveal()), ("VENDOR_KEY", "value-of-vendor-1"));
        assert_eq!(crate::redact("is value-of-vendor-1"), "is (secret)");
        SecretString::unmarked("X-Kind", "ordinary-kind-1");
        assert_eq!(crate::redact("is ordinary-kind-1"), "is ordinary-kind-1");
    }
}
