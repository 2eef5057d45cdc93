//! A document that is changed piece by piece, with the comments of its new form.

use gage_config::{Node, NodeValue};
use serde_json::Value;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    /// An unquoted text with a variable, which is read as YAML after its replacement.
    Variable(String),
    /// A list.
    List(Vec<Tree>),
    /// A mapping.
    Map(Mapping),
}

/// A mapping, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mapping {
    /// The entries; keys are unique.
    pub(crate) entries: Vec<Entry>,
    /// Comments above the mapping.
    pub(crate) comments: Vec<String>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: Tree,
    /// Comments above the key.
    pub(crate) comments: Vec<String>,
}

impl Tree {
    /// Returns the value as JSON.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Tree::Scalar(value) => value.clone(),
            Tree::Variable(text) => Value::from(text.clone()),
            Tree::List(items) => items.iter().map(Tree::to_json).collect(),
            Tree::Map(mapping) => {
                let members = mapping.entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(members.collect())
            }
        }
    }

    /// Converts a parsed document.
    pub(crate) fn of(node: &Node) -> Tree {
        match &node.value {
            NodeValue::List(items) => Tree::List(items.iter().map(Tree::of).collect()),
            NodeValue::Map(entries) => {
                let mut mapping = Mapping::default();
                for entry in entries {
                    mapping.set(&entry.key, Tree::of(&entry.node));
                }
                Tree::Map(mapping)
            }
            NodeValue::Text(text) if text.contains("${") && node.plain.is_some() => {
                Tree::Variable(text.clone())
            }
            _ => Tree::Scalar(node.to_json()),
        }
    }

    /// Converts a parsed document of another program, in which `${` begins no variable.
    pub(crate) fn of_foreign(node: &Node) -> Tree {
        let mut tree = Tree::of(node);
        tree.visit(&mut |value| {
            if let Tree::Variable(text) = value {
                *value = Tree::text(std::mem::take(text));
            }
        });
        tree
    }

    /// Writes `${` of texts as `$${`, so that it begins no variable in a suite. Variables stay.
    pub(crate) fn escape_variables(&mut self) {
        self.visit(&mut |value| {
            if let Tree::Scalar(Value::String(text)) = value {
                *text = text.replace("${", "$${");
            }
        });
    }

    /// Calls a function with every value, the outer one first.
    fn visit(&mut self, change: &mut dyn FnMut(&mut Tree)) {
        change(self);
        match self {
            Tree::List(items) => items.iter_mut().for_each(|item| item.visit(change)),
            Tree::Map(mapping) => mapping.entries.iter_mut().for_each(|entry| entry.value.visit(change)),
            Tree::Scalar(_) | Tree::Variable(_) => {}
        }
    }

    /// Creates a text.
    pub(crate) fn text(text: impl Into<String>) -> Tree {
        Tree::Scalar(Value::String(text.into()))
    }

    /// Converts JSON.
    pub(crate) fn of_json(value: Value) -> Tree {
        match value {
            Value::Array(items) => Tree::List(items.into_iter().map(Tree::of_json).collect()),
            Value::Object(object) => {
                let mut mapping = Mapping::default();
                for (key, value) in object {
                    mapping.set(&key, Tree::of_json(value));
                }
                Tree::Map(mapping)
            }
            scalar => Tree::Scalar(scalar),
        }
    }

    /// Returns the text of a string, quoted or not.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Tree::Scalar(Value::String(text)) | Tree::Variable(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the text of a scalar, also of a number.
    pub(crate) fn plain_text(&self) -> String {
        match self {
            Tree::Scalar(Value::String(text)) | Tree::Variable(text) => text.clone(),
            Tree::Scalar(value) => value.to_string(),
            Tree::List(_) => "a list".to_owned(),
            Tree::Map(_) => "a mapping".to_owned(),
        }
    }

    /// Returns the mapping, if it is one.
    pub(crate) fn as_map(&self) -> Option<&Mapping> {
        match self {
            Tree::Map(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the items, if it is a list.
    pub(crate) fn as_list(&self) -> Option<&[Tree]> {
        match self {
            Tree::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns true if nothing is written: null, an empty text, list or mapping.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Tree::Scalar(Value::Null) => true,
            Tree::Scalar(Value::String(text)) => text.is_empty(),
            Tree::Scalar(_) | Tree::Variable(_) => false,
            Tree::List(items) => items.is_empty(),
            Tree::Map(mapping) => mapping.entries.is_empty(),
        }
    }

    /// Returns true if it is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Tree::Scalar(Value::Null))
    }

    /// Formats the value for a message, shortened.
    pub(crate) fn shown(&self) -> String {
        const MAX_SHOWN_CHARS: usize = 40;
        let text = self.plain_text();
        match text.chars().count() > MAX_SHOWN_CHARS {
            true => text.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect(),
            false => text,
        }
    }
}

impl Mapping {
    /// Returns the value of a key; null counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&Tree> {
        self.entries.iter().find(|entry| entry.key == key && !entry.value.is_null()).map(|entry| &entry.value)
    }

    /// Returns the text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Tree::as_text)
    }

    /// Returns the value of a key, to change it.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key && !entry.value.is_null());
        entry.map(|entry| &mut entry.value)
    }

    /// Returns true if a key is written.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns the keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.key.clone()).collect()
    }

    /// Removes a key and returns its value.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Tree> {
        let place = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(place).value)
    }

    /// Sets a key; a new one comes last.
    pub(crate) fn set(&mut self, key: &str, value: Tree) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => {
                self.entries.push(Entry { key: key.to_owned(), value, comments: Vec::new() });
            }
        }
    }

    /// Sets a key; a new one comes first.
    pub(crate) fn set_first(&mut self, key: &str, value: Tree) {
        if self.entries.iter().any(|entry| entry.key == key) {
            return self.set(key, value);
        }
        self.entries.insert(0, Entry { key: key.to_owned(), value, comments: Vec::new() });
    }

    /// Sets a key if it is not written.
    pub(crate) fn set_missing(&mut self, key: &str, value: Tree) {
        if !self.has(key) {
            self.set(key, value);
        }
    }

    /// Renames a key where it stands.
    pub(crate) fn rename(&mut self, old: &str, new: &str) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == old) {
            new.clone_into(&mut entry.key);
        }
    }

    /// Returns the mapping below a key, which is made if it is missing.
    pub(crate) fn section(&mut self, key: &str) -> Option<&mut Mapping> {
        if !self.has(key) {
            self.set(key, Tree::Map(Mapping::default()));
        }
        match self.get_mut(key) {
            Some(Tree::Map(mapping)) => Some(mapping),
            _ => None,
        }
    }

    /// Returns the comments above a key, or above the mapping if there is no such key.
    pub(crate) fn comments_of(&mut self, key: &str) -> &mut Vec<String> {
        match self.entries.iter().position(|entry| entry.key == key) {
            Some(place) => &mut self.entries[place].comments,
            None => &mut self.comments,
        }
    }

    /// See [`Tree::escape_variables`].
    pub(crate) fn escape_variables(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.value.escape_variables());
    }

    /// Removes keys without a value.
    pub(crate) fn remove_nulls(&mut self) {
        self.entries.retain(|entry| !entry.value.is_null());
    }
}
