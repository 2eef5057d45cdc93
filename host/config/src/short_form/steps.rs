//! The steps of a suite that names none.

use super::{is_missing, set};
use crate::node::{Entry, Node, NodeValue};

/// Returns whether a step of the suite or of a task asks for log-likelihoods.
pub(super) fn ask_for_likelihoods(root: &Node) -> bool {
    let tasks = root.get("tasks").and_then(Node::as_list).unwrap_or_default();
    let owners = ["custom", "builtin"].into_iter().filter_map(|key| root.get(key)).chain(tasks);
    let steps = owners.filter_map(|owner| owner.get("steps")?.as_list()).flatten();
    let mut requests = steps.filter_map(|step| step.text_of("request"));
    requests.any(|request| ["loglikelihood", "rolling_loglikelihood"].contains(&request))
}

/// Adds the steps that follow from the roles and the metrics, unless the suite or each of its tasks has steps.
pub(super) fn add(root: &mut Node) {
    let tasks = root.get("tasks").and_then(Node::as_list).unwrap_or_default();
    let need_none = !tasks.is_empty() && tasks.iter().all(|task| !is_missing(task, "steps"));
    let key = if is_missing(root, "builtin") { "custom" } else { "builtin" };
    let has_steps = root.get(key).is_some_and(|settings| !is_missing(settings, "steps"));
    if need_none || has_steps {
        return;
    }
    let roles = root.get("role_adapters").and_then(Node::as_list).unwrap_or_default();
    let has_judge = roles.iter().any(|role| role.text_of("role_type") == Some("judge_model"));
    let has_metrics =
        !is_missing(root, "metrics") || tasks.iter().any(|task| !is_missing(task, "metric_overrides"));
    let names = [("inference", true), ("judge", has_judge), ("auto_eval", has_metrics)];
    let span = root.span;
    let steps = names.into_iter().filter(|(_, is_needed)| *is_needed);
    let steps = steps.map(|(name, _)| Node::map(vec![Entry::new("step", Node::text(name, span))], span));
    let steps = Node::new(NodeValue::List(steps.collect()), span);
    if is_missing(root, key) {
        set(root, key, Node::empty_map(span));
    }
    if let Some(settings) = root.get_mut(key) {
        set(settings, "steps", steps);
    }
}
