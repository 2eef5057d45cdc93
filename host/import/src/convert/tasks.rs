//! `custom`, `builtin` and `tasks[]`: settings.

use super::old_keys::{each_mapping, path_of, settle};
use super::sampling;
use crate::note::Notes;
use crate::tables::keys::{OLD_TASK_KEYS, TASK_KEYS, TASK_SETTINGS};
use crate::tree::{Mapping, Tree};

/// Converts the settings of all tasks.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    for key in ["custom", "builtin"] {
        convert_template(document, key, notes);
    }
    if document.has("custom") && document.has("builtin") {
        document.remove("builtin");
        let message = "`builtin` is left out: `custom` counts".to_owned();
        notes.dropped("builtin".to_owned(), message, document.comments_of("custom"));
    }
    let mut number = 0;
    each_mapping(document, "tasks", |task, path| {
        number += 1;
        settle(task, path, &[TASK_KEYS, TASK_SETTINGS], OLD_TASK_KEYS, notes);
        settle_values(task, path, notes);
        if !task.has("task_id") {
            task.set_first("task_id", Tree::text(format!("task_{number}")));
            let message = "the task had no `task_id`".to_owned();
            notes.changed(path_of(path, "task_id"), message, task.comments_of("task_id"));
        }
    });
    if document.entries.iter().any(|entry| entry.key == "tasks" && entry.value.is_empty()) {
        document.remove("tasks");
    }
    add_tasks(document, notes);
}

fn convert_template(document: &mut Mapping, key: &str, notes: &mut Notes) {
    let mut metrics = None;
    match document.get_mut(key) {
        Some(Tree::Map(template)) => {
            metrics = template.remove("metrics");
            settle(template, key, &[TASK_SETTINGS], OLD_TASK_KEYS, notes);
            for only_of_tasks in TASK_KEYS {
                template.remove(only_of_tasks);
            }
            settle_values(template, key, notes);
        }
        Some(_) => {}
        None => {
            document.remove(key);
        }
    }
    let is_useless =
        document.get(key).is_some_and(|template| template.is_empty() || template.as_map().is_none());
    if is_useless {
        let comments = match document.remove(key) {
            Some(Tree::Map(template)) => template.comments,
            _ => Vec::new(),
        };
        document.comments.extend(comments);
        let message = format!("`{key}` is left out: it has no steps");
        notes.dropped(key.to_owned(), message, &mut document.comments);
    }
    if let Some(metrics) = metrics.filter(|metrics| !metrics.is_empty()) {
        document.set_missing("metrics", metrics);
        let message = format!("`{key}.metrics` are those of the suite");
        notes.changed(path_of(key, "metrics"), message, document.comments_of("metrics"));
    }
}

/// Removes values that the older program ignored.
fn settle_values(task: &mut Mapping, path: &str, notes: &mut Notes) {
    task.remove_nulls();
    for key in ["max_samples", "max_inflight", "concurrency", "prefetch_factor", "repeat"] {
        let number = match task.get(key) {
            Some(Tree::Scalar(number)) => number.as_f64(),
            _ => None,
        };
        if number.is_some_and(|number| number < 1.0) {
            task.remove(key);
            let message = format!("`{key}` is left out: without it there is no such limit");
            notes.dropped(path_of(path, key), message, &mut task.comments);
        }
    }
    let known: [(&str, &[&str]); 2] = [
        ("mode", &["fire_and_forget", "sequential"]),
        ("failure_policy", &["fail_fast", "graceful", "best_effort"]),
    ];
    for (key, values) in known {
        let is_unknown = |value: &Tree| !value.as_text().is_some_and(|text| values.contains(&text));
        if task.get(key).is_some_and(is_unknown) {
            task.remove(key);
            let message = format!("`{key}` is left out: known are {}", values.join(", "));
            notes.dropped(path_of(path, key), message, &mut task.comments);
        }
    }
    if task.has("sampling_params") {
        sampling::convert_section(task, "sampling_params", path, notes);
    }
    for key in ["metric_overrides", "steps"] {
        if task.get(key).is_some_and(Tree::is_empty) {
            task.remove(key);
        }
    }
}

/// Adds a task for each of several datasets, if the suite has no tasks.
fn add_tasks(document: &mut Mapping, notes: &mut Notes) {
    let datasets = document.get("datasets").and_then(Tree::as_list).unwrap_or_default();
    if document.has("tasks") || datasets.len() < 2 {
        return;
    }
    let ids = datasets.iter().filter_map(|dataset| dataset.as_map()?.text("dataset_id"));
    let tasks = ids.map(|id| {
        let mut task = Mapping::default();
        task.set("task_id", Tree::text(id));
        task.set("dataset_id", Tree::text(id));
        Tree::Map(task)
    });
    let tasks = Tree::List(tasks.collect());
    document.set("tasks", tasks);
    let message = "each dataset has a task".to_owned();
    notes.changed("tasks".to_owned(), message, document.comments_of("tasks"));
}
