//! Suites with several models or prompts, and the choice of one of each.

use super::prompt_name::{is_name, refuse_name};
use super::{is_missing, set, take};
use crate::expand::Environment;
use crate::node::{Entry, Node, NodeValue};
use crate::overrides;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::SamplingParams;

/// The models and the prompts that a suite lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteChoices {
    /// Names of the models in a list under `model`. Empty if there is no list.
    pub models: Vec<String>,
    /// Names of the prompts in a list under `prompt`. Empty if there is no list.
    pub prompts: Vec<String>,
}

/// The keys that may have a list, each with the name of an item at a place.
const LISTS: [(&str, fn(&Node, usize) -> String); 2] = [("model", model_name), ("prompt", prompt_name)];

/// Returns the models and prompts of a document among which a run chooses.
pub fn choices(root: &Node) -> SuiteChoices {
    let [models, prompts] = LISTS.map(|(key, name)| {
        let items = root.get(key).and_then(Node::as_list).unwrap_or_default();
        items.iter().enumerate().map(|(place, item)| name(item, place)).collect()
    });
    SuiteChoices { models, prompts }
}

/// Returns the name of a model of a list.
fn model_name(node: &Node, place: usize) -> String {
    let name = node.as_text().or_else(|| node.text_of("name"));
    name.map_or_else(|| format!("model-{}", place + 1), str::to_owned)
}

/// Returns the name of a prompt of a list: its id, or else its place.
fn prompt_name(node: &Node, place: usize) -> String {
    let id = node.as_text().filter(|text| gage_core::check_name(text).is_ok());
    let id = id.or_else(|| node.text_of("prompt_id"));
    id.map_or_else(|| format!("prompt-{}", place + 1), str::to_owned)
}

/// Returns the ids of the entries of `prompts`.
pub(super) fn prompt_ids(root: &Node) -> Vec<String> {
    let prompts = root.get("prompts").and_then(Node::as_list).unwrap_or_default();
    prompts.iter().filter_map(|prompt| prompt.text_of("prompt_id").map(str::to_owned)).collect()
}

/// Returns the names that choose a prompt: those of a list under `prompt` or the id of its only one, and those of `prompts`.
fn known_prompts(root: &Node, prompt: &Node) -> Vec<String> {
    let mut known: Vec<String> = match prompt.as_list() {
        Some(items) => items.iter().enumerate().map(|(place, item)| prompt_name(item, place)).collect(),
        None => prompt.text_of("prompt_id").map(str::to_owned).into_iter().collect(),
    };
    for id in prompt_ids(root) {
        if !known.contains(&id) {
            known.push(id);
        }
    }
    known
}

/// Replaces the lists of models and of prompts by their first items.
pub(crate) fn keep_first(root: &mut Node) {
    for (key, _) in LISTS {
        let first = root.get(key).and_then(Node::as_list).and_then(<[Node]>::first).cloned();
        if let Some(first) = first {
            set_item(root, key, first);
        }
    }
}

/// Replaces the lists of models and of prompts by their first items, and reports lists with several.
pub(crate) fn keep_one(root: &mut Node, problems: &mut Problems) {
    for (key, name) in LISTS {
        let Some(items) = root.get(key).and_then(Node::as_list).filter(|items| items.len() > 1) else {
            continue;
        };
        let names: Vec<String> = items.iter().enumerate().map(|(place, item)| name(item, place)).collect();
        let repeated = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
        let span = root.get(key).map_or(root.span, |list| list.span);
        let source = problems.sources.get(span.source);
        let is_of_command = source.is_some_and(|source| source.name.starts_with("--set "));
        let needs = format!("{} {key}s, and this command needs one", items.len());
        if let Some((_, name)) = repeated {
            refuse_repeated(key, name, is_of_command, span, problems);
            continue;
        }
        // The user gave the option several times, and has not seen the list.
        let problem = match is_of_command {
            true => problems.error_without_place(format!("`--{key}` gives {needs}")),
            false => problems.error(span, key, format!("the suite lists {needs}")),
        };
        problem.help(format!("choose one with --{key}: {}", names.join(", ")));
    }
    keep_first(root);
}

/// Reports that a list names a model or a prompt twice.
fn refuse_repeated(key: &str, name: &str, is_of_command: bool, span: Span, problems: &mut Problems) {
    match is_of_command {
        true => problems.error_without_place(format!("`--{key}` names {name} twice")).help("name it once"),
        false => {
            let message = format!("the suite lists the {key} {name} twice");
            problems.error(span, key, message).help(match key {
                "prompt" => "list it once, or give each prompt its own `prompt_id`",
                _ => "list it once",
            })
        }
    };
}

/// Sets a key to an item of a list, with the text before its variables were replaced.
fn set_item(root: &mut Node, key: &str, mut item: Node) {
    let written = item.written.take();
    set(root, key, item);
    let entries = root.entries_mut().into_iter().flatten();
    for entry in entries.filter(|entry| entry.key == key) {
        entry.written.clone_from(&written);
    }
}

/// Returns true if an override changes `model`, `answers` or `prompt`, which are rewritten before the other overrides apply.
pub(crate) fn is_choice(text: &str) -> bool {
    let key = text.split('=').next().unwrap_or_default().trim();
    ["model", "answers", "prompt"].contains(&key.split('.').next().unwrap_or_default())
}

/// Applies an override of `model`, `answers` or `prompt`. The name of an entry of its list chooses this entry. Another model
/// keeps the sampling parameters of the suite's only model. Answers replace the model of the suite, and a model its answers.
pub(crate) fn apply(root: &mut Node, text: &str, environment: &Environment<'_>, problems: &mut Problems) {
    let key = text.split('=').next().unwrap_or_default().trim();
    match key {
        "model" => drop(take(root, "answers")),
        "answers" => drop(take(root, "model")),
        _ => {}
    }
    if key.starts_with("model.")
        && let Some(name) = root.get("model").filter(|model| model.as_text().is_some()).cloned()
    {
        let span = name.span;
        set(root, "model", Node::map(vec![Entry::new("name", name)], span));
    }
    let before = root.get(key).cloned();
    overrides::apply(root, text, environment, problems);
    let (Some(before), Some(chosen)) = (before, root.get(key)) else { return };
    let Some(name) = chosen.as_text().map(str::to_owned) else { return };
    let span = chosen.span;
    let name_of = if key == "model" { model_name } else { prompt_name };
    let listed = match &before.value {
        NodeValue::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&before),
    };
    let mut entries = listed.iter().enumerate().filter(|(place, item)| name_of(item, *place) == name);
    if let Some((_, item)) = entries.next() {
        // They may differ in more than their name, so that it chooses neither.
        if entries.next().is_some() {
            refuse_repeated(key, &name, false, before.span, problems);
        }
        set_item(root, key, item.clone());
        return;
    }
    if key == "prompt" && is_name(&name) && !prompt_ids(root).contains(&name) {
        let known = known_prompts(root, &before);
        refuse_name(&name, &known, span, problems);
        take(root, key);
        return;
    }
    if key != "model" || is_missing(&before, "name") {
        return;
    }
    let kept = before.as_map().unwrap_or_default().iter();
    let kept =
        kept.filter(|entry| entry.key == "max_tokens" || SamplingParams::NAMES.contains(&entry.key.as_str()));
    let model = [Entry::new("name", Node::text(name, span))].into_iter().chain(kept.cloned()).collect();
    set(root, key, Node::map(model, span));
}
