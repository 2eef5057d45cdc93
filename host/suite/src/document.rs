//! Documents as trees: helpers shared by several modules.

use gage_config::{Entry, Node, NodeValue, Span};
use serde_json::{Value, json};

/// Creates a text node that is not part of a file.
pub(crate) fn text(value: &str, span: Span) -> Node {
    Node::new(NodeValue::Text(value.to_owned()), span)
}

/// Creates an entry of a mapping.
pub(crate) fn entry(key: &str, node: Node) -> Entry {
    Entry { key: key.to_owned(), key_span: node.span, node, written: None }
}

/// Returns the value of a key, or `None` if it is not a text.
pub(crate) fn text_of<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::as_text)
}

/// Returns the mutable entries of a mapping, or `None` for anything else.
pub(crate) fn entries_mut(node: &mut Node) -> Option<&mut Vec<Entry>> {
    match &mut node.value {
        NodeValue::Map(entries) => Some(entries),
        _ => None,
    }
}

/// Returns the mutable value of a key.
pub(crate) fn get_mut<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    entries_mut(node)?.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
}

/// Returns the items of a list below a key, with their ids.
pub(crate) fn listed<'n>(
    node: &'n Node,
    key: &str,
    id_key: &'static str,
) -> impl Iterator<Item = (&'n str, &'n Node)> {
    let items = node.get(key).and_then(Node::as_list).unwrap_or_default();
    items.iter().filter_map(move |item| Some((text_of(item, id_key)?, item)))
}

/// Visits every text.
pub(crate) fn each_text(node: &mut Node, visit: &mut dyn FnMut(&mut Node)) {
    match &mut node.value {
        NodeValue::Text(_) => visit(node),
        NodeValue::List(items) => items.iter_mut().for_each(|item| each_text(item, visit)),
        NodeValue::Map(entries) => entries.iter_mut().for_each(|entry| each_text(&mut entry.node, visit)),
        _ => {}
    }
}

/// Returns a document as JSON, as input for the digest of a definition. An unquoted value that contains a variable
/// differs from a text of the same characters. The order of keys counts, because prompt templates may observe it.
pub(crate) fn exact_json(node: &Node) -> Value {
    match &node.value {
        NodeValue::Text(text) if node.plain.is_some() => json!({"plain": text}),
        NodeValue::List(items) => items.iter().map(exact_json).collect(),
        NodeValue::Map(entries) => {
            json!({"map": entries.iter().map(|entry| json!([entry.key, exact_json(&entry.node)])).collect::<Vec<_>>()})
        }
        // `4.10` and `4.1` are the same number but different texts.
        _ => match &node.plain {
            Some(plain) => json!({"plain": plain}),
            None => node.to_json(),
        },
    }
}
