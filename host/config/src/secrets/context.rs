//! Context that marks a value as a secret besides its own key: its location, and its sibling keys.

use super::is_secret_key;
use crate::node::{Entry, Node, NodeValue};
use std::collections::BTreeSet;

/// Ordinary names, which indicate secrets for texts in some places.
const OPEN: [&str; 3] = ["pass", "key", "tokens"];

/// The keys of a mapping, and its location.
#[derive(Clone, Copy, Debug)]
pub struct SecretContext {
    /// True if an ordinary name such as `pass` indicates a secret: within the settings of a backend, or next to a user or
    /// another secret.
    is_sensitive: bool,
}

impl SecretContext {
    /// Creates the context of a mapping's entries. `path` holds the keys above it, with any text for a list item.
    pub fn new<S: AsRef<str>>(entries: &[Entry], path: &[S]) -> SecretContext {
        const USERS: [&str; 4] = ["user", "username", "login", "account"];
        let key = |place: usize| path.get(place).map(AsRef::as_ref);
        let is_backend = match key(0) {
            Some("backends") => key(2) == Some("config"),
            Some("role_adapters") => key(2) == Some("backend") && key(3) == Some("config"),
            Some("runtime" | "parameters") => path.iter().any(|part| part.as_ref() == "config"),
            Some("definition") => key(1) == Some("backends") && key(3) == Some("config"),
            _ => false,
        };
        let says_so =
            |one: &Entry| is_secret_key(&one.key) || USERS.contains(&one.key.to_lowercase().as_str());
        let is_sensitive = is_backend || entries.iter().any(is_open) && entries.iter().any(says_so);
        SecretContext { is_sensitive }
    }

    /// Returns true if the value of an entry, and everything below it, is never recorded. `pass`, `key` and
    /// `tokens` are ordinary names. They indicate secrets for texts in a backend's settings, or next to a user or
    /// another secret.
    pub fn is_secret(self, entry: &Entry) -> bool {
        is_secret_key(&entry.key) || self.is_sensitive && is_open(entry) && holds_text(&entry.node)
    }
}

fn is_open(entry: &Entry) -> bool {
    OPEN.contains(&entry.key.to_lowercase().as_str())
}

fn holds_text(node: &Node) -> bool {
    match &node.value {
        NodeValue::Text(_) => true,
        NodeValue::List(items) => items.iter().any(holds_text),
        _ => false,
    }
}

/// Returns the names of variables that are granted to plugins as secrets. The names themselves are not secret.
pub fn granted_names(root: &Node) -> BTreeSet<String> {
    let definition = root.get("definition").unwrap_or(root);
    let plugins = definition.get("plugins").and_then(Node::as_list).unwrap_or_default();
    let grants = plugins.iter().filter_map(|plugin| plugin.get("grants")?.get("secrets")?.as_list());
    let name = |grant: &Node| grant.as_text().or_else(|| grant.get("name")?.as_text()).map(str::to_owned);
    grants.flatten().filter_map(name).filter(|name| !name.contains("${")).collect()
}
