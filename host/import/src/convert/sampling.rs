//! Sampling parameters.

use super::old_keys::path_of;
use crate::note::Notes;
use crate::tables::keys::{OLD_SAMPLING, OldKey, SAMPLING};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Returns true if a name is that of a sampling parameter, new or old.
pub(super) fn is_sampling(name: &str) -> bool {
    SAMPLING.contains(&name) || OLD_SAMPLING.iter().any(|(old, _)| *old == name)
}

/// Converts a mapping of sampling parameters: old names, and values that mean nothing. Returns the keys
/// that are not sampling parameters.
pub(super) fn convert(params: &mut Mapping, path: &str, notes: &mut Notes) -> Mapping {
    let mut further = Mapping::default();
    params.remove_nulls();
    let is_greedy = params.get("do_sample") == Some(&Tree::Scalar(Value::Bool(false)));
    if params.remove("do_sample").is_some() {
        if is_greedy {
            params.set("temperature", Tree::Scalar(Value::from(0)));
        }
        let message = "`do_sample` is left out: `temperature: 0` is greedy".to_owned();
        notes.changed(path_of(path, "do_sample"), message, &mut params.comments);
    }
    for key in params.keys() {
        let place = path_of(path, &key);
        match OLD_SAMPLING.iter().find(|(old, _)| *old == key).map(|(_, fate)| *fate) {
            Some(OldKey::Renamed(new)) if !params.has(new) => {
                params.rename(&key, new);
                notes.changed(place, format!("`{key}` is `{new}` here"), params.comments_of(new));
            }
            Some(OldKey::Renamed(new)) => {
                params.remove(&key);
                notes.dropped(place, format!("`{key}` is left out: `{new}` counts"), &mut params.comments);
            }
            Some(OldKey::Dropped(reason) | OldKey::Impossible(reason)) => {
                params.remove(&key);
                notes.dropped(place, format!("`{key}` is left out: {reason}"), &mut params.comments);
            }
            None if SAMPLING.contains(&key.as_str()) => drop_useless(params, &key, place, notes),
            None => {
                if let Some(value) = params.remove(&key) {
                    further.set(&key, value);
                }
            }
        }
    }
    // Both names of the limit of tokens are one parameter.
    if params.has("max_new_tokens") && params.remove("max_tokens").is_some() {
        let message = "`max_tokens` is left out: `max_new_tokens` counts".to_owned();
        notes.dropped(path_of(path, "max_tokens"), message, &mut params.comments);
    }
    further
}

/// Removes a value by which the older program meant `no limit`.
fn drop_useless(params: &mut Mapping, key: &str, place: String, notes: &mut Notes) {
    let number = match params.get(key) {
        Some(Tree::Scalar(value)) => value.as_f64(),
        _ => None,
    };
    let is_useless = number.is_some_and(|number| match key {
        "max_new_tokens" | "max_tokens" => number < 1.0,
        "top_k" | "seed" | "temperature" | "min_p" | "top_p" => number < 0.0,
        "repetition_penalty" => number <= 0.0,
        _ => false,
    });
    let is_empty = params.get(key).is_some_and(Tree::is_empty);
    if is_useless || is_empty {
        params.remove(key);
        let message = format!("`{key}` is left out: without it there is no such limit");
        notes.dropped(place, message, &mut params.comments);
    }
}

/// Converts the sampling parameters below a key. Other keys are removed with a note.
pub(super) fn convert_section(mapping: &mut Mapping, key: &str, path: &str, notes: &mut Notes) {
    let place = path_of(path, key);
    match mapping.get_mut(key) {
        Some(Tree::Map(params)) => {
            let further = convert(params, &place, notes);
            for unknown in further.keys() {
                let message = format!("`{unknown}` is left out: it is not a sampling parameter");
                notes
                    .needs_work(path_of(&place, &unknown), message, &mut params.comments)
                    .help("put it into `extra_body` of the backend if the server needs it");
            }
            if params.entries.is_empty() {
                let comments = std::mem::take(&mut params.comments);
                mapping.remove(key);
                mapping.comments.extend(comments);
            }
        }
        Some(_) => {
            mapping.remove(key);
            let message = format!("`{key}` is left out: it is not a mapping");
            notes.dropped(place, message, &mut mapping.comments);
        }
        None => {
            mapping.remove(key);
        }
    }
}
