//! Secrets of the process: once marked, a value is removed from every later text.

use crate::off_runtime::{bytes_of, bytes_of_object, off_runtime};
use crate::{MIN_SECRET_CHARS, SECRET_MARK, SecretScanner};
use gage_core::Object;
use parking_lot::RwLock;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// All marked values, and their scanner. The first search after a change replaces the scanner, so that many values can be
/// added in a row.
static REGISTRY: RwLock<SecretRegistry> = RwLock::new(SecretRegistry {
    values: BTreeSet::new(),
    names: BTreeSet::new(),
    scanner: None,
    is_outdated: false,
});

struct SecretRegistry {
    values: BTreeSet<String>,
    /// Names of variables, which are not searched for even if a document contains one in place of a secret.
    names: BTreeSet<String>,
    scanner: Option<Arc<SecretScanner>>,
    /// True if the scanner lacks a value, or searches for a name.
    is_outdated: bool,
}

impl SecretRegistry {
    fn renew_scanner(&mut self) {
        let searched = self.values.difference(&self.names);
        let scanner = SecretScanner::new(searched.map(|value| (SECRET_MARK, value.as_str())));
        self.scanner = Some(Arc::new(scanner));
        self.is_outdated = false;
    }
}

/// Marks a value as a secret for the rest of the process. For `Bearer KEY`, only the key is marked. For a text of
/// several lines, such as a PEM private key, each line is marked.
pub fn register_secret(value: &str) {
    let mut registry = REGISTRY.write();
    for part in parts(value) {
        let is_new = registry.values.insert(part.to_owned());
        registry.is_outdated |= is_new;
    }
}

/// Registers the name of a variable for the rest of the process. A document may contain the name where others have a
/// secret (`secret: MY_API_KEY`), and the name is not secret.
pub fn register_variable_name(name: &str) {
    let mut registry = REGISTRY.write();
    let is_new = registry.names.insert(name.to_owned());
    let is_searched = registry.values.contains(name);
    registry.is_outdated |= is_new && is_searched;
}

/// Returns the parts of a value that are searched for.
fn parts(value: &str) -> Vec<&str> {
    let value = value.trim();
    let key = value.split_once(' ').filter(|(scheme, _)| {
        ["bearer", "basic", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let value = key.map_or(value, |(_, key)| key.trim());
    // The delimiter lines of a PEM key are not secret.
    let lines = value.split(['\n', '\r']).map(str::trim).filter(|line| !line.starts_with("-----"));
    lines.filter(|part| part.chars().count() >= MIN_SECRET_CHARS && !part.contains(SECRET_MARK)).collect()
}

fn scanner() -> Option<Arc<SecretScanner>> {
    {
        let registry = REGISTRY.read();
        if !registry.is_outdated {
            return registry.scanner.clone();
        }
    }
    let mut registry = REGISTRY.write();
    if registry.is_outdated {
        registry.renew_scanner();
    }
    registry.scanner.clone()
}

/// Returns a text without marked secrets.
pub fn redact(text: &str) -> Cow<'_, str> {
    match scanner() {
        Some(scanner) => off_runtime(text.len(), || scanner.redact(text)),
        None => Cow::Borrowed(text),
    }
}

/// Returns bytes without marked secrets.
pub fn redact_bytes(bytes: Vec<u8>) -> Vec<u8> {
    match scanner() {
        Some(scanner) => off_runtime(bytes.len(), || scanner.redact_bytes(bytes)),
        None => bytes,
    }
}

/// Returns the byte ranges of secrets in a text, in order.
pub fn find_secrets(text: &str) -> Vec<Range<usize>> {
    scanner().map(|scanner| off_runtime(text.len(), || scanner.find(text))).unwrap_or_default()
}

/// Removes secrets from all texts and names within a value. Numbers stay, so that a document of ordinary numbers does
/// not depend on its reader's secrets.
pub fn redact_value(value: &mut Value) {
    if let Some(scanner) = scanner() {
        off_runtime(bytes_of(value), || scanner.redact_value(value, false));
    }
}

/// Removes secrets from an object of a server or a plugin, which may have turned a secret into a number.
pub fn redact_value_and_numbers(object: &mut Object) {
    if let Some(scanner) = scanner() {
        off_runtime(bytes_of_object(object), || scanner.redact_object(object, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_of_a_variable_is_never_searched_for() {
        register_secret("NAME_OF_KEY_1");
        assert_eq!(redact("NAME_OF_KEY_1"), "(secret)");
        register_variable_name("NAME_OF_KEY_1");
        register_variable_name("NAME_OF_KEY_2");
        register_secret("NAME_OF_KEY_2");
        assert_eq!(redact("NAME_OF_KEY_1 NAME_OF_KEY_2"), "NAME_OF_KEY_1 NAME_OF_KEY_2");
    }

    #[test]
    fn a_marked_value_is_known_to_the_whole_process() {
        register_secret("known-by-all-1");
        register_secret("known-by-all-2");
        assert_eq!(redact("known-by-all-1 known-by-all-2"), "(secret) (secret)");
        assert_eq!(find_secrets("a known-by-all-1").first(), Some(&(2..16)));
        assert_eq!(redact_bytes(b"\xff known-by-all-1".to_vec()), b"\xff (secret)");
        let mut value = json!(["known-by-all-2"]);
        redact_value(&mut value);
        assert_eq!(value, json!(["(secret)"]));
    }

    #[test]
    fn parts_are_keys_of_schemes_and_lines_of_8_characters() {
        for (value, expected) in [
            ("1234567", vec![]),
            ("élèvesé1", vec!["élèvesé1"]),
            (" question ", vec!["question"]),
            ("Bearer sk-live-1", vec!["sk-live-1"]),
            ("basic bWU6cHctMQ==", vec!["bWU6cHctMQ=="]),
            ("two words-1", vec!["two words-1"]),
            ("(secret) and more", vec![]),
            (
                "-----BEGIN KEY-----\nAAAAbbbb1\nCCCCdddd2\nshort\n-----END KEY-----\n",
                vec!["AAAAbbbb1", "CCCCdddd2"],
            ),
        ] {
            assert_eq!(parts(value), expected, "{value}");
        }
    }
}
