//! What of a configuration can change a figure.

use gage_core::Object;
use serde_json::{Map, Value};

/// Keys that say where something is whose content is locked by its digest, how fast things go, or what is secret. They
/// are left out wherever they stand in these sections.
const LEFT_OUT: [(&str, &[&str]); 4] = [
    (
        "datasets",
        &[
            "path",
            "labels_path",
            "tokenizer_config",
            "content_root",
            "allowed_roots",
            "endpoint",
            "token",
            "offline",
            "streaming",
        ],
    ),
    (
        "backends",
        &["model_path", "api_key", "headers", "max_concurrency", "async_max_concurrency", "threads"],
    ),
    (
        "role_adapters",
        &[
            "model_path",
            "api_key",
            "headers",
            "max_concurrency",
            "async_max_concurrency",
            "threads",
            "pool_size",
        ],
    ),
    ("plugins", &["source"]),
];

/// The keys that name the entries of sections.
const IDS: [(&str, &str); 6] = [
    ("datasets", "dataset_id"),
    ("backends", "backend_id"),
    ("role_adapters", "adapter_id"),
    ("prompts", "prompt_id"),
    ("tasks", "task_id"),
    ("plugins", "id"),
];

/// The configuration without what is for people, says where things are, or how fast they go.
pub(super) fn settings(document: &Value) -> Value {
    let mut kept = Object::new();
    for (key, section) in document.as_object().into_iter().flatten() {
        if ["api_version", "kind", "metadata"].contains(&key.as_str()) {
            continue;
        }
        let mut section = section.clone();
        if let Some((_, keys)) = LEFT_OUT.iter().find(|(name, _)| name == key) {
            leave_out(&mut section, keys, 0);
        }
        if ["custom", "builtin", "tasks"].contains(&key.as_str()) {
            leave_out(&mut section, &["max_inflight"], 0);
        }
        let id_key = IDS.iter().find(|(name, _)| name == key);
        kept.insert(
            key.clone(),
            match id_key {
                Some((_, id_key)) => by_id(section, id_key),
                None => section,
            },
        );
    }
    Value::Object(kept)
}

/// Leaves keys out of the entries of a section and of what lies directly below them, where the host reads them; what is
/// free, such as the parameters of plugins, may use the same names for something else.
fn leave_out(value: &mut Value, keys: &[&str], level: usize) {
    const FREE: [&str; 8] = [
        "preprocess_kwargs",
        "doc_to_text_kwargs",
        "doc_to_visual_kwargs",
        "doc_to_audio_kwargs",
        "extra_body",
        "filter",
        "exclude",
        "prompt_params",
    ];
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leave_out(item, keys, level)),
        Value::Object(entries) => {
            entries.retain(|key, _| !keys.contains(&key.as_str()));
            for (key, value) in entries.iter_mut() {
                if !FREE.contains(&key.as_str()) && level < 3 {
                    leave_out(value, keys, level + 1);
                }
            }
        }
        _ => {}
    }
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
