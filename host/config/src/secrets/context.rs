//! Context that marks a value as a secret, besides its own key: where it stands, and what stands beside it.

use super::is_secret_key;
use crate::node::{Entry, Node, NodeValue};
use std::collections::BTreeSet;

/// The keys of a mapping, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct SecretContext<'n> {
    entries: &'n [Entry],
    /// Whether it lies within the settings of a backend.
    is_backend: bool,
}

impl<'n> SecretContext<'n> {
    /// The entries of a mapping; `path` are the keys above it, an item of a list being any text.
    pub fn new<S: AsRef<str>>(entries: &'n [Entry], path: &[S]) -> SecretContext<'n> {
        let key = |place: usize| path.get(place).map(AsRef::as_ref);
        let is_backend = match key(0) {
            Some("backends") => key(2) == Some("config"),
            Some("role_adapters") => key(2) == Some("backend") && key(3) == Some("config"),
            Some("runtime" | "parameters") => path.iter().any(|part| part.as_ref() == "config"),
            Some("definition") => key(1) == Some("backends") && key(3) == Some("config"),
            _ => false,
        };
        SecretContext { entries, is_backend }
    }

    /// Returns whether the value of an entry, and all below it, is never written down. `pass`, `key` and `tokens`
    /// are ordinary names, and
    /// name secrets where a text is to be sent by a backend, or where a user or another secret stands beside it.
    pub fn is_secret(self, entry: &Entry) -> bool {
        const USERS: [&str; 4] = ["user", "username", "login", "account"];
        const OPEN: [&str; 3] = ["pass", "key", "tokens"];
        if is_secret_key(&entry.key) {
            return true;
        }
        let key = entry.key.to_lowercase();
        if !OPEN.contains(&key.as_str()) || !holds_text(&entry.node) {
            return false;
        }
        let says_so =
            |one: &Entry| is_secret_key(&one.key) || USERS.contains(&one.key.to_lowercase().as_str());
        self.is_backend || self.entries.iter().any(says_so)
    }
}

fn holds_text(node: &Node) -> bool {
    match &node.value {
        NodeValue::Text(_) => true,
        NodeValue::List(items) => items.iter().any(holds_text),
        _ => false,
    }
}

/// The names of variables that plugins are granted as secrets: names, and no secrets themselves, wherever they stand.
pub fn granted_names(root: &Node) -> BTreeSet<String> {
    let definition = root.get("definition").unwrap_or(root);
    let plugins = definition.get("plugins").and_then(Node::as_list).unwrap_or_default();
    let grants = plugins.iter().filter_map(|plugin| plugin.get("grants")?.get("secrets")?.as_list());
    let name = |grant: &Node| grant.as_text().or_else(|| grant.get("name")?.as_text()).map(str::to_owned);
    grants.flatten().filter_map(name).filter(|name| !name.contains("${")).collect()
}
