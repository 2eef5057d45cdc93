//! What a suite uses outside its text: environment variables, files and hosts.

use crate::node::{Node, NodeValue};
use crate::permissions::{Permissions, Refusal};
use crate::placeholder::variable_names;
use crate::source::Span;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use url::Url;

/// What a suite is read for. Only the resources that this needs must be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// All of it is needed.
    Run,
    /// Its datasets and plugins are needed; the tasks may be missing.
    Datasets,
    /// Its plugins are needed.
    Plugins,
    /// What its requests are built from is needed: the plugins of roles and judges, and the entries of `plugins`. These are
    /// all read, because only a component says which plugins it has.
    Requests,
}

impl Purpose {
    fn needs(self, resource: &SuiteResource) -> bool {
        let is_of = |section: &str| resource.key.starts_with(section);
        match self {
            Purpose::Run => true,
            Purpose::Datasets => is_of("datasets[") || is_of("plugins["),
            Purpose::Plugins => matches!(resource.kind, ResourceKind::Component(_)) || is_of("plugins["),
            Purpose::Requests => {
                // The Samples and the replies of backends are recorded, and nothing is scored.
                let is_recorded = ["metrics[", "datasets[", "backends["].into_iter().any(is_of)
                    || [".metric_overrides[", ".backend."].iter().any(|part| resource.key.contains(part));
                let is_component = matches!(resource.kind, ResourceKind::Component(_));
                (is_component && !is_recorded) || is_of("plugins[")
            }
        }
    }
}

/// A thing outside a suite's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// An environment variable.
    Variable(String),
    /// A file or a folder, as the suite names it.
    File(PathBuf),
    /// The file of a component.
    Component(PathBuf),
    /// A host that requests are sent to.
    Host {
        /// The name or the address, as in a URL.
        name: String,
        /// The port.
        port: u16,
    },
    /// The host of a hub, which datasets or models are fetched from.
    Hub {
        /// The name or the address, as in a URL.
        name: String,
        /// The port.
        port: u16,
    },
    /// The variable [`HUB_TOKEN_VARIABLE`]. It is never refused: requests are sent without the token if the variable may
    /// not be read.
    HubToken,
}

impl ResourceKind {
    /// Returns the host of an address, or `None` if the address is invalid.
    pub(crate) fn host_of(address: &str) -> Option<ResourceKind> {
        let (name, port) = authority(address)?;
        Some(ResourceKind::Host { name, port })
    }

    /// Returns the host of a hub's address, or `None` if the address is invalid.
    pub(crate) fn hub_of(address: &str) -> Option<ResourceKind> {
        let (name, port) = authority(address)?;
        Some(ResourceKind::Hub { name, port })
    }
}

/// The environment variable with the user's token of the hub of `hub:` references.
pub const HUB_TOKEN_VARIABLE: &str = "HF_TOKEN";

/// Returns the address of the hub of `hub:` references: that of `HF_ENDPOINT`, or else Hugging Face's.
pub fn hub_endpoint() -> String {
    let set = std::env::var("HF_ENDPOINT").ok().filter(|text| !text.trim().is_empty());
    set.unwrap_or_else(|| "https://huggingface.co".to_owned())
}

/// Returns the host of an address, as HTTP clients read it, and the port.
fn authority(address: &str) -> Option<(String, u16)> {
    let url = Url::parse(address).ok()?;
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}

/// A use of a thing outside a suite's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteResource {
    /// The thing.
    pub kind: ResourceKind,
    /// The key that names it, as a path: `datasets[0].params.path`.
    pub key: String,
    /// Span of the value.
    pub span: Span,
}

impl SuiteResource {
    fn check(&self, permissions: &Permissions) -> Result<(), Refusal> {
        match &self.kind {
            ResourceKind::Variable(name) => permissions.check_env(name),
            ResourceKind::File(path) | ResourceKind::Component(path) => permissions.check_file(path),
            ResourceKind::Host { name, port } => permissions.check_host(name, *port),
            ResourceKind::Hub { name, port } => permissions.check_hub(name, *port),
            ResourceKind::HubToken => Ok(()),
        }
    }
}

/// A resource that the suite may not use.
pub(crate) type RefusedResource = (SuiteResource, Refusal);

/// Everything that a suite uses outside its text, and what it may use.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    permissions: Permissions,
    used: Vec<SuiteResource>,
    /// Variables of texts whose keys are not known yet.
    unnamed: Vec<(String, Span)>,
    /// Resources that were not checked yet.
    unchecked: Vec<SuiteResource>,
    /// Spans of the texts that were not expanded, because a variable in them was refused.
    unexpanded: HashSet<Span>,
    is_refused: bool,
}

impl Resources {
    pub(crate) fn restricted(permissions: Permissions) -> Resources {
        Resources { permissions, ..Resources::default() }
    }

    /// Returns what the suite may use.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Returns true if the suite uses something that it may not use.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Iterates over everything that the suite uses.
    pub fn used(&self) -> impl Iterator<Item = &SuiteResource> {
        self.used.iter().chain(&self.unchecked)
    }

    pub(crate) fn add(&mut self, resource: SuiteResource) {
        self.unchecked.push(resource);
    }

    /// Adds the variables of a text before it is expanded. Returns false if it may not be expanded.
    pub(crate) fn add_variables(&mut self, text: &str, span: Span) -> bool {
        let names: BTreeSet<&str> = variable_names(text).collect();
        let is_allowed = names.iter().all(|name| self.permissions.check_env(name).is_ok());
        self.unnamed.extend(names.into_iter().map(|name| (name.to_owned(), span)));
        if !is_allowed {
            self.unexpanded.insert(span);
        }
        is_allowed
    }

    /// Names the keys of all variables that were added since the last call, by the document that they are in. Returns
    /// those that may not be read.
    pub(crate) fn name_variables(&mut self, root: &Node) -> Vec<RefusedResource> {
        let unnamed = std::mem::take(&mut self.unnamed);
        let mut keys: HashMap<Span, String> =
            unnamed.iter().map(|(_, span)| (*span, String::new())).collect();
        if !keys.is_empty() {
            find_keys(root, &mut String::new(), &mut keys);
        }
        let named = unnamed.into_iter().map(|(name, span)| SuiteResource {
            kind: ResourceKind::Variable(name),
            key: keys.get(&span).cloned().unwrap_or_default(),
            span,
        });
        self.check_all(named.collect())
    }

    /// Names the key of all variables that were added since the last call, for a text from the command line. Returns
    /// those that may not be read.
    pub(crate) fn name_variables_of(&mut self, key: &str, span: Span) -> Vec<RefusedResource> {
        let unnamed = std::mem::take(&mut self.unnamed);
        if unnamed.iter().any(|(_, span)| self.unexpanded.contains(span)) {
            self.unexpanded.insert(span);
        }
        let named = unnamed.into_iter().map(|(name, _)| SuiteResource {
            kind: ResourceKind::Variable(name),
            key: key.to_owned(),
            span,
        });
        self.check_all(named.collect())
    }

    /// Checks the resources that a purpose needs, each once. Returns those that may not be used.
    pub(crate) fn check(&mut self, purpose: Purpose) -> Vec<RefusedResource> {
        let unchecked = std::mem::take(&mut self.unchecked);
        let (needed, others) = unchecked.into_iter().partition(|resource| purpose.needs(resource));
        self.unchecked = others;
        self.check_all(needed)
    }

    /// Checks what a suite that was read before uses. Returns those that may not be used.
    pub(crate) fn check_used(&mut self, suite: &Resources, purpose: Purpose) -> Vec<RefusedResource> {
        let needed = suite.used().filter(|resource| purpose.needs(resource)).cloned();
        self.check_all(needed.collect())
    }

    /// Returns true if the text at a span was not expanded, because a variable in it was refused.
    pub(crate) fn is_unexpanded(&self, span: Span) -> bool {
        self.unexpanded.contains(&span)
    }

    /// Checks some resources. Returns those that may not be used.
    pub(crate) fn check_all(&mut self, resources: Vec<SuiteResource>) -> Vec<RefusedResource> {
        // The path or the address of a text that was not expanded is unknown.
        let is_known = |resource: &SuiteResource| {
            matches!(resource.kind, ResourceKind::Variable(_)) || !self.is_unexpanded(resource.span)
        };
        let mut refused: Vec<RefusedResource> = resources
            .iter()
            .filter(|resource| is_known(resource))
            .filter_map(|resource| Some((resource.clone(), resource.check(&self.permissions).err()?)))
            .collect();
        // A host without a port is used at the ports of both schemes.
        refused.dedup_by(|(later, refusal), (first, other)| later.span == first.span && refusal == other);
        self.is_refused |= !refused.is_empty();
        self.used.extend(resources);
        refused
    }
}

/// Sets the keys of the values at some spans. `path` is the key of the node.
fn find_keys(node: &Node, path: &mut String, keys: &mut HashMap<Span, String>) {
    let length = path.len();
    match &node.value {
        NodeValue::List(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push_str(&format!("[{place}]"));
                find_keys(item, path, keys);
                path.truncate(length);
            }
        }
        NodeValue::Map(entries) => {
            for entry in entries {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(&entry.key);
                find_keys(&entry.node, path, keys);
                path.truncate(length);
            }
        }
        _ => {
            if let Some(key) = keys.get_mut(&node.span).filter(|key| key.is_empty()) {
                path.clone_into(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_no_plugins_that_score() {
        for (key, [for_requests, for_plugins]) in [
            ("metrics[0].implementation", [false, true]),
            ("metrics[0].aggregation", [false, true]),
            ("tasks[2].metric_overrides[0]", [false, true]),
            ("datasets[0].params.preprocess", [false, true]),
            ("backends[0].config.component", [false, true]),
            ("role_adapters[1].backend.config.component", [false, true]),
            ("role_adapters[1].adapter", [true, true]),
            ("custom.steps[1].judge", [true, true]),
            ("plugins[0].source", [true, true]),
        ] {
            let kind = ResourceKind::Component(PathBuf::from("/elsewhere/plugin.wasm"));
            let span = Span { source: 0, start: 0, end: 0 };
            let resource = SuiteResource { kind, key: key.to_owned(), span };
            let needs = [Purpose::Requests, Purpose::Plugins].map(|purpose| purpose.needs(&resource));
            assert_eq!(needs, [for_requests, for_plugins], "{key}");
        }
    }
}
