//! The public form of a document, which may be recorded.

use super::context::{SecretContext, granted_names};
use super::{SECRET, names_secret, public_part, public_text, without_users};
use crate::node::{Node, NodeValue};
use serde_json::Value;
use std::collections::BTreeSet;

impl Node {
    /// Returns the value as JSON that may be recorded: a secret is replaced by the name of its variable, or
    /// omitted.
    pub fn to_public_json(&self) -> Value {
        PublicConfig { path: Vec::new(), granted: granted_names(self) }.value(self, "", false)
    }

    /// Returns the settings of a backend as JSON that may be recorded.
    pub(crate) fn backend_to_public_json(&self) -> Value {
        let path = ["backends", "", "config"].map(str::to_owned).to_vec();
        PublicConfig { path, granted: BTreeSet::new() }.value(self, "", false)
    }

    /// Returns true if it is a number or a boolean. Under a non-secret key it is not a secret, regardless of
    /// its variable's name: the value must stay visible.
    fn is_scalar_but_text(&self) -> bool {
        matches!(self.value, NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_))
    }
}

struct PublicConfig {
    /// The keys above the current node.
    path: Vec<String>,
    /// Names of variables, which are not secrets.
    granted: BTreeSet<String>,
}

impl PublicConfig {
    /// `key` is the key of the value.
    fn value(&mut self, node: &Node, key: &str, is_secret: bool) -> Value {
        match &node.value {
            NodeValue::List(items) => {
                self.path.push(String::new());
                let all = items.iter().map(|item| self.part(item, item.written.as_deref(), key, is_secret));
                let all = all.collect();
                self.path.pop();
                all
            }
            NodeValue::Map(entries) => {
                let beside: Vec<bool> = {
                    let beside = SecretContext::new(entries, &self.path);
                    entries.iter().map(|entry| beside.is_secret(entry)).collect()
                };
                let mut public = gage_core::Object::new();
                for (entry, is_own) in entries.iter().zip(beside) {
                    self.path.push(entry.key.clone());
                    let value =
                        self.part(&entry.node, entry.written.as_deref(), &entry.key, is_secret || is_own);
                    self.path.pop();
                    public.insert(entry.key.clone(), value);
                }
                Value::Object(public)
            }
            NodeValue::Text(text) if self.granted.contains(text) => text.as_str().into(),
            _ if is_secret => SECRET.into(),
            NodeValue::Text(text) => without_users(key, text).into_owned().into(),
            _ => node.to_json(),
        }
    }

    /// Returns the public form of a value, given its unexpanded text.
    fn part(&mut self, node: &Node, written: Option<&str>, key: &str, is_secret: bool) -> Value {
        match written {
            Some(written) if is_secret => public_text(written).into(),
            Some(written) if names_secret(written) && !node.is_scalar_but_text() => {
                without_users(key, &public_part(written)).into()
            }
            _ if node.is_null() => Value::Null,
            _ => self.value(node, key, is_secret),
        }
    }
}
