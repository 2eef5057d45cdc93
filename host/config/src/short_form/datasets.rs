//! Datasets that are only a file, or leave out what its name says.

use super::is_missing;
use crate::elements::dataset::loader_of_file;
use crate::node::{Entry, Node, NodeValue};
use std::collections::BTreeSet;
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
    let items = list.as_list().unwrap_or_default();
    let mut ids: BTreeSet<String> =
        items.iter().filter_map(|dataset| dataset.text_of("dataset_id").map(str::to_owned)).collect();
    for dataset in list.items_mut().into_iter().flatten() {
        expand_dataset(dataset, &mut ids);
    }
}

/// Expands a dataset. `ids` are those of other datasets.
fn expand_dataset(dataset: &mut Node, ids: &mut BTreeSet<String>) {
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
    let id = is_missing(dataset, "dataset_id").then(|| unique_id(Path::new(&file), ids));
    if let Some(entries) = dataset.entries_mut() {
        entries.extend(loader.map(|loader| Entry::new("loader", Node::text(loader, span))));
        if let Some(id) = id {
            entries.insert(0, Entry::new("dataset_id", Node::text(id, span)));
        }
    }
}

/// Returns the id for a file, and adds it to those that are taken: the name of the file up to the first dot. If this is
/// taken, it is the whole name with its folder, as in `b-rows-jsonl`, or else the short name with a number.
fn unique_id(path: &Path, ids: &mut BTreeSet<String>) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let short = id_of(name.split('.').next().unwrap_or_default());
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let long = id_of(&format!("{folder}-{name}"));
    let numbered = (2_usize..).map(|number| format!("{short}-{number}"));
    let mut candidates = [short.clone(), long].into_iter().chain(numbered);
    // There are more numbers than datasets.
    let id = candidates.find(|id| !ids.contains(id)).unwrap_or_default();
    ids.insert(id.clone());
    id
}

/// Returns a text without the characters that an id may not have.
fn id_of(text: &str) -> String {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let id: String = text.chars().map(|one| if is_allowed(one) { one } else { '-' }).collect();
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
            assert_eq!(unique_id(Path::new(path), &mut BTreeSet::new()), id, "{path}");
        }
    }

    #[test]
    fn ids_of_several_files_differ() {
        let mut ids = BTreeSet::from(["dev".to_owned()]);
        for (path, id) in [
            ("rows.jsonl", "rows"),
            ("b/rows.jsonl", "b-rows-jsonl"),
            ("rows.csv", "rows-csv"),
            ("c/b/rows.jsonl", "rows-2"),
            ("rows.csv", "rows-3"),
            ("dev.csv", "dev-csv"),
            ("../.hidden.jsonl", "data"),
            ("../.hidden.jsonl", "hidden-jsonl"),
        ] {
            assert_eq!(unique_id(Path::new(path), &mut ids), id, "{path}");
        }
    }
}
