//! The document as a tree in which every value knows where it was written.

use crate::source::Span;
use serde_json::Value;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Where it was written.
    pub span: Span,
    /// For a scalar without quotes that is no string: its text, for keys that want one
    /// (`model: 4.10`).
    pub plain: Option<String>,
    /// For an item of a list, and for a document that is one value: its text before `${…}` was replaced
    /// in it, where that changed it. That of a value of a mapping is in its [`Entry`].
    pub written: Option<String>,
}

/// What a value is.
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
    /// A mapping, in its order; no key twice.
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub node: Node,
    /// The text of the value before `${…}` was replaced in it, where that changed it.
    pub written: Option<String>,
}

impl Node {
    /// A value that was not written as a scalar without quotes.
    pub fn new(value: NodeValue, span: Span) -> Node {
        Node { value, span, plain: None, written: None }
    }

    /// A mapping without entries.
    pub(crate) fn empty_map(span: Span) -> Node {
        Node::new(NodeValue::Map(Vec::new()), span)
    }

    /// What kind of value it is, for messages.
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

    /// Returns whether it is `null` or nothing.
    pub fn is_null(&self) -> bool {
        self.value == NodeValue::Null
    }

    /// The string, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The entries, where it is a mapping.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, where it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a key, where it is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value that a JSON pointer leads to, or the last one on the way that exists.
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

    /// The value as JSON.
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
