//! `metrics[]` and `metric_overrides[]`, with the extractors that they need.

mod entry;

use super::old_keys::path_of;
use super::steps::{has_step, inherited};
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use entry::MetricEntry;

/// Converts all metrics, and adds the step `extract` where they need it.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    let common = inherited(document).unwrap_or_default().to_vec();
    let mut tasks = match document.get("tasks").cloned() {
        Some(Tree::List(tasks)) => tasks,
        _ => Vec::new(),
    };
    let steps_of = |task: &Tree| -> Vec<Tree> {
        let own = task.as_map().and_then(|task| task.get("steps")).and_then(Tree::as_list);
        own.map_or_else(|| common.clone(), <[Tree]>::to_vec)
    };
    let any_judges = match tasks.is_empty() {
        true => has_step(&common, "judge"),
        false => tasks.iter().any(|task| has_step(&steps_of(task), "judge")),
    };
    let of_suite = convert_list(document, "metrics", "metrics", any_judges, notes);
    let mut needs = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter_mut().enumerate() {
        let is_judged = has_step(&steps_of(task), "judge");
        let Tree::Map(task) = task else {
            needs.push(None);
            continue;
        };
        let path = format!("tasks[{number}].metric_overrides");
        let has_own = task.has("metric_overrides");
        let own = convert_list(task, "metric_overrides", &path, is_judged, notes);
        needs.push(if has_own { own } else { of_suite });
        check(task, document, &common, number, notes);
    }
    if tasks.is_empty() {
        add_to_template(document, of_suite, notes);
        if has_step(&common, "auto_eval") && !document.has("metrics") {
            report_missing("metrics", &mut document.comments, notes);
        }
        return;
    }
    add_to_tasks(document, &mut tasks, &needs, notes);
    document.set("tasks", Tree::List(tasks));
}

/// Converts a list of metrics. Returns the extractors that they need.
fn convert_list(
    section: &mut Mapping,
    key: &str,
    path: &str,
    is_judged: bool,
    notes: &mut Notes,
) -> Option<&'static str> {
    let items = match section.get(key).cloned() {
        Some(Tree::List(items)) => items,
        Some(one) if !one.is_empty() => vec![one],
        _ => {
            section.remove(key);
            return None;
        }
    };
    let mut comments = Vec::new();
    let mut converted = Vec::with_capacity(items.len());
    for (number, item) in items.into_iter().enumerate() {
        let place = format!("{path}[{number}]");
        let Some(mut metric) = MetricEntry::of(&item, &place, notes, &mut comments) else {
            converted.push(ConvertedMetric::Other(item));
            continue;
        };
        if let Some(extractors) = metric.convert(is_judged, &place, notes, &mut comments) {
            converted.push(ConvertedMetric::Metric { metric: Box::new(metric), place, extractors });
        }
    }
    let needed = |needs_them: bool| {
        converted.iter().filter(|one| one.needs_extractors() == needs_them).find_map(ConvertedMetric::needed)
    };
    let extractors = needed(true).or_else(|| needed(false));
    let metrics: Vec<Tree> = converted.into_iter().map(|one| one.beside(extractors, notes)).collect();
    match metrics.is_empty() {
        true => {
            section.remove(key);
            section.comments.extend(comments);
        }
        false => {
            section.set(key, Tree::List(metrics));
            section.comments_of(key).extend(comments);
        }
    }
    extractors
}

/// An entry of a list of metrics.
enum ConvertedMetric {
    /// A metric, its path, and the extractors that it needs as JSON, which may be empty.
    Metric { metric: Box<MetricEntry>, place: String, extractors: &'static str },
    /// An entry of another form, which stays as it is.
    Other(Tree),
}

impl ConvertedMetric {
    /// Returns the extractors that the metric needs.
    fn needed(&self) -> Option<&'static str> {
        match self {
            ConvertedMetric::Metric { extractors, .. } if !extractors.is_empty() => Some(extractors),
            _ => None,
        }
    }

    /// Returns true if the metric does not find the answer by itself.
    fn needs_extractors(&self) -> bool {
        matches!(self, ConvertedMetric::Metric { metric, .. } if !metric.reads_whole_text())
    }

    /// Returns the entry for a task whose step `extract` has these extractors. A metric that does not need them reads the
    /// answer as it was written.
    fn beside(self, of_task: Option<&'static str>, notes: &mut Notes) -> Tree {
        match self {
            ConvertedMetric::Other(item) => item,
            ConvertedMetric::Metric { mut metric, place, extractors } => {
                if of_task.is_some_and(|of_task| of_task != extractors) {
                    metric.read_written(!extractors.is_empty(), &place, notes);
                }
                metric.into_tree()
            }
        }
    }
}

/// Reports a task that scores answers and has no metric.
fn check(task: &mut Mapping, document: &Mapping, common: &[Tree], number: usize, notes: &mut Notes) {
    let steps = task.get("steps").and_then(Tree::as_list).unwrap_or(common);
    if has_step(steps, "auto_eval") && !task.has("metric_overrides") && !document.has("metrics") {
        report_missing(&format!("tasks[{number}]"), &mut task.comments, notes);
    }
}

fn report_missing(key: &str, comments: &mut Vec<String>, notes: &mut Notes) {
    let message = "no metric is left for the step `auto_eval`".to_owned();
    notes.needs_work(key.to_owned(), message, comments).help("choose one: `gage-host list metrics`");
}

fn add_to_template(document: &mut Mapping, extractors: Option<&'static str>, notes: &mut Notes) {
    let Some(extractors) = extractors else { return };
    let key = if document.has("custom") { "custom" } else { "builtin" };
    if let Some(Tree::Map(template)) = document.get_mut(key) {
        add_step(template, extractors, key, notes);
    }
}

/// Adds the step to the tasks that need it, or to their common steps if all of them need the same.
fn add_to_tasks(
    document: &mut Mapping,
    tasks: &mut [Tree],
    needs: &[Option<&'static str>],
    notes: &mut Notes,
) {
    let common = inherited(document).unwrap_or_default().to_vec();
    let lacks_steps = |task: &Tree| task.as_map().is_some_and(|task| !task.has("steps"));
    let mut inheriting = tasks.iter().zip(needs).filter(|(task, _)| lacks_steps(task)).map(|(_, need)| *need);
    let first = inheriting.next().flatten();
    let is_same = inheriting.all(|need| need == first);
    if is_same {
        add_to_template(document, first, notes);
    }
    for (number, (task, need)) in tasks.iter_mut().zip(needs).enumerate() {
        let Tree::Map(task) = task else { continue };
        let Some(need) = need else { continue };
        if !task.has("steps") {
            if is_same {
                continue;
            }
            task.set("steps", Tree::List(common.clone()));
        }
        add_step(task, need, &format!("tasks[{number}]"), notes);
    }
}

/// Adds the step `extract` before the metrics.
fn add_step(section: &mut Mapping, extractors: &str, path: &str, notes: &mut Notes) {
    let Some(Tree::List(steps)) = section.get_mut("steps") else { return };
    let is_eval = |step: &Tree| step.as_map().is_some_and(|step| step.text("step") == Some("auto_eval"));
    let Some(place) = steps.iter().position(is_eval).filter(|_| !has_step(steps, "extract")) else { return };
    let mut step = Mapping::default();
    step.set("step", Tree::text("extract"));
    step.set("extractors", Tree::of_json(serde_json::from_str(extractors).unwrap_or_default()));
    let message = "the step `extract` finds the answer that the old metric looked for itself".to_owned();
    notes.changed(path_of(path, "steps"), message, &mut step.comments);
    steps.insert(place, Tree::Map(step));
}
