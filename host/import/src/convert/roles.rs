//! `role_adapters[]`: types, class paths, limits and parameters of roles.

use super::old_keys::{each_mapping, path_of, settle};
use super::sampling;
use crate::note::Notes;
use crate::python_name::{last_name, plugin_command, plugin_file};
use crate::tables::keys::{NEW_ROLE_TYPES, OLD_ROLE_KEYS, ROLE_KEYS, ROLE_TYPES};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Ends of the names of adapters that only asked a model.
const MODEL_ADAPTERS: &[&str] = &[
    "model_role_adapter",
    "dut_adapter",
    "dut_model_adapter",
    "dut_model_role_adapter",
    "judge_adapter",
    "judge_model_adapter",
    "judge_model_role_adapter",
    "helper_model_adapter",
    "helper_model_role_adapter",
    "model_adapter",
];

/// Converts every role. Roles of types that are not possible are removed.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    remove_impossible(document, notes);
    each_mapping(document, "role_adapters", |role, path| convert_role(role, path, notes));
}

fn remove_impossible(document: &mut Mapping, notes: &mut Notes) {
    let Some(Tree::List(roles)) = document.get_mut("role_adapters") else { return };
    let mut comments = Vec::new();
    let mut number = 0;
    roles.retain(|role| {
        let place = format!("role_adapters[{number}].role_type");
        number += 1;
        let role_type = role.as_map().and_then(|role| role.text("role_type").or_else(|| role.text("type")));
        let is_known = |role_type: &str| {
            NEW_ROLE_TYPES.contains(&role_type) || ROLE_TYPES.iter().any(|(old, _)| *old == role_type)
        };
        let Some(unknown) = role_type.filter(|role_type| !is_known(role_type)) else { return true };
        let message =
            format!("the role of the type `{unknown}` is left out: games and agents are not possible");
        notes
            .needs_work(place, message, &mut comments)
            .help(format!("known types are: {}", NEW_ROLE_TYPES.join(", ")));
        false
    });
    document.comments_of("role_adapters").extend(comments);
}

fn convert_role(role: &mut Mapping, path: &str, notes: &mut Notes) {
    convert_params(role, path, notes);
    let class_path = role.remove("class_path").filter(|path| !path.is_empty());
    let concurrency = role.remove("concurrency").filter(|limit| !limit.is_empty());
    settle(role, path, &[ROLE_KEYS], OLD_ROLE_KEYS, notes);
    role.remove_nulls();
    convert_type(role, path, notes);
    if let Some(class_path) = class_path {
        convert_class_path(role, &class_path.plain_text(), path, notes);
    }
    convert_limits(role, concurrency, path, notes);
    if role.has("sampling_params") {
        sampling::convert_section(role, "sampling_params", path, notes);
    }
    if role.get("prompt_params").is_some_and(|params| params.as_map().is_none()) {
        role.remove("prompt_params");
    }
    if role.has("backend") && role.has("backend_id") {
        role.remove("backend_id");
        let message = "`backend_id` is left out: `backend` counts".to_owned();
        notes.dropped(path_of(path, "backend_id"), message, &mut role.comments);
    }
    if !role.has("backend") && !role.has("backend_id") && !role.has("adapter") {
        let message = "the role names no backend".to_owned();
        notes
            .needs_work(path.to_owned(), message, &mut role.comments)
            .help("give it the `backend_id` of an entry of `backends`");
    }
    let is_support = matches!(role.text("role_type"), Some("context_provider" | "tool_provider"));
    if is_support && !role.has("adapter") && !role.has("prompt_id") {
        let message = "the role finds context by a `prompt_id` or an `adapter`, and has neither".to_owned();
        notes
            .needs_work(path.to_owned(), message, &mut role.comments)
            .help("write a prompt, or use an adapter: `gage-host list adapters`");
    }
}

fn convert_type(role: &mut Mapping, path: &str, notes: &mut Notes) {
    let place = path_of(path, "role_type");
    let Some(old) = role.text("role_type").map(str::to_owned) else {
        role.set("role_type", Tree::text("dut_model"));
        let message = "`role_type` is `dut_model`, the model under test".to_owned();
        notes.changed(place, message, role.comments_of("role_type"));
        return;
    };
    if let Some((_, new)) = ROLE_TYPES.iter().find(|(name, _)| *name == old) {
        role.set("role_type", Tree::text(*new));
        notes.changed(place, format!("`{old}` is `{new}` here"), role.comments_of("role_type"));
    }
}

fn convert_class_path(role: &mut Mapping, class_path: &str, path: &str, notes: &mut Notes) {
    let place = path_of(path, "class_path");
    let name = last_name(class_path);
    if MODEL_ADAPTERS.contains(&name.as_str()) {
        let message = "`class_path` is left out: the role asks its backend by itself".to_owned();
        notes.dropped(place, message, &mut role.comments);
        return;
    }
    let takes_adapter =
        matches!(role.text("role_type"), Some("context_provider" | "tool_provider" | "helper_model"));
    if !takes_adapter {
        let message = format!("`class_path` is left out: `{class_path}` is Python code");
        notes.needs_work(place, message, &mut role.comments).help(
            "change the messages by a prompt or a preprocessor, or use a backend of the type custom_script",
        );
        return;
    }
    let file = plugin_file(class_path);
    let message = format!("`{class_path}` is Python code; a plugin takes its place");
    role.set("adapter", Tree::text(file.clone()));
    if role.remove("prompt_id").is_some() {
        role.remove("prompt_params");
    }
    notes
        .needs_work(place, message, role.comments_of("adapter"))
        .help(format!("make {file} by: {}", plugin_command(class_path, "role-adapter")));
}

/// Makes `concurrency` and the old parts of `resource_requirement` the size of the role's pool.
fn convert_limits(role: &mut Mapping, concurrency: Option<Tree>, path: &str, notes: &mut Notes) {
    if let Some(limit) = concurrency {
        if let Some(section) = role.section("resource_requirement") {
            section.set_missing("pool_size", limit);
        }
        let message = "`concurrency` is `pool_size` of `resource_requirement`".to_owned();
        notes.changed(path_of(path, "concurrency"), message, role.comments_of("resource_requirement"));
    }
    settle_requirement(role, path, notes);
}

/// Removes what a `resource_requirement` says about machines.
fn settle_requirement(role: &mut Mapping, path: &str, notes: &mut Notes) {
    const KEY: &str = "resource_requirement";
    let place = path_of(path, KEY);
    if let Some(Tree::Map(section)) = role.get_mut(KEY) {
        for key in section.keys() {
            if key != "pool_size" {
                section.remove(&key);
                let message = format!("`{key}` is left out: the server of a model has its own machine");
                notes.dropped(path_of(&place, &key), message, &mut section.comments);
            }
        }
        let is_size = |size: &Tree| match size {
            Tree::Scalar(Value::Number(number)) => number.as_u64().is_some_and(|number| number > 0),
            other => other.as_text().is_some(),
        };
        if section.get("pool_size").is_some_and(|size| !is_size(size)) {
            section.remove("pool_size");
        }
        if section.entries.is_empty() {
            let comments = std::mem::take(&mut section.comments);
            role.remove(KEY);
            role.comments.extend(comments);
        }
    }
}

/// Converts `params` of a role: sampling parameters, and parameters of its prompt.
fn convert_params(role: &mut Mapping, path: &str, notes: &mut Notes) {
    let Some(Tree::Map(params)) = role.remove("params").filter(|params| !params.is_empty()) else { return };
    let place = path_of(path, "params");
    for entry in params.entries {
        let key = entry.key;
        match (key.as_str(), entry.value) {
            ("sampling_params" | "generation_params" | "generation_kwargs", Tree::Map(below)) => {
                give(role, "sampling_params", below);
                let message = format!("`params.{key}` is `sampling_params`");
                notes.changed(path_of(&place, &key), message, role.comments_of("sampling_params"));
            }
            ("prompt_params", Tree::Map(below)) => {
                give(role, "prompt_params", below);
                let message = "`params.prompt_params` is `prompt_params`".to_owned();
                notes.changed(path_of(&place, &key), message, role.comments_of("prompt_params"));
            }
            ("prompt_id", value) => role.set_missing("prompt_id", value),
            (_, value) if sampling::is_sampling(&key) => {
                let mut below = Mapping::default();
                below.set(&key, value);
                give(role, "sampling_params", below);
                let message = format!("`params.{key}` is part of `sampling_params`");
                notes.changed(path_of(&place, &key), message, role.comments_of("sampling_params"));
            }
            _ => {
                let message = format!("`params.{key}` is left out: a role has no such parameter");
                notes.needs_work(path_of(&place, &key), message, &mut role.comments).help(
                    "parameters of a prompt belong in `prompt_params`, those of an adapter after its name",
                );
            }
        }
    }
}

fn give(role: &mut Mapping, key: &str, below: Mapping) {
    if let Some(section) = role.section(key) {
        below.entries.into_iter().for_each(|entry| section.set_missing(&entry.key, entry.value));
    }
}
