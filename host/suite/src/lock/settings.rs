//! What of a configuration can change a figure.

use gage_config::{ENTRY_IDS, RedactedValue, withheld_json};
use gage_core::Object;
use serde_json::{Map, Value};

/// What says where something is whose content is locked by its digest, how fast things go, or what is secret: the section,
/// the way from one of its entries to the mapping, and the keys that are left out there. What lies elsewhere, such as the
/// parameters of plugins, may use the same names for something else.
const LEFT_OUT: [(&str, &str, &[&str]); 11] = [
    (
        "datasets",
        "/params",
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
    ("datasets", "/params/media", &["allowed_roots"]),
    ("backends", "/config", BACKEND),
    ("backends", "/config/lora", &["path"]),
    ("role_adapters", "/backend/config", BACKEND),
    ("role_adapters", "/backend/config/lora", &["path"]),
    ("role_adapters", "/resource_requirement", &["pool_size"]),
    ("plugins", "", &["source"]),
    ("tasks", "", &["max_inflight"]),
    ("custom", "", &["max_inflight"]),
    ("builtin", "", &["max_inflight"]),
];

/// Of the settings of a backend.
const BACKEND: &[&str] = &[
    "model_path",
    "mmproj",
    "api_key",
    "headers",
    "max_concurrency",
    "async_max_concurrency",
    "threads",
    "isolation",
];

/// The digests of values that are not written down.
pub(super) const WITHHELD: &str = "withheld";

/// The configuration without what is for people, says where things are, or how fast they go, as a cache of answers.
pub(super) fn settings(document: &Value, withheld: &[RedactedValue]) -> Value {
    let mut kept = Object::new();
    for (key, section) in document.as_object().into_iter().flatten() {
        if ["api_version", "kind", "metadata", "cache"].contains(&key.as_str()) {
            continue;
        }
        let mut section = section.clone();
        for (_, way, keys) in LEFT_OUT.iter().filter(|(name, ..)| name == key) {
            let entries: &mut [Value] = match &mut section {
                Value::Array(items) => items,
                one => std::slice::from_mut(one),
            };
            for entry in entries {
                if let Some(Value::Object(values)) = entry.pointer_mut(way) {
                    values.retain(|key, _| !keys.contains(&key.as_str()));
                }
            }
        }
        let id_key = ENTRY_IDS.iter().find(|(name, _)| name == key);
        kept.insert(
            key.clone(),
            match id_key {
                Some((_, id_key)) => by_id(section, id_key),
                None => section,
            },
        );
    }
    let pinned: Vec<RedactedValue> = withheld.iter().filter(|one| !is_left_out(&one.path)).cloned().collect();
    if !pinned.is_empty() {
        kept.insert(WITHHELD.to_owned(), withheld_json(&pinned));
    }
    Value::Object(kept)
}

/// Whether what stands at a path is left out, and so is what is not written down of it.
fn is_left_out(path: &[String]) -> bool {
    LEFT_OUT.iter().any(|(section, way, keys)| {
        let is_list = ENTRY_IDS.iter().any(|(name, _)| name == section);
        let way = way.split('/').filter(|part| !part.is_empty());
        let mut rest = path.iter().skip(if is_list { 2 } else { 1 });
        path.first().is_some_and(|first| first == section)
            && way.into_iter().all(|part| rest.next().is_some_and(|found| found == part))
            && rest.next().is_some_and(|key| keys.contains(&key.as_str()))
    })
}

/// A list whose entries have ids as a mapping, so that differences name them.
fn by_id(section: Value, id_key: &str) -> Value {
    let Value::Array(items) = section else { return section };
    let mut named = Map::new();
    for item in &items {
        let (Some(id), Value::Object(entries)) = (item[id_key].as_str(), item) else {
            return Value::Array(items);
        };
        let rest = entries.iter().filter(|(key, _)| *key != id_key);
        let rest: Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        if named.insert(id.to_owned(), Value::Object(rest)).is_some() {
            return Value::Array(items);
        }
    }
    Value::Object(named)
}

/// What backends are, but for what the machine chooses and no answer depends on.
pub(super) fn backends(identity: &Value) -> Value {
    let mut backends = identity.clone();
    for backend in backends.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(Value::Object(details)) = backend.get_mut("details") {
            details.shift_remove("threads");
            details.shift_remove("max_concurrency");
            details.shift_remove("isolation");
        }
    }
    backends
}

/// The name of a plugin, with a file's place as it is seen from the suite.
pub(super) fn portable_name(name: &str, config_dir: &str) -> String {
    match name.strip_prefix(config_dir).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => format!("${{config_dir}}/{rest}"),
        None => name.to_owned(),
    }
}
