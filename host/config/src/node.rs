//! The document as a tree in which every value has a span.

use crate::source::Span;
use serde_json::Value;

/// A value and its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Location of the value.
    pub span: Span,
    /// For an unquoted scalar that is not a string: its text, for keys that expect one (`model: 4.10`).
    pub plain: Option<String>,
    /// For an item of a list, and for a document that is one value: its text before `${…}` was replaced, if that
    /// changed it. For a value of a mapping, the text is in its [`Entry`].
    pub written: Option<String>,
}

/// Kind of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; finite.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in source order; without duplicate keys.
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Location of the key.
    pub key_span: Span,
    /// The value.
    pub node: Node,
    /// The text of the value before `${…}` was replaced, if that changed it.
    pub written: Option<String>,
}

impl Entry {
    /// Creates an entry that is not written in a file, at the place of its value.
    pub fn new(key: &str, node: Node) -> Entry {
        Entry { key: key.to_owned(), key_span: node.span, node, written: None }
    }
}

/// Size of a part of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSize {
    /// Number of values.
    pub values: usize,
    /// Total length of keys and texts, in bytes.
    pub bytes: usize,
}

impl NodeSize {
    /// Adds the size of another part.
    pub fn add(&mut self, other: NodeSize) {
        self.values += other.values;
        self.bytes += other.bytes;
    }
}

impl Node {
    /// Creates a value that is not an unquoted scalar.
    pub fn new(value: NodeValue, span: Span) -> Node {
        Node { value, span, plain: None, written: None }
    }

    /// Creates a text that is not written in a file.
    pub fn text(text: impl Into<String>, span: Span) -> Node {
        Node::new(NodeValue::Text(text.into()), span)
    }

    /// Creates a mapping. The keys must differ.
    pub fn map(entries: Vec<Entry>, span: Span) -> Node {
        Node::new(NodeValue::Map(entries), span)
    }

    /// Creates a mapping without entries.
    pub(crate) fn empty_map(span: Span) -> Node {
        Node::new(NodeValue::Map(Vec::new()), span)
    }

    /// Returns the kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Int(_) | NodeValue::Float(_) => "a number",
            NodeValue::Text(_) => "a string",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a mapping",
        }
    }

    /// Returns true if it is `null` or empty.
    pub fn is_null(&self) -> bool {
        self.value == NodeValue::Null
    }

    /// Returns the text, or `None` if it is not a string.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries, or `None` if it is not a mapping.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the items, or `None` if it is not a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value of a key, or `None` if it is not a mapping that has the key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the text of a key, or `None` if its value is not a text.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::as_text)
    }

    /// Returns the mutable entries, or `None` if it is not a mapping.
    pub fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the mutable items, or `None` if it is not a list.
    pub fn items_mut(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.value {
            NodeValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the mutable value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries_mut()?.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// Returns the value at a JSON pointer, or the last existing one on the way.
    pub fn nearest(&self, pointer: &str) -> &Node {
        pointer
            .split('/')
            .skip(1)
            .try_fold(self, |node, segment| {
                let next = match &node.value {
                    NodeValue::Map(_) => node.get(segment),
                    NodeValue::List(items) => {
                        segment.parse::<usize>().ok().and_then(|index| items.get(index))
                    }
                    _ => None,
                };
                next.ok_or(node)
            })
            .unwrap_or_else(|last| last)
    }

    /// Returns the number of values, and the total length of keys and texts in bytes.
    pub fn size(&self) -> NodeSize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let mut size = NodeSize { values: 1, bytes: length(&self.plain) + length(&self.written) };
        match &self.value {
            NodeValue::Text(text) => size.bytes += text.len(),
            NodeValue::List(items) => items.iter().for_each(|item| size.add(item.size())),
            NodeValue::Map(entries) => {
                for Entry { key, node, written, .. } in entries {
                    size.add(node.size());
                    size.bytes += key.len() + length(written);
                }
            }
            _ => {}
        }
        size
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => (*value).into(),
            NodeValue::Int(value) => (*value).into(),
            NodeValue::Float(value) => (*value).into(),
            NodeValue::Text(text) => text.as_str().into(),
            NodeValue::List(items) => items.iter().map(Node::to_json).collect(),
            NodeValue::Map(entries) => {
                Value::Object(entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect())
            }
        }
    }
}
