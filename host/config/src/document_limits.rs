//! Limits on a document, so that reading any text takes bounded time and memory.

use crate::node::{Node, NodeSize, NodeValue};

/// Maximum size of a document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// Maximum number of values in a document, with aliases counted each time.
const MAX_VALUES: usize = 200_000;
/// Maximum nesting depth of a document.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 1024;
/// Maximum number of values, and of bytes, that anchors and aliases copy.
const MAX_COPIED_VALUES: usize = 2 * MAX_VALUES;
const MAX_COPIED_BYTES: usize = MAX_DOCUMENT_BYTES;
/// Maximum total length of the texts of a document that have variables, in bytes.
const MAX_VARIABLE_BYTES: usize = 256 << 10;
/// Maximum total length of these texts after their variables are replaced, in bytes.
const MAX_EXPANDED_BYTES: usize = MAX_DOCUMENT_BYTES;

/// Maximum number of entries of a list that is read as such.
pub(crate) const MAX_LIST_ENTRIES: usize = 10_000;
/// Maximum number of values that all tasks together inherit: the default metrics and steps, once for each task.
const MAX_INHERITED_VALUES: usize = 1_000_000;

/// Checks the size of a document.
pub(crate) fn check_size(text: &str) -> Result<(), String> {
    match text.len() {
        0..=MAX_DOCUMENT_BYTES => Ok(()),
        bytes => Err(format!("the text has {bytes} bytes; at most {MAX_DOCUMENT_BYTES} are read")),
    }
}

/// Checks the length of a key.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    match key.len() {
        0..=MAX_KEY_BYTES => Ok(()),
        bytes => Err(format!("the key has {bytes} bytes; at most {MAX_KEY_BYTES} are allowed")),
    }
}

/// Checks the number of values that tasks inherit from the sections of their defaults.
pub(crate) fn check_inherited<'n>(
    tasks: usize,
    defaults: impl Iterator<Item = &'n Node>,
) -> Result<(), String> {
    let values: usize = defaults.map(|node| node.size().values).sum();
    match tasks.saturating_mul(values) {
        0..=MAX_INHERITED_VALUES => Ok(()),
        _ => Err(format!(
            "{tasks} tasks share metrics and steps with {values} values; the product may be up to {MAX_INHERITED_VALUES}"
        )),
    }
}

/// What a document has used of its limits.
#[derive(Default)]
pub(crate) struct DocumentLimits {
    values: usize,
    copied: NodeSize,
    variable_bytes: usize,
    expanded_bytes: usize,
}

impl DocumentLimits {
    /// Counts a value at a level.
    pub(crate) fn add_value(&mut self, level: usize) -> Result<(), String> {
        self.values += 1;
        match self.values > MAX_VALUES || level > MAX_DEPTH {
            true => Err(format!("more than {MAX_VALUES} values, or nested deeper than {MAX_DEPTH} levels")),
            false => Ok(()),
        }
    }

    /// Counts a value that is about to be copied. A copy of an alias is also a part of the document.
    pub(crate) fn add_copy(&mut self, node: &Node, is_alias: bool) -> Result<(), String> {
        let size = node.size();
        self.copied.add(size);
        if is_alias {
            self.values += size.values;
        }
        if self.copied.values > MAX_COPIED_VALUES || self.copied.bytes > MAX_COPIED_BYTES {
            return Err(format!(
                "anchors and aliases copy more than {MAX_COPIED_VALUES} values or {MAX_COPIED_BYTES} bytes"
            ));
        }
        Ok(())
    }

    /// Counts a text with variables.
    pub(crate) fn add_variables(&mut self, text: &str) -> Result<(), String> {
        self.variable_bytes += text.len();
        match self.variable_bytes > MAX_VARIABLE_BYTES {
            true => {
                Err(format!("the texts with variables have more than {MAX_VARIABLE_BYTES} bytes together"))
            }
            false => Ok(()),
        }
    }

    /// Counts a text after its variables were replaced.
    pub(crate) fn add_expanded(&mut self, text: &str) -> Result<(), String> {
        self.expanded_bytes += text.len();
        match self.expanded_bytes > MAX_EXPANDED_BYTES {
            true => {
                Err(format!("the values of variables have more than {MAX_EXPANDED_BYTES} bytes together"))
            }
            false => Ok(()),
        }
    }
}

/// Returns the number of levels in a value.
pub(crate) fn depth_of(node: &Node) -> usize {
    match &node.value {
        NodeValue::List(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        NodeValue::Map(entries) => 1 + entries.iter().map(|entry| depth_of(&entry.node)).max().unwrap_or(0),
        _ => 0,
    }
}
