//! Datasets that are only a file, or leave out what its name says.

use super::is_missing;
use crate::elements::dataset::loader_of_file;
use crate::node::{Entry, Node, NodeValue};
use std::path::Path;

/// Name of a dataset whose file has no usable name.
const UNNAMED_DATASET: &str = "data";

/// Makes each dataset a mapping, with the loader and the id that its first file suggests.
pub(super) fn expand(root: &mut Node) {
    let Some(list) = root.get_mut("datasets") else { return };
    if list.as_text().is_some() {
        let only = list.clone();
        *list = Node::new(NodeValue::List(vec![only]), list.span);
    }
    for dataset in list.items_mut().into_iter().flatten() {
        expand_dataset(dataset);
    }
}

fn expand_dataset(dataset: &mut Node) {
    let span = dataset.span;
    if dataset.as_text().is_some() {
        let mut path = Entry::new("path", dataset.clone());
        path.written = dataset.written.take();
        path.node.written = None;
        *dataset = Node::map(vec![Entry::new("params", Node::map(vec![path], span))], span);
    }
    let path = dataset.get("params").and_then(|params| params.get("path"));
    let first = path.and_then(|path| path.as_list().map_or(Some(path), <[Node]>::first));
    let Some(file) = first.and_then(Node::as_text).map(str::to_owned) else { return };
    let loader = loader_of_file(Path::new(&file)).filter(|_| is_missing(dataset, "loader"));
    let id = Some(id_of_file(Path::new(&file))).filter(|_| is_missing(dataset, "dataset_id"));
    if let Some(entries) = dataset.entries_mut() {
        entries.extend(loader.map(|loader| Entry::new("loader", Node::text(loader, span))));
        if let Some(id) = id {
            entries.insert(0, Entry::new("dataset_id", Node::text(id, span)));
        }
    }
}

/// Returns the id for a file: its name up to the first dot, without characters that an id may not have.
fn id_of_file(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let id: String = stem.chars().map(|one| if is_allowed(one) { one } else { '-' }).collect();
    let id = id.trim_matches(['-', '_']);
    if gage_core::check_name(id).is_ok() { id.to_owned() } else { UNNAMED_DATASET.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_the_name_of_the_file() {
        for (path, id) in [
            ("rows.jsonl", "rows"),
            ("/data/my questions.csv.gz", "my-questions"),
            ("../.hidden.jsonl", "data"),
            ("_x_.json", "x"),
            ("été.csv", "t"),
        ] {
            assert_eq!(id_of_file(Path::new(path)), id, "{path}");
        }
    }
}
