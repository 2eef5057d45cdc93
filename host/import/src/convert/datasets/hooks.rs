//! `doc_to_text`, `doc_to_visual` and `doc_to_audio`.

use crate::convert::old_keys::path_of;
use crate::note::Notes;
use crate::python_name::{is_path, last_name, plugin_command, plugin_file};
use crate::tables::keys::HOOKS;
use crate::tree::{Mapping, Tree};

/// Converts the hooks of a dataset.
pub(super) fn convert(params: &mut Mapping, path: &str, notes: &mut Notes) {
    for key in ["doc_to_text", "doc_to_visual", "doc_to_audio"] {
        let kwargs_key = format!("{key}_kwargs");
        match params.text(key).filter(|text| !text.is_empty()).map(str::to_owned) {
            Some(hook) => convert_hook(params, (key, kwargs_key.as_str()), &hook, path, notes),
            None => {
                params.remove(key);
                if params.remove(&kwargs_key).is_some() {
                    let message = format!("`{kwargs_key}` is left out: there is no `{key}`");
                    notes.dropped(path_of(path, &kwargs_key), message, &mut params.comments);
                }
            }
        }
    }
}

fn convert_hook(
    params: &mut Mapping,
    (key, kwargs_key): (&str, &str),
    hook: &str,
    path: &str,
    notes: &mut Notes,
) {
    let place = path_of(path, key);
    let name = if is_path(hook) { last_name(hook) } else { hook.to_owned() };
    if let Some((known, kwargs)) = HOOKS.iter().find(|(known, _)| *known == name) {
        if *known != hook {
            params.set(key, Tree::text(*known));
            notes.changed(place, format!("`{hook}` is the hook `{known}`"), params.comments_of(key));
        }
        settle_kwargs(params, kwargs_key, kwargs, path, notes);
        return;
    }
    if hook.ends_with(".wasm") || hook.contains(['/', '#']) {
        return;
    }
    if name.starts_with("embed_local") {
        params.remove(key);
        params.remove(kwargs_key);
        let message =
            format!("`{key}` is left out: images of the preprocessor reach the model by themselves");
        notes.dropped(place, message, &mut params.comments);
        return;
    }
    let file = plugin_file(hook);
    let message = format!("`{hook}` is Python code; a plugin takes its place");
    params.set(key, Tree::text(file.clone()));
    notes
        .needs_work(place, message, params.comments_of(key))
        .help(format!("make {file} by: {}", plugin_command(hook, "doc-hook")));
}

fn settle_kwargs(params: &mut Mapping, key: &str, known: &[&str], path: &str, notes: &mut Notes) {
    let place = path_of(path, key);
    let mut root = None;
    if let Some(Tree::Map(kwargs)) = params.get_mut(key) {
        root = kwargs.remove("content_root");
        for unknown in kwargs.keys() {
            if !known.contains(&unknown.as_str()) {
                kwargs.remove(&unknown);
                let message = format!("`{unknown}` is left out: the hook has no such parameter");
                notes.dropped(path_of(&place, &unknown), message, &mut kwargs.comments);
            }
        }
    }
    if let Some(root) = root.filter(|root| !root.is_empty()) {
        params.set_missing("content_root", root);
        let message = "`content_root` is a parameter of the dataset".to_owned();
        notes.changed(path_of(&place, "content_root"), message, params.comments_of("content_root"));
    }
    if params.get(key).is_some_and(Tree::is_empty) {
        params.remove(key);
    }
}
