//! The settings of a suite that can change a number.

use super::suite_name;
use gage_core::{ENTRY_IDS, Object};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Sections that change no number: descriptions for people, and limits of a run.
const FREE_SECTIONS: [&str; 7] =
    ["api_version", "kind", "metadata", "cache", "budget", "pricing", "task_parallelism"];

/// The free sections that an identity does not even record.
pub(super) const LIMITS: [&str; 4] = ["budget", "cache", "pricing", "task_parallelism"];

/// Keys that change no number: the section, the path from an entry of it to the mapping, and the keys in that
/// mapping. They name places whose content is pinned by a digest, check such a digest, set speeds or timeouts, or are
/// secret.
/// Other mappings, such as plugin parameters, may use the same names for something else.
const FREE_KEYS: [(&str, &[&str], &[&str]); 12] = [
    (
        "datasets",
        &["params"],
        &[
            "path",
            "labels_path",
            "tokenizer_config",
            "content_root",
            "endpoint",
            "token",
            "offline",
            "streaming",
        ],
    ),
    ("datasets", &["params", "few_shot"], &["path"]),
    ("datasets", &["params", "media"], &["allowed_roots"]),
    ("backends", &["config"], BACKEND),
    ("backends", &["config", "lora"], &["path"]),
    ("role_adapters", &["backend", "config"], BACKEND),
    ("role_adapters", &["backend", "config", "lora"], &["path"]),
    ("role_adapters", &["resource_requirement"], &["pool_size"]),
    ("plugins", &[], &["source", "sha256"]),
    ("tasks", &[], QUEUES),
    ("custom", &[], QUEUES),
    ("builtin", &[], QUEUES),
];

/// Task keys for the number of rows read ahead and of samples in flight.
const QUEUES: &[&str] = &["max_inflight", "prefetch_factor"];

/// Keys of a backend's settings.
const BACKEND: &[&str] = &[
    "model_path",
    "mmproj",
    "api_key",
    "api_key_env",
    "api_key_file",
    "headers",
    "proxy",
    "max_concurrency",
    "async_max_concurrency",
    "adaptive_concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout",
    "read_timeout",
    "max_retries",
    "retry_base",
    "retry_limit",
    "retry_after_limit",
    "outage_limit",
    "outage_after",
    "threads",
    "slots",
    "replicas",
    "hang_timeout",
];

/// Returns the settings that can change a number. Lists of named entries become mappings, so that differences
/// name the entries and order does not count.
pub(super) fn pinned(config: &Value) -> Value {
    let mut kept = Object::new();
    for (section, value) in without_free_keys(config) {
        let id_key = ENTRY_IDS.iter().find(|(name, _)| *name == section).map(|(_, id_key)| *id_key);
        let value = match id_key {
            Some(id_key) => by_id(value, id_key),
            None => value,
        };
        kept.insert(section, value);
    }
    Value::Object(kept)
}

/// Returns the digests of redacted values that can change a number. `config` determines how entries are
/// named.
pub(super) fn pinned_redacted<'w>(
    config: &Value,
    redacted: &'w BTreeMap<String, String>,
) -> BTreeMap<&'w str, &'w str> {
    let free = free_places(config);
    let is_free = |place: &str| {
        FREE_SECTIONS.iter().any(|section| is_below(place, section))
            || free.iter().any(|free| is_below(place, free))
    };
    let kept = redacted.iter().filter(|(place, _)| !is_free(place));
    kept.map(|(place, digest)| (place.as_str(), digest.as_str())).collect()
}

/// Returns the settings that can change a number, in the form of the suite, with the suite's name.
pub(super) fn comparable_document(config: &Value) -> Value {
    let mut document = without_free_keys(config);
    if let Some(name) = suite_name(config) {
        document.insert("metadata".to_owned(), json!({"name": name}));
    }
    Value::Object(document)
}

fn without_free_keys(config: &Value) -> Object {
    let mut kept = Object::new();
    for (key, section) in config.as_object().into_iter().flatten() {
        if FREE_SECTIONS.contains(&key.as_str()) {
            continue;
        }
        let mut section = section.clone();
        for (_, way, keys) in FREE_KEYS.iter().filter(|(name, ..)| name == key) {
            let entries: &mut [Value] = match &mut section {
                Value::Array(items) => items,
                one => std::slice::from_mut(one),
            };
            for entry in entries {
                let found = way.iter().try_fold(entry, |entry, step| entry.get_mut(step));
                if let Some(Value::Object(values)) = found {
                    values.retain(|key, _| !keys.contains(&key.as_str()));
                }
            }
        }
        kept.insert(key.clone(), section);
    }
    kept
}

/// Returns the places of all configuration keys that change no number: `backends.model.config.api_key`.
fn free_places(config: &Value) -> Vec<String> {
    let mut places = Vec::new();
    for (section, way, keys) in FREE_KEYS {
        let entries: Vec<String> =
            match (&config[section], ENTRY_IDS.iter().find(|(name, _)| *name == section)) {
                (Value::Array(items), Some((_, id_key))) => {
                    let named = items.iter().enumerate().map(|(number, item)| match item[*id_key].as_str() {
                        Some(id) => format!("{section}.{id}"),
                        None => format!("{section}[{number}]"),
                    });
                    named.collect()
                }
                _ => vec![section.to_owned()],
            };
        for entry in entries {
            let mapping = way.iter().fold(entry, |place, step| format!("{place}.{step}"));
            places.extend(keys.iter().map(|key| format!("{mapping}.{key}")));
        }
    }
    places
}

/// Returns whether a place is equal to or below another.
fn is_below(place: &str, above: &str) -> bool {
    place.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Converts a list of entries with ids into a mapping.
fn by_id(section: Value, id_key: &str) -> Value {
    let Value::Array(items) = section else { return section };
    let mut named = Object::new();
    for item in &items {
        let (Some(id), Value::Object(entries)) = (item[id_key].as_str(), item) else {
            return Value::Array(items);
        };
        let rest = entries.iter().filter(|(key, _)| *key != id_key);
        let rest: Object = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        if named.insert(id.to_owned(), Value::Object(rest)).is_some() {
            return Value::Array(items);
        }
    }
    Value::Object(named)
}
