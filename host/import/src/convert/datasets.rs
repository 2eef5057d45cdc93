//! `datasets[]`: hubs, parameters, preprocessors and hooks.

mod hooks;
mod preprocess;

use super::old_keys::{each_mapping, path_of, settle};
use crate::note::Notes;
use crate::tables::keys::{
    DATASET_KEYS, HUB_KEYS, LOADERS, OLD_DATASET_KEYS, OLD_HUB_KEYS, OLD_LOADERS, OLD_PARAM_KEYS, OldKey,
    PARAM_KEYS,
};
use crate::tree::{Mapping, Tree};

/// Address of the hub for datasets of another hub.
const HUB_URL: &str = "${GAGE_HUB_URL:-https://huggingface.co}";

/// Converts every dataset.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    each_mapping(document, "datasets", |dataset, path| convert_dataset(dataset, path, notes));
}

fn convert_dataset(dataset: &mut Mapping, path: &str, notes: &mut Notes) {
    move_hub(dataset, path, notes);
    settle(dataset, path, &[DATASET_KEYS], OLD_DATASET_KEYS, notes);
    convert_loader(dataset, path, notes);
    let loader = dataset.text("loader").unwrap_or_default().to_owned();
    let Some(params) = dataset.section("params") else { return };
    let path = path_of(path, "params");
    settle_params(params, &loader, &path, notes);
    preprocess::convert(params, &path, notes);
    hooks::convert(params, &path, notes);
}

/// Moves `hub`, `hub_id` and `hub_params` into `params`.
fn move_hub(dataset: &mut Mapping, path: &str, notes: &mut Notes) {
    let hub = dataset.remove("hub").filter(|hub| !hub.is_empty());
    let hub_params = dataset.remove("hub_params");
    let hub_id = dataset.remove("hub_id").filter(|id| !id.is_empty());
    let mut moved = match hub_params {
        Some(Tree::Map(moved)) => moved,
        _ => Mapping::default(),
    };
    if let Some(hub_id) = hub_id {
        moved.set_missing("hub_id", hub_id);
    }
    moved.remove_nulls();
    let name = hub.as_ref().and_then(Tree::as_text).unwrap_or_default().to_ascii_lowercase();
    let is_remote = !matches!(name.as_str(), "local" | "inline" | "file" | "filesystem" | "none");
    if !moved.entries.is_empty()
        && let Some(params) = dataset.section("params")
    {
        for (old, fate) in OLD_HUB_KEYS {
            if let OldKey::Renamed(new) = fate
                && !moved.has(new)
            {
                moved.rename(old, new);
            }
        }
        for entry in moved.entries {
            params.set_missing(&entry.key, entry.value);
            params.comments_of(&entry.key).extend(entry.comments);
        }
        let message = "`hub_params` belong in `params`".to_owned();
        notes.changed(path_of(path, "hub_params"), message, dataset.comments_of("params"));
    }
    if hub.is_none() {
        return;
    }
    let place = path_of(path, "hub");
    if !is_remote {
        let message = "`hub` is left out: the loader reads files".to_owned();
        notes.dropped(place, message, &mut dataset.comments);
        return;
    }
    let is_hf = matches!(name.as_str(), "hf" | "hf_hub" | "huggingface" | "huggingface_hub");
    dataset.set("loader", Tree::text("hf_hub"));
    if is_hf {
        notes.changed(place, "`hub` is the loader `hf_hub`".to_owned(), dataset.comments_of("loader"));
        return;
    }
    if let Some(params) = dataset.section("params") {
        params.set_missing("endpoint", Tree::text(HUB_URL));
        let message = format!("the hub `{name}` has an API of its own; the dataset is read from `endpoint`");
        notes
            .changed(place, message, params.comments_of("endpoint"))
            .help("check that the hub at `endpoint` has a dataset of this name");
    }
}

fn convert_loader(dataset: &mut Mapping, path: &str, notes: &mut Notes) {
    let place = path_of(path, "loader");
    let loader = dataset.text("loader").unwrap_or_default().to_owned();
    if LOADERS.contains(&loader.as_str()) {
        return;
    }
    if let Some((_, new)) = OLD_LOADERS.iter().find(|(old, _)| *old == loader) {
        dataset.set("loader", Tree::text(*new));
        let is_modelscope = matches!(loader.as_str(), "modelscope" | "ms_hub");
        let note = notes.changed(place, format!("`{loader}` is `{new}` here"), dataset.comments_of("loader"));
        if is_modelscope {
            note.help("set `params.endpoint` if the dataset is not on Hugging Face");
        }
        return;
    }
    let guessed = dataset.get("params").and_then(Tree::as_map).and_then(guess_loader);
    match guessed {
        Some(guessed) if loader.is_empty() => {
            dataset.set("loader", Tree::text(guessed));
            let message = format!("`loader` is `{guessed}`, by the other keys");
            notes.changed(place, message, dataset.comments_of("loader"));
        }
        _ => {
            let message = format!("there is no loader `{loader}`");
            notes
                .needs_work(place, message, dataset.comments_of("loader"))
                .help(format!("write the rows into a file and use one of {}", LOADERS.join(", ")));
        }
    }
}

fn guess_loader(params: &Mapping) -> Option<&'static str> {
    if params.has("hub_id") {
        return Some("hf_hub");
    }
    let path = params.text("path")?.trim_end_matches(".gz").trim_end_matches(".zst");
    LOADERS.iter().copied().find(|loader| path.ends_with(&format!(".{loader}")))
}

fn settle_params(params: &mut Mapping, loader: &str, path: &str, notes: &mut Notes) {
    let is_hub = loader == "hf_hub";
    if is_hub {
        for (old, fate) in OLD_HUB_KEYS {
            if let OldKey::Renamed(new) = fate
                && params.has(old)
                && !params.has(new)
            {
                params.rename(old, new);
                notes.changed(
                    path_of(path, old),
                    format!("`{old}` is `{new}` here"),
                    params.comments_of(new),
                );
            }
        }
        if params.has("path") && !params.has("hub_id") {
            params.rename("path", "hub_id");
            notes.changed(
                path_of(path, "path"),
                "`path` is `hub_id` here".to_owned(),
                params.comments_of("hub_id"),
            );
        }
        if params.has("path") && params.remove("path").is_some() {
            let message = "`path` is left out: `hub_id` counts".to_owned();
            notes.dropped(path_of(path, "path"), message, &mut params.comments);
        }
    } else {
        for key in HUB_KEYS {
            if params.remove(key).is_some() {
                let message = format!("`{key}` is left out: only the loader `hf_hub` has it");
                notes.dropped(path_of(path, key), message, &mut params.comments);
            }
        }
    }
    let own: &[&str] = match loader {
        "hf_hub" => HUB_KEYS,
        "json" => &["records"],
        "csv" | "tsv" => &["columns"],
        _ => &[],
    };
    settle(params, path, &[PARAM_KEYS, own], OLD_PARAM_KEYS, notes);
    if params.has("data_files") && (params.remove("subset").is_some() | params.remove("split").is_some()) {
        let message = "`subset` and `split` are left out: `data_files` names the files".to_owned();
        notes.dropped(path_of(path, "data_files"), message, params.comments_of("data_files"));
    }
    let is_limit = |limit: &Tree| matches!(limit, Tree::Variable(_)) || is_positive(limit);
    if params.get("limit").is_some_and(|limit| !is_limit(limit)) {
        params.remove("limit");
        let message = "`limit` is left out: without it every row is read".to_owned();
        notes.dropped(path_of(path, "limit"), message, &mut params.comments);
    }
}

fn is_positive(value: &Tree) -> bool {
    matches!(value, Tree::Scalar(number) if number.as_u64().is_some_and(|number| number > 0))
}
