//! `--set key=value`: replaces one value of the document from the command line.

use crate::expand::Environment;
use crate::node::{Entry, Node, NodeValue};
use crate::parse::parse;
use crate::problems::Problems;
use crate::source::Span;

/// Applies one override to a document of any kind. Problems are added to `problems`. The key is a dotted path; a
/// segment below a list is an index or the id of an entry (`backends.tiny.config.slots`). Missing entries are
/// added.
pub fn apply(root: &mut Node, text: &str, environment: &Environment<'_>, problems: &mut Problems) {
    // The value may be a secret, so it is not part of the name.
    let name = format!("--set {}", text.split('=').next().unwrap_or_default().trim());
    let number = problems.sources.add(name.clone(), text);
    let whole = Span { source: number, start: 0, end: text.len() };
    let Some((path, value)) = text.split_once('=') else {
        problems.error(whole, "", format!("`--set {text}` is not `key=value`"));
        return;
    };
    let value_span = Span { start: path.len() + 1, ..whole };
    let inner = problems.sources.add(name, value);
    let parsed = parse(inner, Some(environment), problems);
    problems.check_variables_of(path.trim(), value_span);
    let Some(mut node) =
        parsed.or_else(|| value.trim().is_empty().then_some(Node::new(NodeValue::Null, value_span)))
    else {
        return;
    };
    node.span = value_span;
    let segments: Vec<&str> = path.trim().split('.').collect();
    if let Err(message) = put(root, &segments, node, Span { end: path.len(), ..whole }) {
        problems
            .error(whole, path, message)
            .help("write it like tasks.0.max_samples=10 or backends.my_backend.config.slots=4");
    }
}

fn put(node: &mut Node, segments: &[&str], value: Node, span: Span) -> Result<(), String> {
    let [segment, rest @ ..] = segments else {
        *node = value;
        return Ok(());
    };
    if segment.is_empty() {
        return Err("a segment of the key is empty".to_owned());
    }
    match &mut node.value {
        NodeValue::List(items) => {
            let length = items.len();
            let item = match segment.parse::<usize>() {
                Ok(index) => items.get_mut(index),
                Err(_) => items.iter_mut().find(|item| has_id(item, segment)),
            };
            let item = item.ok_or_else(|| {
                format!("`{segment}` is neither an index below {length} nor the id of an entry of the list")
            })?;
            put(item, rest, value, span)
        }
        NodeValue::Map(entries) => {
            let place = match entries.iter().position(|entry| entry.key == *segment) {
                Some(place) => place,
                None => {
                    let empty = Node::empty_map(span);
                    entries.push(Entry {
                        key: (*segment).to_owned(),
                        key_span: span,
                        node: empty,
                        written: None,
                    });
                    entries.len() - 1
                }
            };
            let entry = &mut entries[place];
            if rest.is_empty() {
                entry.written = value.written.clone();
            }
            put(&mut entry.node, rest, value, span)
        }
        NodeValue::Null => {
            node.value = NodeValue::Map(Vec::new());
            put(node, segments, value, span)
        }
        _ => Err(format!("`{segment}` leads into {}", node.kind())),
    }
}

/// Returns true if an entry of a list has this id under one of the keys that name entries.
fn has_id(node: &Node, id: &str) -> bool {
    ["dataset_id", "backend_id", "adapter_id", "prompt_id", "metric_id", "task_id", "step"]
        .iter()
        .any(|key| node.get(key).and_then(Node::as_text) == Some(id))
}
