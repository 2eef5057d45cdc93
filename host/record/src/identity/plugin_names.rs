//! File names that change no number: those of components, which a digest pins, and the suite's folder.

use gage_core::Object;
use serde_json::Value;
use std::collections::BTreeMap;

const CONFIG_DIR: &str = "${config_dir}";

/// Prefix for the aggregator of a metric in an identity.
const AGGREGATION: &str = "aggregation ";

/// Renames the plugins of `now` to match `before` if they are the same components under different file names.
/// Both are [pinned](super::RunIdentity::pinned) parts. Returns the new name of each replaced name.
pub fn align(before: &Object, now: &mut Object) -> BTreeMap<String, String> {
    let plugins =
        |parts: &Object| parts.get("plugins").and_then(Value::as_object).cloned().unwrap_or_default();
    let names = renamed(&plugins(before), &plugins(now));
    for part in ["plugins", "settings"] {
        if let Some(part) = now.get_mut(part) {
            rename(part, &names);
        }
    }
    names
}

fn renamed(before: &Object, now: &Object) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (name, plugin) in now.iter().filter(|(name, _)| !before.contains_key(*name)) {
        let Some((file, member)) = file_and_member(name) else { continue };
        let earlier = before.iter().find_map(|(other, plugin_before)| {
            let (other_file, other_member) = file_and_member(other)?;
            let is_same = plugin_before == plugin && other_member == member && !now.contains_key(other);
            is_same.then_some((other, other_file))
        });
        if let Some((other, other_file)) = earlier {
            for (name, other) in [(name.as_str(), other.as_str()), (file, other_file)] {
                names.insert(name.to_owned(), other.to_owned());
                if let (Some(name), Some(other)) =
                    (name.strip_prefix(AGGREGATION), other.strip_prefix(AGGREGATION))
                {
                    names.insert(name.to_owned(), other.to_owned());
                }
            }
        }
    }
    names
}

/// Splits a reference to a component file into the file and the member that it names, if any.
fn file_and_member(name: &str) -> Option<(&str, &str)> {
    let (file, member) = name.split_once('#').unwrap_or((name, ""));
    file.ends_with(".wasm").then_some((file, member))
}

/// Replaces texts and keys that are names.
pub(super) fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    if !names.is_empty() {
        replace(value, &|text| names.get(text).cloned());
    }
}

/// Returns a value with paths below the suite's folder written as `${config_dir}/…`.
pub(super) fn portable(mut value: Value, config_dir: &str) -> Value {
    let below = |text: &str| {
        text.strip_prefix(config_dir)?.strip_prefix('/').map(|rest| format!("{CONFIG_DIR}/{rest}"))
    };
    if !config_dir.is_empty() && config_dir != CONFIG_DIR {
        replace(&mut value, &|text| match text.strip_prefix(AGGREGATION) {
            Some(name) => below(name).map(|name| format!("{AGGREGATION}{name}")),
            None => below(text),
        });
    }
    value
}

fn replace(value: &mut Value, replacement: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = replacement(text) {
                *text = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, replacement)),
        Value::Object(members) => {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(key, mut member)| {
                    replace(&mut member, replacement);
                    (replacement(&key).unwrap_or(key), member)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
