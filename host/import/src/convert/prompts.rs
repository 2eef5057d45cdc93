//! `prompts[]`: renderers, messages, and the names in templates.

use super::old_keys::{each_mapping, path_of, settle};
use crate::note::Notes;
use crate::python_name::is_path;
use crate::tables::keys::{OLD_PROMPT_KEYS, PROMPT_KEYS, PROMPT_TEXTS};
use crate::template_text::rewrite;
use crate::tree::{Mapping, Tree};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns the texts of prompts that the preprocessors of datasets hold.
pub(super) fn texts_of_datasets(document: &Mapping) -> Mapping {
    let mut texts = Mapping::default();
    let datasets = document.get("datasets").and_then(Tree::as_list).unwrap_or_default();
    for dataset in datasets {
        let params = dataset.as_map().and_then(|dataset| dataset.get("params")).and_then(Tree::as_map);
        let kwargs = params.and_then(|params| params.get("preprocess_kwargs")).and_then(Tree::as_map);
        for name in PROMPT_TEXTS {
            if let Some(text) =
                kwargs.and_then(|kwargs| kwargs.get(name)).filter(|text| text.as_text().is_some())
            {
                texts.set_missing(name, text.clone());
            }
        }
    }
    texts
}

/// Converts every prompt. `texts` are those of the preprocessors.
pub(super) fn convert(document: &mut Mapping, texts: &Mapping, notes: &mut Notes) {
    let roles = document.get("role_adapters").and_then(Tree::as_list).unwrap_or_default().to_vec();
    each_mapping(document, "prompts", |prompt, path| convert_prompt(prompt, path, &roles, texts, notes));
    let is_empty = document.entries.iter().any(|entry| entry.key == "prompts" && entry.value.is_empty());
    if is_empty {
        document.remove("prompts");
    }
}

fn convert_prompt(prompt: &mut Mapping, path: &str, roles: &[Tree], texts: &Mapping, notes: &mut Notes) {
    convert_renderer(prompt, path, notes);
    settle(prompt, path, &[PROMPT_KEYS], OLD_PROMPT_KEYS, notes);
    prompt.remove_nulls();
    if prompt.get("params").is_some_and(|params| params.as_map().is_none()) {
        prompt.remove("params");
    }
    if prompt.get("messages").is_some_and(Tree::is_empty) {
        prompt.remove("messages");
    }
    if prompt.has("messages") && (prompt.has("template") || prompt.has("system_prompt")) {
        prompt.remove("messages");
        let message = "`messages` is left out: `template` counts".to_owned();
        notes.dropped(path_of(path, "messages"), message, &mut prompt.comments);
    }
    let params = params_of(prompt, roles);
    let mut missing = BTreeSet::new();
    for key in ["system_prompt", "template"] {
        rewrite_text(prompt, key, path, &params, &mut missing, notes);
    }
    if let Some(Tree::List(messages)) = prompt.get_mut("messages") {
        for (number, message) in messages.iter_mut().enumerate() {
            let Tree::Map(message) = message else { continue };
            let path = format!("{path}.messages[{number}]");
            join_parts(message, &path, notes);
            rewrite_text(message, "content", &path, &params, &mut missing, notes);
        }
    }
    add_missing(prompt, path, &missing, texts, notes);
}

fn convert_renderer(prompt: &mut Mapping, path: &str, notes: &mut Notes) {
    let Some(renderer) = prompt.remove("renderer").filter(|renderer| !renderer.is_empty()) else { return };
    let name = renderer.plain_text();
    let place = path_of(path, "renderer");
    if is_path(&name) {
        let message = format!("the renderer `{name}` is Python code, which no prompt can call");
        notes
            .needs_work(place, message, &mut prompt.comments)
            .help("write the prompt as a template of Jinja");
        return;
    }
    let message = "`renderer` is left out: every template is Jinja".to_owned();
    notes.dropped(place, message, &mut prompt.comments);
}

/// Returns the names of the parameters of a prompt, with those that its roles give.
fn params_of(prompt: &Mapping, roles: &[Tree]) -> BTreeSet<String> {
    let id = prompt.text("prompt_id").unwrap_or_default();
    let own = prompt.get("params").and_then(Tree::as_map);
    let of_roles = roles.iter().filter_map(Tree::as_map).filter(|role| role.text("prompt_id") == Some(id));
    let given = of_roles.filter_map(|role| role.get("prompt_params").and_then(Tree::as_map));
    own.into_iter().chain(given).flat_map(Mapping::keys).collect()
}

/// Joins the parts of a message to one text.
fn join_parts(message: &mut Mapping, path: &str, notes: &mut Notes) {
    let Some(Tree::List(parts)) = message.get("content") else { return };
    let texts: Vec<Option<&str>> =
        parts.iter().map(|part| part.as_text().or_else(|| part.as_map()?.text("text"))).collect();
    let is_whole = texts.iter().all(Option::is_some);
    let joined = texts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    message.set("content", Tree::text(joined));
    let place = path_of(path, "content");
    if is_whole {
        let text = "`content` is one text".to_owned();
        notes.changed(place, text, message.comments_of("content"));
    } else {
        let text = "`content` is one text; its images are left out".to_owned();
        notes
            .needs_work(place, text, message.comments_of("content"))
            .help("images of a Sample reach the model without a prompt: leave `prompt_id` out");
    }
}

fn rewrite_text(
    mapping: &mut Mapping,
    key: &str,
    path: &str,
    params: &BTreeSet<String>,
    missing: &mut BTreeSet<String>,
    notes: &mut Notes,
) {
    let Some(text) = mapping.text(key).map(str::to_owned) else { return };
    let rewritten = rewrite(&text, params);
    if rewritten.changes.is_empty() {
        return;
    }
    missing.extend(rewritten.missing);
    for (old, new) in rewritten.changes {
        // `sample.get(…)` keeps its method.
        let message = format!("`{old}` is `{new}` in templates");
        notes.changed(path_of(path, key), message, mapping.comments_of(key));
    }
    mapping.set(key, Tree::text(rewritten.text));
}

/// Adds the parameters that a template reads and that nothing sets.
fn add_missing(
    prompt: &mut Mapping,
    path: &str,
    missing: &BTreeSet<String>,
    texts: &Mapping,
    notes: &mut Notes,
) {
    for name in missing {
        let text = texts.get(name).cloned().unwrap_or(Tree::Scalar(Value::from("")));
        let message = match text.is_empty() {
            true => format!("`{name}` had no value, so it is empty"),
            false => format!("`{name}` is that of `preprocess_kwargs`"),
        };
        let Some(params) = prompt.section("params") else { return };
        params.set_missing(name, text);
        notes
            .changed(path_of(path, "params"), message, params.comments_of(name))
            .help("write the text, or give it by `prompt_params` of the role");
    }
}
