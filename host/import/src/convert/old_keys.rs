//! Keys of a mapping that gage-host does not know.

use crate::note::Notes;
use crate::tables::keys::{OldKey, OldKeys};
use crate::tree::{Mapping, Tree};

/// Returns the path of a key of a mapping.
pub(super) fn path_of(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Changes each mapping of a list of the document; the path of each is given.
pub(super) fn each_mapping(document: &mut Mapping, key: &str, mut change: impl FnMut(&mut Mapping, &str)) {
    let Some(Tree::List(items)) = document.get_mut(key) else { return };
    for (number, item) in items.iter_mut().enumerate() {
        if let Tree::Map(mapping) = item {
            change(mapping, &format!("{key}[{number}]"));
        }
    }
}

/// Renames and removes the keys of a mapping that are not known. A key that no table has is removed too.
pub(super) fn settle(mapping: &mut Mapping, path: &str, known: &[&[&str]], old: &OldKeys, notes: &mut Notes) {
    for key in mapping.keys() {
        if known.iter().any(|names| names.contains(&key.as_str())) {
            continue;
        }
        let place = path_of(path, &key);
        let fate = old.iter().find(|(name, _)| *name == key).map(|(_, fate)| *fate);
        let is_empty = mapping.entries.iter().any(|entry| entry.key == key && entry.value.is_empty());
        match fate {
            Some(OldKey::Renamed(new)) if !mapping.has(new) && !is_empty => {
                mapping.remove(new);
                mapping.rename(&key, new);
                notes.changed(place, format!("`{key}` is `{new}` here"), mapping.comments_of(new));
            }
            Some(OldKey::Renamed(new)) => drop_key(mapping, place, &key, &format!("`{new}` counts"), notes),
            Some(OldKey::Dropped(reason)) => drop_key(mapping, place, &key, reason, notes),
            _ if is_empty => drop_key(mapping, place, &key, "it is empty", notes),
            Some(OldKey::Impossible(reason)) => {
                mapping.remove(&key);
                let message = format!("`{key}` is left out: {reason}");
                notes.needs_work(place, message, &mut mapping.comments);
            }
            None => {
                mapping.remove(&key);
                let message = format!("`{key}` is left out: gage-host has no such key");
                notes
                    .needs_work(place, message, &mut mapping.comments)
                    .help("see docs/reference/suite.md for the keys that exist, or do without it");
            }
        }
    }
}

fn drop_key(mapping: &mut Mapping, place: String, key: &str, reason: &str, notes: &mut Notes) {
    mapping.remove(key);
    notes.dropped(place, format!("`{key}` is left out: {reason}"), &mut mapping.comments);
}
