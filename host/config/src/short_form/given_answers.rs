//! `answers`: a file of answers in place of a model under test.

use super::model::{add_backend, take_backends};
use crate::node::{Entry, Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;

/// Id of the backend that the key `answers` adds.
const BACKEND_ID: &str = "answers";

/// Its id if another backend has the first one.
const OTHER_BACKEND_ID: &str = "given_answers";

/// What `answers` may be.
const FORMS: &str =
    "write the path of the file, or a mapping with `path` and the keys of a backend of the type `answers`";

/// Adds the backend of the key `answers`. It answers for every role of the model under test. A suite that only scores
/// gets the step `inference`, which takes the answers.
pub(super) fn expand(root: &mut Node, entry: Entry, problems: &mut Problems) {
    let span = entry.node.span;
    let config = match &entry.node.value {
        NodeValue::Text(_) => {
            let mut path = Entry::new("path", entry.node.clone());
            path.written = entry.written;
            path.node.written = None;
            vec![path]
        }
        NodeValue::Map(entries) => entries.clone(),
        _ => {
            let message = format!("`answers` must be a string or a mapping, found {}", entry.node.kind());
            problems.error(span, "answers", message).help(FORMS);
            return;
        }
    };
    // Nothing is generated, so the sampling parameters of the backends have no effect.
    take_backends(root);
    add_backend(root, [BACKEND_ID, OTHER_BACKEND_ID], "answers", config, span);
    add_inference(root, span);
}

/// Reports a suite with both `model` and `answers`.
pub(super) fn refuse_model(span: Span, problems: &mut Problems) {
    let message = "the suite has both `model` and `answers`, and only one of them can answer";
    problems
        .error(span, "answers", message)
        .help("remove one of them: `answers` scores a file of answers, and `model` asks a model");
}

/// Adds the step `inference` to each list of steps without one, after the support steps that it begins with.
fn add_inference(root: &mut Node, span: Span) {
    for key in ["custom", "builtin"] {
        if let Some(settings) = root.get_mut(key) {
            add_step(settings, span);
        }
    }
    for task in root.get_mut("tasks").and_then(Node::items_mut).into_iter().flatten() {
        add_step(task, span);
    }
}

fn add_step(settings: &mut Node, span: Span) {
    let Some(steps) = settings.get_mut("steps").and_then(Node::items_mut) else { return };
    let is = |step: &Node, name: &str| step.text_of("step") == Some(name);
    if steps.is_empty() || steps.iter().any(|step| is(step, "inference")) {
        return;
    }
    let place = steps.iter().position(|step| !is(step, "support")).unwrap_or(steps.len());
    let step = Node::map(vec![Entry::new("step", Node::text("inference", span))], span);
    steps.insert(place, step);
}
