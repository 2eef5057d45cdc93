//! `steps[]` of `custom`, `builtin` and tasks.

use super::old_keys::{each_mapping, path_of, settle};
use crate::note::Notes;
use crate::tables::keys::{OLD_STEP_KEYS, STEPS, step_keys};
use crate::tree::{Mapping, Tree};

/// Converts all steps, and adds them if there are none.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    for key in ["custom", "builtin"] {
        if let Some(Tree::Map(template)) = document.get_mut(key) {
            convert_section(template, key, notes);
        }
    }
    each_mapping(document, "tasks", |task, path| convert_section(task, path, notes));
    add_steps(document, notes);
}

/// Returns the steps of `custom` or `builtin`.
pub(super) fn inherited(document: &Mapping) -> Option<&[Tree]> {
    let template = document.get("custom").or_else(|| document.get("builtin"))?;
    template.as_map()?.get("steps")?.as_list()
}

/// Returns true if a list of steps has a step.
pub(super) fn has_step(steps: &[Tree], name: &str) -> bool {
    steps.iter().filter_map(Tree::as_map).any(|step| step.text("step") == Some(name))
}

/// Rank of a step, and true for a `support` step that follows `inference`.
type StepOrder = (usize, bool);

fn convert_section(section: &mut Mapping, path: &str, notes: &mut Notes) {
    let Some(Tree::List(items)) = section.get("steps").cloned() else { return };
    let path = path_of(path, "steps");
    let mut comments = Vec::new();
    let mut steps: Vec<(StepOrder, Mapping)> = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        let place = format!("{path}[{number}]");
        let Some((name, mut step)) = named_step(item) else { continue };
        let Some(rank) = STEPS.iter().position(|known| *known == name) else {
            let message = format!("the step `{name}` is left out: games and simulations are not possible");
            notes.needs_work(place, message, &mut comments).help(format!("known are {}", STEPS.join(", ")));
            continue;
        };
        let answered = steps.iter().find(|(_, step)| step.text("step") == Some("inference"));
        let order = match answered {
            Some(((inference, _), _)) if name == "support" => (*inference, true),
            _ => (rank, false),
        };
        if name != "support" && steps.iter().any(|(other, _)| *other == order) {
            let message = format!("the second step `{name}` is left out");
            notes.dropped(place, message, &mut comments);
            continue;
        }
        settle(&mut step, &place, &[step_keys(&name)], OLD_STEP_KEYS, notes);
        step.remove_nulls();
        if order.1 && !step.has("sets_answer") {
            step.set("sets_answer", Tree::Scalar(false.into()));
            let message = "the reply of the step `support` after `inference` is in `support_output`; write \
                           `sets_answer: true` if it replaces the answer";
            notes.changed(place, message.to_owned(), &mut step.comments);
        }
        steps.push((order, step));
    }
    if !steps.is_sorted_by_key(|(order, _)| *order) {
        steps.sort_by_key(|(order, _)| *order);
        let message = format!("the order of steps is {}", STEPS.join(", "));
        notes.changed(path.clone(), message, &mut comments);
    }
    if !steps.iter().any(|(_, step)| step.text("step") == Some("inference")) {
        let message = "no step asks the model under test".to_owned();
        notes.needs_work(path, message, &mut comments).help("add {step: inference}");
    }
    section.set("steps", Tree::List(steps.into_iter().map(|(_, step)| Tree::Map(step)).collect()));
    section.comments_of("steps").extend(comments);
}

/// Returns a step with its name, in one form: a name alone, `{name: {…}}`, or a mapping with `step`.
fn named_step(item: Tree) -> Option<(String, Mapping)> {
    let mut step = match item {
        Tree::Map(step) => step,
        other => {
            let name = other.as_text()?.to_owned();
            let mut step = Mapping::default();
            step.set("step", Tree::text(name.clone()));
            return Some((name, step));
        }
    };
    let key = ["step", "step_type", "type", "name"].into_iter().find(|key| step.text(key).is_some());
    if let Some(key) = key {
        let name = step.text(key)?.to_owned();
        step.remove(key);
        step.set_first("step", Tree::text(name.clone()));
        return Some((name, step));
    }
    let [entry] = step.entries.as_slice() else { return None };
    let name = entry.key.clone();
    let mut below = match &entry.value {
        Tree::Map(below) => below.clone(),
        _ => Mapping::default(),
    };
    below.set_first("step", Tree::text(name.clone()));
    Some((name, below))
}

/// Adds the usual steps if some task has none.
fn add_steps(document: &mut Mapping, notes: &mut Notes) {
    let tasks = document.get("tasks").and_then(Tree::as_list).unwrap_or_default();
    let lacks = |task: &Tree| task.as_map().is_some_and(|task| !task.has("steps"));
    if inherited(document).is_some() || !tasks.is_empty() && !tasks.iter().any(lacks) {
        return;
    }
    let roles = document.get("role_adapters").and_then(Tree::as_list).unwrap_or_default();
    let has_role =
        |kind: &str| roles.iter().filter_map(Tree::as_map).any(|role| role.text("role_type") == Some(kind));
    let wanted = [
        ("support", has_role("context_provider")),
        ("inference", true),
        ("judge", has_role("judge_model")),
        ("auto_eval", true),
    ];
    let steps = wanted.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| {
        let mut step = Mapping::default();
        step.set("step", Tree::text(name));
        Tree::Map(step)
    });
    let steps = Tree::List(steps.collect());
    let key = if document.has("builtin") { "builtin" } else { "custom" };
    if let Some(section) = document.section(key) {
        section.set("steps", steps);
        let message = "the suite had no steps; these are the usual ones".to_owned();
        notes.changed(path_of(key, "steps"), message, section.comments_of("steps"));
    }
}
