//! Reads tasks of lm-evaluation-harness with the files that they include.

use crate::source_folder::{SourceFolder, path_beside};
use crate::tree::{Mapping, Tree};
use gage_config::{Node, Problems, parse_document};
use std::collections::BTreeMap;

/// Maximum depth of files that include one another.
const MAX_INCLUDE_LEVELS: usize = 16;
/// Maximum number of files that are searched for the tasks of a group.
const MAX_TASK_FILES: usize = 2_000;
/// Keys of which a task or a group has at least one.
const TASK_KEYS: [&str; 4] = ["task", "group", "include", "dataset_path"];
/// Next step for a file that is not a task.
const TASK_HELP: &str = "give the YAML file of a task or a group of lm-evaluation-harness";
/// Beginning of a value that names a function of Python.
pub(super) const FUNCTION: &str = "!function ";

/// Reads a file with its includes; keys of the file have precedence. `path` is relative to the folder.
///
/// # Errors
/// The problems of a text that is not a task, and of a file that cannot be read.
pub(super) fn load(path: &str, text: &str, folder: &dyn SourceFolder) -> Result<Mapping, Box<Problems>> {
    load_at(path, text, folder, 0)
}

fn load_at(
    path: &str,
    text: &str,
    folder: &dyn SourceFolder,
    level: usize,
) -> Result<Mapping, Box<Problems>> {
    let (root, mut problems) = parse(path, &quoted_functions(text))?;
    let Tree::Map(mut task) = Tree::of_foreign(&root) else {
        problems
            .error(root.span, "", format!("a task is a mapping; this is {}", root.kind()))
            .help(TASK_HELP);
        return Err(Box::new(problems));
    };
    if level == 0 && !TASK_KEYS.iter().any(|key| task.has(key)) {
        let message = "this mapping is no task: it has none of `task`, `group`, `include` and `dataset_path`";
        problems.error(root.span, "", message).help(TASK_HELP);
        return Err(Box::new(problems));
    }
    let included: Vec<String> = match task.remove("include") {
        Some(Tree::List(items)) => items.iter().map(Tree::plain_text).collect(),
        Some(Tree::Scalar(value)) => value.as_str().map(str::to_owned).into_iter().collect(),
        _ => Vec::new(),
    };
    for include in included {
        if level >= MAX_INCLUDE_LEVELS {
            let message = format!("more than {MAX_INCLUDE_LEVELS} files include one another");
            problems.error(root.span, "include", message).help("remove the circle");
            return Err(Box::new(problems));
        }
        let found = match path_beside(path, &include) {
            Some(found) => folder.read(&found).map(|text| (found, text)),
            None => Err("the path is absolute; write it relative to the file".to_owned()),
        };
        let (found, text) = match found {
            Ok(found) => found,
            Err(reason) => {
                let message = format!("cannot read the included file `{include}`: {reason}");
                problems.error(root.span, "include", message).help("copy the file to its place");
                return Err(Box::new(problems));
            }
        };
        for entry in load_at(&found, &text, folder, level + 1)?.entries {
            if !task.entries.iter().any(|known| known.key == entry.key) {
                task.set(&entry.key, entry.value);
            }
        }
    }
    Ok(task)
}

/// Parses a document. Returns it with the problems that hold its text, for further ones.
fn parse(path: &str, text: &str) -> Result<(Node, Problems), Box<Problems>> {
    let mut problems = Problems::default();
    if let Some(root) = parse_document(path, text, None, &mut problems).filter(|_| !problems.has_errors()) {
        return Ok((root, problems));
    }
    // Python reads lists in brackets whose lines are not indented.
    let mut others = Problems::default();
    match parse_document(path, &indented_flow(text), None, &mut others) {
        Some(root) if !others.has_errors() => Ok((root, others)),
        _ => Err(Box::new(problems)),
    }
}

/// Indents the lines inside of brackets.
fn indented_flow(text: &str) -> String {
    const INDENT: &str = "        ";
    let mut indented = String::with_capacity(text.len());
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for line in text.split_inclusive('\n') {
        if depth > 0 {
            indented.push_str(INDENT);
        }
        indented.push_str(line);
        // At the start of a value, a bracket opens a list.
        let mut before = ':';
        for letter in line.chars() {
            match (quote, letter) {
                (Some('"'), '\\') if !is_escaped => {
                    is_escaped = true;
                    continue;
                }
                (Some(open), _) if open == letter && !is_escaped => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if ":-,[{".contains(before) => quote = Some(letter),
                (None, '[' | '{') if depth > 0 || ":-".contains(before) => depth += 1,
                (None, ']' | '}') => depth = depth.saturating_sub(1),
                (None, _) => {}
            }
            is_escaped = false;
            if !letter.is_whitespace() {
                before = letter;
            }
        }
    }
    indented
}

/// Writes `!function NAME` as a text, because the parser drops tags.
fn quoted_functions(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.split_once("!function") {
            Some((before, after)) if before.trim_end().ends_with([':', '-', '[', ',']) => {
                let after = after.trim_start();
                let end = after.find(|one: char| one.is_whitespace() || ",]}#".contains(one));
                let (name, rest) = after.split_at(end.unwrap_or(after.len()));
                let name = name.trim_matches(['"', '\'']);
                quoted.push_str(&format!("{before}\"{FUNCTION}{name}\"{rest}"));
            }
            _ => quoted.push_str(line),
        }
    }
    quoted
}

/// The tasks and groups of a folder, by their names.
pub(super) struct TaskIndex {
    by_name: BTreeMap<String, Mapping>,
    by_tag: BTreeMap<String, Vec<String>>,
}

impl TaskIndex {
    /// Reads every file of the folder. A file that is not a task is left out.
    pub(super) fn read(folder: &dyn SourceFolder) -> TaskIndex {
        let mut index = TaskIndex { by_name: BTreeMap::new(), by_tag: BTreeMap::new() };
        for path in folder.yaml_files().into_iter().take(MAX_TASK_FILES) {
            let Ok(text) = folder.read(&path) else { continue };
            if let Ok(task) = load(&path, &text, folder) {
                index.add(task);
            }
        }
        index
    }

    fn add(&mut self, task: Mapping) {
        let is_group = task.get("task").and_then(Tree::as_list).is_some();
        let key = if is_group { "group" } else { "task" };
        let Some(name) = task.text(key).map(str::to_owned) else { return };
        if !is_group {
            for tag in ["tag", "group"].iter().filter_map(|key| task.get(key)).flat_map(names_of) {
                self.by_tag.entry(tag).or_default().push(name.clone());
            }
        }
        self.by_name.insert(name, task);
    }

    /// Returns the task or group of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Mapping> {
        self.by_name.get(name)
    }

    /// Returns the names of the tasks with a tag.
    pub(super) fn tagged(&self, tag: &str) -> &[String] {
        self.by_tag.get(tag).map_or(&[], Vec::as_slice)
    }
}

/// Returns a text, or the texts of a list.
fn names_of(value: &Tree) -> Vec<String> {
    match value {
        Tree::List(items) => items.iter().map(Tree::plain_text).collect(),
        scalar => vec![scalar.plain_text()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_may_close_without_indentation() {
        let text = "config:\n  samples: [\n  {\n    \"q\": \"a ] \\\" b\\n\\\n      c\"\n  }\n  ]\ntask: t\n";
        let (root, _) = parse("t.yaml", text).expect("a task");
        let expected = serde_json::json!({"config": {"samples": [{"q": "a ] \" b\nc"}]}, "task": "t"});
        assert_eq!(root.to_json(), expected);
        assert!(parse("t.yaml", "a: [\n").is_err());
    }

    #[test]
    fn functions_become_texts() {
        for (line, quoted) in [
            ("a: !function utils.doc\n", "a: \"!function utils.doc\"\n"),
            ("  - !function u.f # note", "  - \"!function u.f\" # note"),
            ("a: {b: !function u.f, c: 1}", "a: {b: \"!function u.f\", c: 1}"),
            ("a: what !function is", "a: what !function is"),
        ] {
            assert_eq!(quoted_functions(line), quoted);
        }
    }
}
