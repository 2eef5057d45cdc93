//! Variables of a suite that hold secrets.

use crate::files;
use crate::run_config::find_template;
use gage_config::{Node, NodeValue, Permissions, Problems, SecretContext, is_secret_name, parse_document};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the names of the variables that supply secrets to the backends of a suite, and of its template if it
/// binds one. These are all variables below secret keys, and those with secret names; those with a default are
/// excluded. Empty if the suite cannot be read, which is reported when it is used.
pub fn secret_variables(path: &Path, permissions: &Permissions) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Some(root) = raw(path) else { return names };
    collect_names(&root, &mut Vec::new(), false, &mut names);
    if root.text_of("kind") == Some("RunConfig") {
        let own = files::folder_of(path);
        let template = match root.text_of("template_path") {
            Some(text) => Some(PathBuf::from(text.replace("${config_dir}", &files::shown_folder(&own)))),
            None => root
                .text_of("base_task")
                .and_then(|base| base.strip_prefix("builtin/"))
                .zip(root.text_of("template_version"))
                .and_then(|(name, version)| find_template(&own, name, version)),
        };
        let template = template.filter(|path| permissions.check_file(path).is_ok());
        if let Some(template) = template.and_then(|path| raw(&path)) {
            collect_names(&template, &mut Vec::new(), false, &mut names);
        }
    }
    names
}

/// Returns the names of the variables in a text without a default.
pub fn without_default(text: &str) -> impl Iterator<Item = &str> {
    let placeholders = text.split("${").skip(1);
    placeholders
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name).filter(|name| !name.contains(':')))
}

fn raw(path: &Path) -> Option<Node> {
    let text = files::read(path).ok()?;
    parse_document(&path.display().to_string(), &text, None, &mut Problems::default())
}

fn collect_names<'n>(node: &'n Node, keys: &mut Vec<&'n str>, is_secret: bool, names: &mut BTreeSet<String>) {
    match &node.value {
        NodeValue::Map(entries) => {
            let beside = SecretContext::new(entries, keys);
            for entry in entries {
                // The value is the name of a variable.
                let named = entry.node.as_text().filter(|_| entry.key == "api_key_env");
                names.extend(named.map(str::to_owned));
                let is_own = beside.is_secret(entry);
                keys.push(&entry.key);
                collect_names(&entry.node, keys, is_secret || is_own, names);
                keys.pop();
            }
        }
        NodeValue::List(items) => {
            keys.push("");
            items.iter().for_each(|item| collect_names(item, keys, is_secret, names));
            keys.pop();
        }
        NodeValue::Text(text) => {
            // Everywhere else a value may change requests and scores.
            if !keys.iter().any(|key| matches!(*key, "backends" | "backend")) {
                return;
            }
            let found = without_default(text).filter(|name| is_secret || is_secret_name(name));
            names
                .extend(found.filter(|name| *name != "config_dir" && !name.contains('.')).map(str::to_owned));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_of_backends_without_a_default_are_optional() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("suite.yaml");
        let text = "backends:
  - {backend_id: a, config: {api_key: '${ONE}', headers: {x: 'Bearer ${TWO_TOKEN}'}, model: '${MODEL}'}}
  - {backend_id: b, config: {api_key: '${THREE:-sk-3}', extra_body: {key: '${FOUR_KEY}'}}}
role_adapters:
  - {adapter_id: c, backend: {config: {api_key_env: FIVE}}}
metrics: [{implementation: regex_match, params: {pattern: '${ANSWER_KEY}'}}]
prompts: [{prompt_id: p, params: {how: '${HOW_TOKEN:-shortly}'}}]
";
        std::fs::write(&path, text).expect("written");
        let found: Vec<String> = secret_variables(&path, &Permissions::default()).into_iter().collect();
        assert_eq!(found, ["FIVE", "FOUR_KEY", "ONE", "TWO_TOKEN"]);
    }
}
