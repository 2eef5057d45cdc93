//! `${runtime.…}`: values that a template of the older program took from a RunConfig.

use super::old_keys::path_of;
use crate::note::Notes;
use crate::tree::{Mapping, Tree};

const BEGINNING: &str = "${runtime.";

/// Replaces the references of a template by the defaults of its `parameters`. A setting of a task without a default is
/// left out, which was its meaning.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    let parameters = document.get("parameters").and_then(Tree::as_list).unwrap_or_default().to_vec();
    convert_mapping(document, "", &parameters, notes);
}

fn convert_mapping(mapping: &mut Mapping, path: &str, parameters: &[Tree], notes: &mut Notes) {
    for key in mapping.keys() {
        let place = path_of(path, &key);
        if place == "parameters" {
            continue;
        }
        let is_setting = ["tasks[", "custom", "builtin"].iter().any(|begin| path.starts_with(begin))
            && !key.ends_with("_id");
        match mapping.get_mut(&key).map(|value| convert_value(value, &place, parameters, notes)) {
            Some(Some(reference)) if is_setting => {
                mapping.remove(&key);
                let message = format!("`{key}` is left out: {reference} has no default");
                notes.dropped(place, message, &mut mapping.comments);
            }
            Some(Some(reference)) => {
                let message = format!("`{key}` is {reference}, which has no default");
                notes
                    .needs_work(place, message, mapping.comments_of(&key))
                    .help("write the value, or a variable: ${NAME:-default}");
            }
            Some(None) | None => {}
        }
    }
}

/// Replaces the reference that a value is, and those below it. Returns a reference without a default.
fn convert_value(value: &mut Tree, path: &str, parameters: &[Tree], notes: &mut Notes) -> Option<String> {
    match value {
        Tree::Map(mapping) => convert_mapping(mapping, path, parameters, notes),
        Tree::List(items) => {
            let mut unknown = None;
            for (number, item) in items.iter_mut().enumerate() {
                let found = convert_value(item, &format!("{path}[{number}]"), parameters, notes);
                unknown = unknown.or(found);
            }
            return unknown;
        }
        Tree::Scalar(_) | Tree::Variable(_) => {
            let text = value.as_text()?.to_owned();
            let reference = reference_in(&text)?.to_owned();
            let default = default_of(&reference, parameters).filter(|_| text == reference);
            let Some(default) = default else { return Some(reference) };
            *value = default;
        }
    }
    None
}

/// Returns the first reference in a text that has no default of its own.
fn reference_in(text: &str) -> Option<&str> {
    let start = text.find(BEGINNING)?;
    let reference = text[start..].split_inclusive('}').next()?;
    (reference.ends_with('}') && !reference.contains(":-")).then_some(reference)
}

/// Returns the default of a reference such as `${runtime.tasks.t.max_samples}`: that of the parameter of this name, or a
/// member of the default of `runtime.tasks.t`.
fn default_of(reference: &str, parameters: &[Tree]) -> Option<Tree> {
    let name = reference.strip_prefix("${")?.strip_suffix('}')?;
    parameters.iter().filter_map(Tree::as_map).find_map(|parameter| {
        let below = name.strip_prefix(parameter.text("name")?)?;
        let mut value = parameter.get("default")?;
        let members = below.strip_prefix('.').map(|members| members.split('.'));
        if members.is_none() && !below.is_empty() {
            return None;
        }
        for member in members.into_iter().flatten() {
            value = value.as_map()?.get(member)?;
        }
        Some(value.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::NoteSeverity;
    use serde_json::json;

    #[test]
    fn references_get_the_defaults_of_parameters() {
        let document = json!({
            "datasets": [{"params": {"path": "${runtime.datasets.d.path}", "limit": "${runtime.datasets.d.limit}"}}],
            "tasks": [{"max_samples": "${runtime.tasks.t.max_samples}", "repeat": "${runtime.tasks.t.repeat:-2}"}],
            "parameters": [{"name": "runtime.datasets.d", "default": {"path": "rows.jsonl"}}],
        });
        let Tree::Map(mut document) = Tree::of_json(document) else { panic!("a mapping") };
        let mut notes = Notes::default();
        convert(&mut document, &mut notes);
        let item = |key: &str| document.get(key)?.as_list()?.first()?.as_map();
        let params = item("datasets").and_then(|dataset| dataset.get("params")?.as_map());
        let path = params.and_then(|params| params.text("path"));
        assert_eq!(path, Some("rows.jsonl"));
        assert_eq!(item("tasks").map(Mapping::keys), Some(vec!["repeat".to_owned()]));
        let found: Vec<(NoteSeverity, String)> =
            notes.into_list().into_iter().map(|note| (note.severity, note.key)).collect();
        assert_eq!(
            found,
            [
                (NoteSeverity::NeedsWork, "datasets[0].params.limit".to_owned()),
                (NoteSeverity::Dropped, "tasks[0].max_samples".to_owned()),
            ]
        );
    }
}
