//! `parameters` of a template: what a RunConfig may set, derived from the definition.

use crate::document::listed;
use crate::placeholders;
use gage_config::{Entry, Node, NodeValue, Span};

/// A parameter that a RunConfig may set.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The path: `runtime.datasets.piqa`.
    pub name: String,
    /// The kind: `obj` for the settings of a dataset or a backend, else `value`.
    pub kind: &'static str,
    /// The value in the definition, if any.
    pub default: Option<Node>,
}

/// Finds the parameters of a definition.
///
/// They are the settings of every dataset and of every backend, the sample limit of every task, and the
/// placeholders `${runtime.global.…}`.
pub(crate) fn infer(definition: &Node) -> Vec<Parameter> {
    let mut found = Vec::new();
    for (section, id_key) in [("datasets", "dataset_id"), ("backends", "backend_id")] {
        for (id, item) in listed(definition, section, id_key) {
            let settings: Vec<Entry> = item
                .as_map()
                .unwrap_or_default()
                .iter()
                .filter(|entry| entry.key != id_key)
                .cloned()
                .collect();
            found.push(Parameter {
                name: format!("runtime.{section}.{id}"),
                kind: "obj",
                default: Some(Node::new(NodeValue::Map(settings), item.span)),
            });
        }
    }
    for (id, task) in listed(definition, "tasks", "task_id") {
        if let Some(most) = task.get("max_samples") {
            found.push(Parameter {
                name: format!("runtime.tasks.{id}.max_samples"),
                kind: "value",
                default: Some(most.clone()),
            });
        }
    }
    for (name, default, _) in placeholders::names(definition) {
        if name.starts_with("runtime.global.") && !found.iter().any(|one| one.name == name) {
            found.push(Parameter { name, kind: "value", default });
        }
    }
    found
}

/// Returns the list in the form of a template.
pub(crate) fn to_node(parameters: &[Parameter], span: Span) -> Node {
    let item = |parameter: &Parameter| {
        let mut entries = vec![
            Entry::new("name", Node::text(&parameter.name, span)),
            Entry::new("type", Node::text(parameter.kind, span)),
        ];
        entries.extend(parameter.default.clone().map(|default| Entry::new("default", default)));
        Node::new(NodeValue::Map(entries), span)
    };
    Node::new(NodeValue::List(parameters.iter().map(item).collect()), span)
}

/// Builds the tree `runtime` from the defaults.
pub(crate) fn runtime_of(parameters: &[Parameter], span: Span) -> Node {
    let mut root = Node::new(NodeValue::Map(Vec::new()), span);
    for parameter in parameters {
        let Some(default) = &parameter.default else { continue };
        let mut segments: Vec<&str> = parameter.name.split('.').skip(1).collect();
        // Ids may contain dots: after `datasets` and `backends` the rest is the id, after `tasks` all but the last
        // segment.
        segments = match segments.as_slice() {
            ["datasets" | "backends", ..] => parameter.name.splitn(3, '.').skip(1).collect(),
            ["tasks", ..] => {
                let (front, key) = parameter.name.rsplit_once('.').unwrap_or((&parameter.name, ""));
                front.splitn(3, '.').skip(1).chain([key]).collect()
            }
            _ => segments,
        };
        put(&mut root, &segments, default);
    }
    root
}

fn put(node: &mut Node, segments: &[&str], value: &Node) {
    let [segment, rest @ ..] = segments else {
        *node = value.clone();
        return;
    };
    let span = node.span;
    let NodeValue::Map(entries) = &mut node.value else { return };
    let place = match entries.iter().position(|one| one.key == *segment) {
        Some(place) => place,
        None => {
            entries.push(Entry::new(segment, Node::new(NodeValue::Map(Vec::new()), span)));
            entries.len() - 1
        }
    };
    if let Some(one) = entries.get_mut(place) {
        put(&mut one.node, rest, value);
    }
}
