//! Documents as trees: helpers shared by several modules.

use gage_config::{Node, NodeValue};
use serde_json::{Value, json};

/// Returns the items of a list below a key, with their ids.
pub(crate) fn listed<'n>(
    node: &'n Node,
    key: &str,
    id_key: &'static str,
) -> impl Iterator<Item = (&'n str, &'n Node)> {
    let items = node.get(key).and_then(Node::as_list).unwrap_or_default();
    items.iter().filter_map(move |item| Some((item.text_of(id_key)?, item)))
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
