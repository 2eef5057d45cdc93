//! `prompts[]`: renderers, messages, and the names in templates.

use super::old_keys::{each_mapping, path_of, settle};
use crate::note::Notes;
use crate::python_name::is_path;
use crate::tables::keys::{OLD_PROMPT_KEYS, PROMPT_KEYS, PROMPT_TEXTS};
use crate::tables::preprocessors::fields_of;
use crate::template_text::{TemplateScope, is_optional, rewrite};
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
    let fields = fields_of_rows(document);
    each_mapping(document, "prompts", |prompt, path| {
        settle_prompt(prompt, path, notes);
        let params = params_of(prompt, &roles);
        let follows_answer = follows_answer(prompt, &roles);
        let scope = TemplateScope { params: &params, fields: &fields, follows_answer };
        let missing = convert_texts(prompt, path, scope, notes);
        add_missing(prompt, path, &missing, texts, notes);
    });
    let is_empty = document.entries.iter().any(|entry| entry.key == "prompts" && entry.value.is_empty());
    if is_empty {
        document.remove("prompts");
    }
}

/// Returns the fields that the rows have, as far as the preprocessors of the datasets name them.
fn fields_of_rows(document: &Mapping) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    let datasets = document.get("datasets").and_then(Tree::as_list).unwrap_or_default();
    for params in datasets.iter().filter_map(Tree::as_map).filter_map(|dataset| dataset.get("params")) {
        add_named_fields(params, &mut fields);
        let preprocess = params.as_map().and_then(|params| params.get("preprocess"));
        let links = preprocess.and_then(Tree::as_list).unwrap_or_default().iter();
        let names = links.filter_map(|link| link.as_text().or_else(|| link.as_map()?.text("name")));
        let single = preprocess.map_or(Some("default"), Tree::as_text);
        let known = names.chain(single).flat_map(fields_of);
        fields.extend(known.map(|field| (*field).to_owned()));
    }
    fields
}

/// Adds the first name of every path below a key such as `question_field`.
fn add_named_fields(tree: &Tree, fields: &mut BTreeSet<String>) {
    match tree {
        Tree::Map(mapping) => {
            for entry in &mapping.entries {
                let paths = entry.value.as_text().filter(|_| entry.key.ends_with("_field"));
                let first = |path: &str| path.trim().split(['.', '[']).next().map(str::to_owned);
                fields.extend(paths.into_iter().flat_map(|paths| paths.split('|')).filter_map(first));
                add_named_fields(&entry.value, fields);
            }
        }
        Tree::List(items) => items.iter().for_each(|item| add_named_fields(item, fields)),
        Tree::Scalar(_) | Tree::Variable(_) => {}
    }
}

/// Returns true if only judges and helpers use a prompt, which read the answer.
fn follows_answer(prompt: &Mapping, roles: &[Tree]) -> bool {
    const TYPES: [&str; 5] = ["judge_model", "judge", "judge_extend", "helper_model", "helper"];
    let id = prompt.text("prompt_id").unwrap_or_default();
    let mut users =
        roles.iter().filter_map(Tree::as_map).filter(|role| role.text("prompt_id") == Some(id)).peekable();
    let follows = |role: &Mapping| {
        role.text("role_type")
            .or_else(|| role.text("type"))
            .is_some_and(|role_type| TYPES.contains(&role_type))
    };
    users.peek().is_some() && users.all(follows)
}

fn settle_prompt(prompt: &mut Mapping, path: &str, notes: &mut Notes) {
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
}

/// Converts all texts of a prompt. Returns the names of parameters without a value.
fn convert_texts(
    prompt: &mut Mapping,
    path: &str,
    scope: TemplateScope<'_>,
    notes: &mut Notes,
) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for key in ["system_prompt", "template"] {
        missing.extend(rewrite_text(prompt, key, path, scope, notes));
    }
    if let Some(Tree::List(messages)) = prompt.get_mut("messages") {
        for (number, message) in messages.iter_mut().enumerate() {
            let Tree::Map(message) = message else { continue };
            let path = format!("{path}.messages[{number}]");
            join_parts(message, &path, notes);
            missing.extend(rewrite_text(message, "content", &path, scope, notes));
        }
    }
    missing
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

/// Converts the text of a key. Returns the names of parameters without a value.
fn rewrite_text(
    mapping: &mut Mapping,
    key: &str,
    path: &str,
    scope: TemplateScope<'_>,
    notes: &mut Notes,
) -> BTreeSet<String> {
    let Some(text) = mapping.text(key).map(str::to_owned) else { return BTreeSet::new() };
    let rewritten = rewrite(&text, scope);
    let place = path_of(path, key);
    for name in rewritten.unreadable {
        let message = format!("the template reads `{name}`, a result of the older program");
        notes.needs_work(place.clone(), message, mapping.comments_of(key)).help(
            "prompts of judges, and of helpers after `inference`, read the answer: `payload.model_output.answer`; a \
             field of the row is `row.NAME`",
        );
    }
    if rewritten.changes.is_empty() {
        return rewritten.missing;
    }
    for (old, new) in rewritten.changes {
        // `sample.get(…)` keeps its method.
        let message = format!("`{old}` is `{new}` in templates");
        let note = notes.changed(place.clone(), message, mapping.comments_of(key));
        if is_optional(&new) {
            note.help(
                "the text is empty for rows without this field, as before; look at `gage-host data preview NEW --rendered`",
            );
        }
    }
    mapping.set(key, Tree::text(rewritten.text));
    rewritten.missing
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
