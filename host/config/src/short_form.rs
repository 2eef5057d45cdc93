//! The short form of a suite: `model` or `answers`, `prompt`, datasets that are only a file, a single metric, and no steps.
//! It is rewritten to the long form before anything is read, so that everything else knows one form.

mod chat_template;
mod choice;
mod datasets;
mod given_answers;
mod model;
mod prompt;
mod prompt_name;
mod steps;
#[cfg(test)]
mod tests;

use crate::expand::Environment;
use crate::node::{Entry, Node, NodeValue};
use crate::problems::Problems;
pub use choice::{SuiteChoices, choices};
pub(crate) use choice::{apply as apply_choice, is_choice, keep_first, keep_one};

/// Rewrites a suite in short form to the long form. A document of another kind stays as it is. Without an environment, the
/// variables that a provider of models reads are left to the run.
pub fn expand_short_form(root: &mut Node, environment: Option<&Environment<'_>>, problems: &mut Problems) {
    keep_one(root, problems);
    rewrite(root, environment, problems);
    add_defaults(root, problems);
}

/// Replaces `model`, `answers`, `prompt` and short datasets.
pub(crate) fn rewrite(root: &mut Node, environment: Option<&Environment<'_>>, problems: &mut Problems) {
    if !is_suite(root) {
        return;
    }
    datasets::expand(root);
    list_only_metric(root);
    match (take(root, "model"), take(root, "answers")) {
        (Some(_), Some(answers)) => given_answers::refuse_model(answers.node.span, problems),
        (Some(model), None) => model::expand(root, model, environment, problems),
        (None, Some(answers)) => given_answers::expand(root, answers, problems),
        (None, None) => {}
    }
    if let Some(entry) = take(root, "prompt") {
        prompt::expand(root, entry, problems);
    }
}

/// Adds the version, the kind and the steps of a suite that has none, and the chat template that it wants.
pub(crate) fn add_defaults(root: &mut Node, problems: &mut Problems) {
    if !is_suite(root) {
        return;
    }
    datasets::expand(root);
    list_only_metric(root);
    let span = root.span;
    for (place, (key, value)) in [("api_version", API_VERSION), ("kind", SUITE_KIND)].into_iter().enumerate()
    {
        if is_missing(root, key) {
            take(root, key);
            if let Some(entries) = root.entries_mut() {
                entries.insert(place.min(entries.len()), Entry::new(key, Node::text(value, span)));
            }
        }
    }
    chat_template::apply(root, problems);
    steps::add(root);
}

/// Makes a metric that is not in a list the only one of a list.
fn list_only_metric(root: &mut Node) {
    let Some(metrics) = root.get_mut("metrics").filter(|metrics| metrics.as_text().is_some()) else { return };
    let only = metrics.clone();
    *metrics = Node::new(NodeValue::List(vec![only]), metrics.span);
}

/// The version of the format that `api_version` names.
pub const API_VERSION: &str = "gage/v1alpha1";

/// Kind of a document that is a suite.
const SUITE_KIND: &str = "PipelineConfig";

/// Type of the role of the model under test.
const MODEL_ROLE: &str = "dut_model";

/// Returns true if the document is a mapping, and neither a template nor a run of one.
fn is_suite(root: &Node) -> bool {
    let is_kind = is_missing(root, "kind") || root.text_of("kind") == Some(SUITE_KIND);
    is_kind && root.as_map().is_some() && is_missing(root, "base_task")
}

/// Returns true if a key is missing or null.
fn is_missing(node: &Node, key: &str) -> bool {
    node.get(key).is_none_or(Node::is_null)
}

/// Removes the entry of a key. Null counts as missing.
fn take(node: &mut Node, key: &str) -> Option<Entry> {
    let entries = node.entries_mut()?;
    let place = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(place)).filter(|entry| !entry.node.is_null())
}

/// Adds an item to the list of a key, which is created if it is missing. Something else than a list stays as it is; its
/// reader reports it.
fn push(root: &mut Node, key: &str, item: Node) {
    if is_missing(root, key) {
        take(root, key);
        let list = Node::new(NodeValue::List(Vec::new()), item.span);
        if let Some(entries) = root.entries_mut() {
            entries.push(Entry::new(key, list));
        }
    }
    if let Some(items) = root.get_mut(key).and_then(Node::items_mut) {
        items.push(item);
    }
}

/// Sets the value of a key of a mapping.
fn set(node: &mut Node, key: &str, value: Node) {
    take(node, key);
    if let Some(entries) = node.entries_mut() {
        entries.push(Entry::new(key, value));
    }
}

/// Returns the roles of the model under test.
fn model_roles(root: &mut Node) -> impl Iterator<Item = &mut Node> {
    let roles = root.get_mut("role_adapters").and_then(Node::items_mut);
    roles.into_iter().flatten().filter(|role| role.text_of("role_type") == Some(MODEL_ROLE))
}
