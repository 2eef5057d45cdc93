//! `backends[]`, and backends inside of roles.

mod config;

use super::old_keys::{each_mapping, path_of};
use crate::note::Notes;
use crate::python_name::{last_name, plugin_command, plugin_file};
use crate::tables::backends::{NEW_TYPES, OLD_TYPES};
use crate::tree::{Mapping, Tree};
use std::collections::BTreeMap;

/// Converts every backend. Limits that are those of a role here go to the roles.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    let mut pools: BTreeMap<String, Tree> = BTreeMap::new();
    each_mapping(document, "backends", |backend, path| {
        if !backend.has("backend_id") && backend.has("id") {
            backend.rename("id", "backend_id");
        }
        let pool = convert_backend(backend, path, notes);
        if let (Some(id), Some(pool)) = (backend.text("backend_id"), pool) {
            pools.insert(id.to_owned(), pool);
        }
    });
    each_mapping(document, "role_adapters", |role, path| {
        let pool = match role.get_mut("backend") {
            Some(Tree::Map(backend)) => convert_backend(backend, &path_of(path, "backend"), notes),
            _ => role.text("backend_id").and_then(|id| pools.get(id).cloned()),
        };
        let Some(pool) = pool else { return };
        if let Some(section) = role.section("resource_requirement") {
            section.set_missing("pool_size", pool);
        }
        let message = "`pool_size` is that of the backend".to_owned();
        notes.changed(
            path_of(path, "resource_requirement"),
            message,
            role.comments_of("resource_requirement"),
        );
    });
}

/// Converts a backend. Returns the size of the pool that it gives to its roles.
fn convert_backend(backend: &mut Mapping, path: &str, notes: &mut Notes) -> Option<Tree> {
    let mut config = match backend.remove("config") {
        Some(Tree::Map(config)) => config,
        _ => Mapping::default(),
    };
    let outer = backend.remove("resource_requirement");
    let inner = config.remove("resource_requirement");
    let pool = [outer, inner].into_iter().flatten().find_map(|section| match section {
        Tree::Map(mut section) => section.remove("pool_size").filter(|size| !size.is_empty()),
        _ => None,
    });
    // Keys next to `type` are settings, as in some old suites.
    for key in backend.keys() {
        if !matches!(key.as_str(), "backend_id" | "type") && !key.starts_with("description") {
            if let Some(value) = backend.remove(&key) {
                config.set_missing(&key, value);
            }
        } else if key.starts_with("description") {
            backend.remove(&key);
        }
    }
    let old = backend.text("type").unwrap_or_default().to_owned();
    let place = path_of(path, "config");
    let kind = convert_type(backend, &config, &old, path, notes);
    match kind.as_str() {
        "custom_script" => convert_script(&mut config, &place, notes),
        "llama_cpp" => {}
        _ => config::convert(&mut config, &kind, &old, &place, notes),
    }
    backend.set("config", Tree::Map(config));
    pool
}

/// Converts the type, and returns the new one.
fn convert_type(backend: &mut Mapping, config: &Mapping, old: &str, path: &str, notes: &mut Notes) -> String {
    let place = path_of(path, "type");
    if NEW_TYPES.contains(&old) {
        return old.to_owned();
    }
    let Some((_, new, program)) = OLD_TYPES.iter().find(|(name, ..)| *name == old) else {
        backend.set("type", Tree::text("openai_http"));
        let message = format!("there is no backend `{old}`; a server of the OpenAI API takes its place");
        notes
            .needs_work(place, message, backend.comments_of("type"))
            .help(format!("name a server, or make a backend by: {}", plugin_command(old, "backend")));
        return "openai_http".to_owned();
    };
    let provider = config::provider_of(config, old);
    let new = provider.map_or(*new, |(_, kind, _)| kind);
    backend.set("type", Tree::text(new));
    let message = format!("`{old}` is a server that speaks the protocol of `{new}`");
    let note = notes.changed(place, message, backend.comments_of("type"));
    if !program.is_empty() && provider.is_none() {
        note.help(format!("start the server first: {program}"));
    }
    new.to_owned()
}

/// Converts a backend of Python code.
fn convert_script(config: &mut Mapping, path: &str, notes: &mut Notes) {
    if config.has("component") {
        return;
    }
    let class = config.remove("class_name").map(|name| name.plain_text());
    let module = config.remove("module_path").map(|name| name.plain_text());
    let file = config.remove("file_path").map(|name| name.plain_text());
    let from_file =
        file.as_deref().and_then(|file| file.rsplit('/').next()).map(|file| file.trim_end_matches(".py"));
    let name = class.as_deref().or(module.as_deref()).or(from_file).unwrap_or("my-backend").to_owned();
    let own: Vec<String> = config
        .keys()
        .into_iter()
        .filter(|key| !matches!(key.as_str(), "config" | "default_params"))
        .collect();
    for key in own {
        if let Some(value) = config.remove(&key)
            && let Some(section) = config.section("config")
        {
            section.set_missing(&key, value);
        }
    }
    // A name like `MyEngineBackend` is read as a class path.
    let name = last_name(&name);
    let component = plugin_file(&name);
    config.set_first("component", Tree::text(component.clone()));
    let message =
        format!("`{name}` is Python code; a plugin takes its place, with the other keys in `config`");
    notes
        .needs_work(path.to_owned(), message, config.comments_of("component"))
        .help(format!("make {component} by: {}", plugin_command(&name, "backend")));
}
