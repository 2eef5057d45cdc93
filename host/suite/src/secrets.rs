//! Removes secrets from a definition: variables replace those in the file itself.

use crate::document::each_text;
use gage_config::{
    Node, NodeValue, SecretContext, granted_names, public_text, without_secret_defaults, without_users,
};
use gage_secrets::redact;
use std::collections::BTreeSet;

/// Removes every secret from an unexpanded document. Returns the path of each, and the variable that replaces it.
pub(crate) fn remove(document: &mut Node) -> Vec<(String, String)> {
    let mut used = String::new();
    each_text(document, &mut |node| used.push_str(node.as_text().unwrap_or_default()));
    let granted = granted_names(document);
    let mut walk = SecretWalk { used: &used, granted: &granted, keys: Vec::new(), removed: Vec::new() };
    walk.visit(document, "", "SUITE", false);
    walk.removed
}

struct SecretWalk<'w> {
    /// All text of the document, including the names of its variables.
    used: &'w str,
    /// Names of variables, which are not secrets.
    granted: &'w BTreeSet<String>,
    /// The keys above the current node.
    keys: Vec<String>,
    removed: Vec<(String, String)>,
}

impl SecretWalk<'_> {
    fn visit(&mut self, node: &mut Node, path: &str, owner: &str, is_secret: bool) {
        const IDS: [&str; 3] = ["backend_id", "dataset_id", "adapter_id"];
        let own_id = IDS.iter().find_map(|key| node.text_of(key)).map(str::to_owned);
        let owner = own_id.as_deref().unwrap_or(owner);
        match &mut node.value {
            NodeValue::List(items) => {
                self.keys.push(String::new());
                for (index, item) in items.iter_mut().enumerate() {
                    self.visit(item, &format!("{path}[{index}]"), owner, is_secret);
                }
                self.keys.pop();
            }
            NodeValue::Map(entries) => {
                let context = SecretContext::new(entries, &self.keys);
                let own: Vec<bool> = entries.iter().map(|entry| context.is_secret(entry)).collect();
                for (entry, is_own) in entries.iter_mut().zip(own) {
                    let path =
                        if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                    self.keys.push(entry.key.clone());
                    self.visit(&mut entry.node, &path, owner, is_secret || is_own);
                    self.keys.pop();
                }
            }
            NodeValue::Null => {}
            NodeValue::Text(text) if self.granted.contains(text) => {}
            NodeValue::Text(text) if !is_secret => {
                // The default of a variable with a secret name is a secret.
                let public = without_secret_defaults(text);
                let key = path.rsplit('.').next().unwrap_or_default();
                let key = key.split('[').next().unwrap_or_default();
                // An address with a password is a secret under any key, as is a value that is a secret elsewhere.
                if without_users(key, &public) == public && redact(&public) == public {
                    if public != *text {
                        // The user must set the variable, or gets an error; an empty default would change the
                        // suite.
                        for variable in lost_defaults(text, &public) {
                            self.removed.push((path.to_owned(), variable));
                        }
                        let public = public.replace(":-}", "}");
                        node.plain = node.plain.take().map(|_| public.clone());
                        node.value = NodeValue::Text(public);
                    }
                    return;
                }
                replace(node, path, owner, self.used, &mut self.removed);
            }
            NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_) if !is_secret => {}
            _ => replace(node, path, owner, self.used, &mut self.removed),
        }
    }
}

/// Returns the variables that lost their defaults between two texts.
fn lost_defaults(text: &str, public: &str) -> Vec<String> {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split_once(":-"));
    let lost = names.filter(|(name, default)| {
        !default.starts_with('}') && !name.contains('}') && public.contains(&format!("${{{name}:-}}"))
    });
    lost.map(|(name, _)| name.to_owned()).collect()
}

/// Replaces a secret with a variable.
fn replace(node: &mut Node, path: &str, owner: &str, used: &str, removed: &mut Vec<(String, String)>) {
    let text = node.plain.clone().or_else(|| node.as_text().map(str::to_owned)).unwrap_or_default();
    let public = public_text(&text);
    if public == text {
        return;
    }
    // A named variable stays, and only its default is removed: the user sets the variable, or it is empty.
    let replacement = if public.contains("${") {
        for variable in lost_defaults(&text, &public) {
            removed.push((path.to_owned(), variable));
        }
        public
    } else {
        let variable = unused(variable_of(owner, path), used, removed);
        removed.push((path.to_owned(), variable.clone()));
        format!("${{{variable}:-}}")
    };
    *node = Node::new(NodeValue::Text(replacement), node.span);
}

/// Returns a unique name, because each secret needs its own variable: `SERVER_API_KEY_2`.
fn unused(name: String, used: &str, removed: &[(String, String)]) -> String {
    let is_taken = |name: &str| {
        removed.iter().any(|(_, variable)| variable == name)
            || [":", "}"].iter().any(|end| used.contains(&format!("${{{name}{end}")))
    };
    if !is_taken(&name) {
        return name;
    }
    (2_u64..).map(|number| format!("{name}_{number}")).find(|name| !is_taken(name)).unwrap_or(name)
}

/// Returns the name of the variable for a path: `SERVER_API_KEY`.
fn variable_of(owner: &str, path: &str) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    let letters = |character: char| {
        if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' }
    };
    let name: String = format!("{owner}_{last}").chars().map(letters).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}
