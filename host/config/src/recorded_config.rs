//! The suite recorded by a run, expanded and redacted. Some redacted values can be restored.

use crate::expand::{Environment, expand};
use crate::node::{Node, NodeValue};
use crate::overrides;
use crate::parse::{parse, plain_value};
use crate::permissions::Permissions;
use crate::pipeline::{PipelineConfig, load_document};
use crate::problems::Problems;
use crate::redacted::{digest_of, is_of_scoring, joined, name_of};
use crate::resources::Purpose;
use gage_secrets::SECRET_MARK;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// An unrecorded value that scoring needs, and that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingVariable {
    /// The path: `metrics[0].style.params.tone`.
    pub place: String,
    /// The variables that it was built from; empty if the value was in the suite itself.
    pub variables: Vec<String>,
    /// True if all of them are set, but their value differs from that in the run.
    pub is_other: bool,
}

impl fmt::Display for MissingVariable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingVariable { place, variables, is_other } = self;
        let names = variables.join(" and ");
        let is = if variables.len() == 1 { "is" } else { "are" };
        match (variables.is_empty(), is_other) {
            (true, _) => write!(
                formatter,
                "the value of `{place}` is a secret that was written in the suite itself, and was not recorded"
            ),
            (false, true) => write!(
                formatter,
                "`{place}` uses {names}, whose value differs from the one during the run: restore that value"
            ),
            (false, false) => write!(
                formatter,
                "`{place}` uses {names}, which was not recorded because it is a secret, and {is} not set: \
                 set it to its value during the run, or to its default in the suite"
            ),
        }
    }
}

/// A suite recorded by a run.
pub struct RecordedConfig {
    /// The suite, or `None` if this program cannot read it.
    pub config: Option<PipelineConfig>,
    /// The errors and warnings.
    pub problems: Problems,
    /// Values without which the answers cannot be scored as before.
    pub missing: Vec<MissingVariable>,
}

/// Reads the suite recorded by a run, so that its answers can be scored again. Redacted values are restored from
/// their variables if the digest in `redacted` matches. Settings for asking models are not restored, and only the plugins
/// must be allowed.
pub fn load_recorded_to_score(
    name: &str,
    document: &Value,
    redacted: &BTreeMap<String, String>,
    overrides: &[String],
    environment: &Environment<'_>,
    permissions: &Permissions,
) -> RecordedConfig {
    let mut problems = Problems::restricted(permissions.clone());
    let number = problems.sources.add(name, format!("{document:#}"));
    let Some(mut root) = parse(number, None, &mut problems) else {
        return RecordedConfig { config: None, problems, missing: Vec::new() };
    };
    keep_references(&mut root);
    // Overridden values need not be restored.
    for text in overrides {
        overrides::apply(&mut root, text, environment, &mut problems);
    }
    let mut missing = Vec::new();
    let found = FoundVariable { document, redacted, environment };
    found.restore(&mut root, &mut Vec::new(), &mut missing, &mut problems);
    problems.check_variables(&root);
    let config = load_document(root, &[], environment, Purpose::Plugins, &mut problems);
    RecordedConfig { config, problems, missing }
}

/// Reads the recorded suite without restoring values from variables. Returns `None` if this program cannot read it.
pub fn load_recorded(document: &Value) -> Option<PipelineConfig> {
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (redacted, permissions) = (BTreeMap::new(), Permissions::default());
    let name = "the suite of the run";
    let RecordedConfig { config, problems, .. } =
        load_recorded_to_score(name, document, &redacted, &[], &environment, &permissions);
    config.filter(|_| document.is_object() && !problems.has_errors())
}

/// Marks texts with `${…}` as written that way: they name values that were not recorded, and may be recorded again.
fn keep_references(node: &mut Node) {
    let written = |node: &Node| node.as_text().filter(|text| text.contains("${")).map(str::to_owned);
    match &mut node.value {
        NodeValue::List(items) => {
            for item in items {
                item.written = written(item);
                keep_references(item);
            }
        }
        NodeValue::Map(entries) => {
            for entry in entries {
                entry.written = written(&entry.node);
                keep_references(&mut entry.node);
            }
        }
        _ => {}
    }
}

struct FoundVariable<'r> {
    document: &'r Value,
    redacted: &'r BTreeMap<String, String>,
    environment: &'r Environment<'r>,
}

impl FoundVariable<'_> {
    fn restore(
        &self,
        node: &mut Node,
        path: &mut Vec<String>,
        missing: &mut Vec<MissingVariable>,
        problems: &mut Problems,
    ) {
        let place = joined(path);
        let is_lost = node.as_text().is_some_and(|text| text.contains("${") || text.contains(SECRET_MARK));
        if let Some(digest) = self.redacted.get(&place).filter(|_| is_lost)
            && is_of_scoring(path, |step| self.kind_of(step))
        {
            if !problems.resources.add_variables(node.as_text().unwrap_or_default(), node.span) {
                return;
            }
            match self.value_of(node, &place, digest) {
                Ok(value) => node.value = value,
                Err(one) => missing.push(one),
            }
            return;
        }
        match &mut node.value {
            // No requests are sent, so any address can replace an unrecorded one.
            NodeValue::Text(text) if is_lost_address(path, text) => *text = NO_ADDRESS.to_owned(),
            NodeValue::List(items) => {
                for (number, item) in items.iter_mut().enumerate() {
                    path.push(name_of(path, &item.to_json(), number));
                    self.restore(item, path, missing, problems);
                    path.pop();
                }
            }
            NodeValue::Map(entries) => {
                for entry in entries {
                    path.push(entry.key.clone());
                    self.restore(&mut entry.node, path, missing, problems);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// Returns the kind of a step by its path: `custom.steps[0]`, or `tasks.a.steps[0]`.
    fn kind_of(&self, path: &[String]) -> Option<String> {
        let mut value = self.document;
        for (depth, segment) in path.iter().enumerate() {
            value = match value {
                Value::Array(items) => {
                    let mut named = items.iter().enumerate();
                    named.find(|(number, item)| name_of(&path[..depth], item, *number) == *segment)?.1
                }
                other => other.get(segment)?,
            };
        }
        value["step"].as_str().map(str::to_owned)
    }

    /// Returns the value that a recorded text stands for.
    fn value_of(&self, node: &Node, place: &str, digest: &str) -> Result<NodeValue, MissingVariable> {
        let written = node.as_text().unwrap_or_default();
        let mut variables: Vec<String> = references(written);
        // Values that a RunConfig set itself were in a suite.
        if variables.iter().any(|name| name.starts_with("runtime.")) {
            variables.clear();
        }
        let is_set = |name: &String| (self.environment.variable)(name).is_some_and(|value| !value.is_empty());
        let is_other = !variables.is_empty() && variables.iter().all(is_set);
        let lacking = || MissingVariable { place: place.to_owned(), variables: variables.clone(), is_other };
        let text = expand(written, self.environment).map_err(|_| lacking())?.into_owned();
        let candidates = [NodeValue::Text(text.clone()), plain_value(&text)];
        let agrees =
            |value: &NodeValue| digest_of(place, &Node::new(value.clone(), node.span).to_json()) == digest;
        candidates.into_iter().find(agrees).ok_or_else(lacking)
    }
}

/// An invalid address.
const NO_ADDRESS: &str = "http://not-recorded.invalid";

/// Returns true if a text is an address of a backend, and parts of it were not recorded.
fn is_lost_address(path: &[String], text: &str) -> bool {
    let is_backend =
        path.first().is_some_and(|section| ["backends", "role_adapters"].contains(&section.as_str()));
    let is_address = path.last().is_some_and(|key| ["base_url", "proxy"].contains(&key.as_str()));
    is_backend && is_address && (text.contains("${") || text.contains(SECRET_MARK))
}

/// Returns the names of the variables in a text, without duplicates.
fn references(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split("${").skip(1).filter_map(|rest| rest.split([':', '}']).next()) {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::load;
    use crate::redacted::redacted_digests;

    const SUITE: &str = r#"
api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{dataset_id: d, loader: jsonl, params: {path: d.jsonl}}]
backends: [{backend_id: m, type: openai_http, config: {base_url: "http://h", model: m, extra_body: {token: literal-1}}}]
role_adapters: [{adapter_id: dut, role_type: dut_model, backend_id: m}]
metrics:
  - {regex_match: {pattern: "a ${STYLE_KEY}"}}
  - exact_match: {limit: "x"}
custom: {steps: [{step: inference}, {step: auto_eval}]}
"#;

    fn environment(variable: &dyn Fn(&str) -> Option<String>) -> Environment<'_> {
        Environment { variable, config_dir: ".".to_owned() }
    }

    #[test]
    fn redacted_value_is_restored_from_a_matching_variable() {
        let set = |_: &str| Some("short".to_owned());
        let (config, problems) = load("x", SUITE, &[], &environment(&set));
        assert!(!problems.has_errors(), "{}", problems.render(false));
        let config = config.unwrap();
        let redacted = redacted_digests(&config.redacted);
        assert_eq!(config.document["metrics"][0]["regex_match"]["pattern"], "a ${STYLE_KEY}");
        let places: Vec<&String> = redacted.keys().collect();
        assert_eq!(places, ["backends.m.config.extra_body.token", "metrics[0].regex_match.pattern"]);

        let again = |value: Option<&str>, document: &Value| {
            let variable = |_: &str| value.map(str::to_owned);
            let permissions = Permissions::default();
            load_recorded_to_score("x", document, &redacted, &[], &environment(&variable), &permissions)
        };
        let found = again(Some("short"), &config.document);
        assert_eq!(found.missing, []);
        let read = found.config.unwrap();
        assert_eq!(read.metrics[0].params.to_json()["pattern"], "a short");
        assert_eq!((&read.document, redacted_digests(&read.redacted).len()), (&config.document, 1));
        for (value, is_other, part) in
            [(None, false, "is not set"), (Some("long"), true, "whose value differs")]
        {
            let found = again(value, &config.document);
            let [missing] = found.missing.as_slice() else { panic!("{:?}", found.missing) };
            assert_eq!(
                (missing.variables.as_slice(), missing.is_other),
                (["STYLE_KEY".to_owned()].as_slice(), is_other)
            );
            assert!(missing.to_string().contains(part), "{missing}");
        }
        let mut literal = config.document.clone();
        literal["metrics"][0]["regex_match"]["pattern"] = "(secret)".into();
        let missing = again(Some("short"), &literal).missing;
        assert!(missing[0].to_string().contains("written in the suite itself"), "{missing:?}");
        assert_eq!(load_recorded(&config.document).unwrap().document, config.document);
    }
}
