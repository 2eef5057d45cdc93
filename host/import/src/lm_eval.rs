//! Converts tasks and groups of lm-evaluation-harness.

mod dataset;
mod draft;
mod engine_names;
mod files;
mod filters;
mod functions;
mod metrics;
mod pattern;
mod prompt;
mod question;
mod rows;
mod sampling;
mod suite;
mod target;
mod task;
mod template_parts;

use crate::convert::Import;
use crate::note::Notes;
use crate::python_name::plugin_name;
use crate::source_folder::SourceFolder;
use crate::tree::{Mapping, Tree};
use crate::yaml;
use draft::TaskDraft;
use files::TaskIndex;
use gage_config::Problems;
use std::collections::BTreeSet;
use task::Task;

/// Maximum number of tasks of a group.
const MAX_TASKS: usize = 1_000;
/// Maximum depth of groups in groups.
const MAX_GROUP_LEVELS: usize = 16;

/// Converts a task or a group of lm-evaluation-harness. `name` is the name of its file in `folder`.
///
/// # Errors
/// The problems of a file that is not one YAML mapping, and of an included file that cannot be read.
pub fn import_lm_eval(name: &str, text: &str, folder: &dyn SourceFolder) -> Result<Import, Box<Problems>> {
    let root = files::load(name, text, folder)?;
    let mut notes = Notes::default();
    let mut comments = Vec::new();
    let is_group = root.get("task").is_some_and(|task| matches!(task, Tree::List(_)));
    let title = root.text(if is_group { "group" } else { "task" }).unwrap_or("task").to_owned();
    let maps = match is_group {
        true => {
            let mut members = Members::of(TaskIndex::read(folder));
            members.add_group(&root, 0);
            for name in &members.differing {
                let message = format!(
                    "the group has `{name}` more than once, with different keys; here it is one task, with the keys of \
                     the first"
                );
                let help = "for the others, import a file of their own: a task has one name in a suite";
                notes.needs_work(format!("task.{name}"), message, &mut comments).help(help);
            }
            for name in &members.missing {
                let message = format!("there is no task `{name}` in the folder of the group");
                let help = "give the group's file in its folder of lm-evaluation-harness";
                notes.needs_work(format!("task.{name}"), message, &mut comments).help(help);
            }
            note_mean(&root, &mut notes, &mut comments);
            members.found
        }
        false => vec![root],
    };
    let has_others = maps.len() > 1;
    let tasks: Vec<Task> = maps.into_iter().map(|map| Task::new(map, has_others)).collect();
    let drafts = tasks.iter().map(|task| TaskDraft::of(task, &mut notes)).collect();
    let mut document = suite::document(&title, drafts);
    document.comments.extend(comments);
    document.escape_variables();
    let head = head_comments(name);
    Ok(Import { suite: yaml::write(&head, &document), notes: notes.into_distinct(), files: Vec::new() })
}

/// Notes the mean of a group, for which there is no figure.
fn note_mean(root: &Mapping, notes: &mut Notes, comments: &mut Vec<String>) {
    if root.has("aggregate_metric_list") {
        let message = "the figures of the group are means over its tasks; here each task has its own figures, and \
                       there is none of the group";
        notes.dropped("aggregate_metric_list".to_owned(), message.to_owned(), comments);
    }
}

/// The tasks of a group.
struct Members {
    index: TaskIndex,
    found: Vec<Mapping>,
    /// Names without a task.
    missing: BTreeSet<String>,
    /// Names of tasks that the group has again, with other keys.
    differing: BTreeSet<String>,
}

impl Members {
    fn of(index: TaskIndex) -> Members {
        Members { index, found: Vec::new(), missing: BTreeSet::new(), differing: BTreeSet::new() }
    }

    /// Adds a task. One that several groups have is added once.
    fn add(&mut self, name: &str, task: Mapping) {
        match self.found.iter().find(|found| found.text("task") == Some(name)) {
            Some(found) if *found == task => {}
            Some(_) => {
                self.differing.insert(name.to_owned());
            }
            None => self.found.push(task),
        }
    }

    fn add_group(&mut self, group: &Mapping, level: usize) {
        let Some(Tree::List(items)) = group.get("task").cloned() else { return };
        for item in items.iter().filter(|_| level < MAX_GROUP_LEVELS) {
            match item {
                Tree::Map(inline) => self.add_inline(inline, level),
                named => self.add_named(&named.plain_text(), &Mapping::default(), level),
            }
        }
    }

    fn add_inline(&mut self, inline: &Mapping, level: usize) {
        match inline.get("task") {
            Some(Tree::List(_)) => self.add_group(inline, level + 1),
            Some(name) => self.add_named(&name.plain_text(), inline, level),
            None => {}
        }
    }

    /// Adds a task, or the tasks of a group or a tag. `changes` are keys that the group sets.
    fn add_named(&mut self, name: &str, changes: &Mapping, level: usize) {
        if self.found.len() >= MAX_TASKS {
            return;
        }
        match self.index.get(name).cloned() {
            Some(group) if group.get("task").is_some_and(|task| matches!(task, Tree::List(_))) => {
                self.add_group(&group, level + 1);
            }
            Some(mut task) => {
                for entry in &changes.entries {
                    task.set(&entry.key, entry.value.clone());
                }
                self.add(name, task);
            }
            None if changes.has("dataset_path") => self.add(name, changes.clone()),
            None => match self.index.tagged(name).to_vec() {
                names if names.is_empty() => {
                    self.missing.insert(name.to_owned());
                }
                names => names.iter().for_each(|name| self.add_named(name, changes, level)),
            },
        }
    }
}

/// Returns the name of a plugin for a task.
fn plugin_part(id: &str) -> String {
    plugin_name(id)
}

fn head_comments(name: &str) -> Vec<String> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    vec![
        format!("Converted from {name} of lm-evaluation-harness by `gage-host import lm-eval`."),
        "Check it with `gage-host validate`, and compare the prompts of `gage-host data preview --rendered`."
            .to_owned(),
    ]
}
