//! The dataset of a task: files, or a dataset of the hub.

use super::task::Task;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};

/// Keys of `dataset_kwargs` that have no effect here.
const DROPPED_KWARGS: [&str; 4] = ["trust_remote_code", "streaming", "num_proc", "keep_in_memory"];

/// Beginning of the address of a file on the hub.
const HUB_ADDRESS: &str = "hf://datasets/";

/// Returns the entry of `datasets`, without a preprocessor.
pub(super) fn convert(task: &Task, notes: &mut Notes) -> Mapping {
    let mut dataset = Mapping::default();
    dataset.set("dataset_id", Tree::text(task.id.clone()));
    let path = task.dataset();
    let split = ["test_split", "validation_split", "training_split"];
    let split = split.iter().find_map(|key| task.text_of(key)).unwrap_or_default();
    let empty = Mapping::default();
    let kwargs = task.get("dataset_kwargs").and_then(Tree::as_map).unwrap_or(&empty);
    let mut params = Mapping::default();
    let files = kwargs.get("data_files").map(|files| files_of(files, &split)).unwrap_or_default();
    let hub_files = HubFiles::of(&files);
    let loader = match path.as_str() {
        _ if hub_files.is_some() => "hf_hub",
        "json" if kwargs.has("field") => "json",
        "json" => "jsonl",
        "csv" if kwargs.text("delimiter").or(kwargs.text("sep")) == Some("\t") => "tsv",
        "csv" => "csv",
        "parquet" => "parquet",
        _ => "hf_hub",
    };
    dataset.set("loader", Tree::text(loader));
    if let Some(HubFiles { hub_id, revision, files }) = hub_files {
        params.set("hub_id", Tree::text(hub_id));
        if let Some(revision) = revision {
            params.set("revision", Tree::text(revision));
        }
        params.set("data_files", one_or_list(files));
        if kwargs.has("field") {
            let message =
                "the rows are in a field of the files, which a dataset of the hub cannot have".to_owned();
            notes
                .needs_work(task.key("dataset_kwargs.field"), message, &mut params.comments)
                .help("download the files, and read them with `loader: json` and `records`");
        }
    } else if loader == "hf_hub" {
        hub(task, &path, &split, &files, &mut params, notes);
        if let Some(revision) = kwargs.get("revision") {
            params.set("revision", revision.clone());
        }
    } else {
        if let Some(field) = kwargs.get("field") {
            params.set("records", field.clone());
        }
        if files.iter().any(|file| file.starts_with(HUB_ADDRESS)) {
            let message = "the files are not all in one dataset of the hub".to_owned();
            notes
                .needs_work(task.key("dataset_kwargs.data_files"), message, &mut params.comments)
                .help("download them, and name their places");
        }
        params.set("path", one_or_list(files));
        if !params.has("path") {
            let message = "the task names no file of the data".to_owned();
            notes.needs_work(task.key("dataset_kwargs.data_files"), message, &mut params.comments);
            params.set("path", Tree::text("rows.jsonl"));
        }
    }
    let known = ["data_files", "data_dir", "field", "delimiter", "sep", "revision"];
    for key in kwargs.keys().into_iter().filter(|key| !known.contains(&key.as_str())) {
        let message = match DROPPED_KWARGS.contains(&key.as_str()) {
            true => format!("`{key}` has no effect: rows are streamed, and no code of a dataset is run"),
            false => format!("the argument `{key}` of the dataset has no counterpart"),
        };
        notes.dropped(task.key(&format!("dataset_kwargs.{key}")), message, &mut params.comments);
    }
    dataset.set("params", Tree::Map(params));
    dataset
}

/// Adds the examples of a split to the parameters of a dataset. Those of a dataset of files are in files, too.
pub(super) fn add_examples(task: &Task, mut shots: Mapping, params: &mut Mapping, notes: &mut Notes) {
    if params.has("path") {
        let split = shots.remove("split").map(|split| split.plain_text()).unwrap_or_default();
        let kwargs = task.get("dataset_kwargs").and_then(Tree::as_map);
        let files = kwargs.and_then(|kwargs| kwargs.get("data_files"));
        shots.set_first("path", one_or_list(files.map(|files| files_of(files, &split)).unwrap_or_default()));
        if !shots.has("path") {
            let message = format!("the task names no file of the split `{split}`, which has the examples");
            notes.needs_work(task.key("dataset_kwargs.data_files"), message, &mut shots.comments);
            shots.set_first("path", Tree::text("examples.jsonl"));
        }
    } else if params.has("data_files") {
        let message = "examples come from a split of the hub, which `data_files` does not name".to_owned();
        notes
            .needs_work(task.key("dataset_kwargs.data_files"), message, &mut shots.comments)
            .help("write `subset` and `split` in place of `data_files`");
    }
    params.set("few_shot", Tree::Map(shots));
}

fn hub(task: &Task, path: &str, split: &str, files: &[String], params: &mut Mapping, notes: &mut Notes) {
    params.set("hub_id", Tree::text(path));
    if path.is_empty() {
        let message = "the task names no dataset".to_owned();
        notes
            .needs_work(task.key("dataset_path"), message, params.comments_of("hub_id"))
            .help("set `hub_id`, or another loader with `path`");
    } else if !path.contains('/') {
        let message = format!("the hub may know `{path}` by a longer name: `owner/{path}`");
        notes.changed(task.key("dataset_path"), message, params.comments_of("hub_id"));
    }
    if let Some(subset) = task.text_of("dataset_name").filter(|_| files.is_empty()) {
        params.set("subset", Tree::text(subset));
    }
    if files.is_empty() && !split.is_empty() {
        params.set("split", Tree::text(split));
    } else if !files.is_empty() {
        params.set("data_files", one_or_list(files.to_vec()));
    }
}

/// Files of one dataset of the hub.
#[derive(Debug, PartialEq)]
struct HubFiles {
    hub_id: String,
    revision: Option<String>,
    /// Their paths in the dataset.
    files: Vec<String>,
}

impl HubFiles {
    /// Reads addresses, such as `hf://datasets/OWNER/NAME@REVISION/PATH`. `None` if one is no such address, or the files are
    /// not in one dataset.
    fn of(addresses: &[String]) -> Option<HubFiles> {
        let mut found: Option<HubFiles> = None;
        for address in addresses {
            let mut parts = address.strip_prefix(HUB_ADDRESS)?.splitn(3, '/');
            let (owner, name, path) = (parts.next()?, parts.next()?, parts.next()?);
            let (name, revision) = match name.split_once('@') {
                Some((name, revision)) => (name, Some(revision.to_owned())),
                None => (name, None),
            };
            let hub_id = format!("{owner}/{name}");
            let known = found.get_or_insert_with(|| HubFiles {
                hub_id: hub_id.clone(),
                revision: revision.clone(),
                files: Vec::new(),
            });
            if known.hub_id != hub_id || known.revision != revision {
                return None;
            }
            known.files.push(path.to_owned());
        }
        found
    }
}

/// Returns the files of a split: a text, a list, or a mapping with these by split.
fn files_of(files: &Tree, split: &str) -> Vec<String> {
    match files {
        Tree::List(items) => items.iter().map(Tree::plain_text).collect(),
        Tree::Map(splits) => splits.get(split).map(|files| files_of(files, "")).unwrap_or_default(),
        scalar => vec![scalar.plain_text()],
    }
}

fn one_or_list(mut files: Vec<String>) -> Tree {
    match files.len() {
        0 => Tree::Scalar(serde_json::Value::Null),
        1 => Tree::text(files.swap_remove(0)),
        _ => Tree::List(files.into_iter().map(Tree::text).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_hub_are_in_one_dataset() {
        let found = |hub_id: &str, revision: Option<&str>, files: &[&str]| {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            Some(HubFiles { hub_id: hub_id.to_owned(), revision: revision.map(str::to_owned), files })
        };
        for (addresses, expected) in [
            (&["hf://datasets/a/b/data/x.jsonl"][..], found("a/b", None, &["data/x.jsonl"])),
            (
                &["hf://datasets/a/b@v1/x.csv", "hf://datasets/a/b@v1/y.csv"],
                found("a/b", Some("v1"), &["x.csv", "y.csv"]),
            ),
            (&["hf://datasets/a/b/x.csv", "hf://datasets/a/c/x.csv"], None),
            (&["hf://datasets/a/b/x.csv", "x.csv"], None),
            (&["hf://datasets/a/b"], None),
            (&[], None),
        ] {
            let addresses: Vec<String> = addresses.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(HubFiles::of(&addresses), expected, "{addresses:?}");
        }
    }
}
