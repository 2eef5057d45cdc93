//! What a suite uses outside its own folder: variables, files, hosts, and plugins with their grants.

use gage_config::{
    AllowedResources, Grants, HUB_TOKEN_VARIABLE, HttpGrant, Permissions, PipelineConfig, PluginSource,
    ResourceKind,
};
use gage_core::Digest;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// What a suite uses outside its own folder.
#[derive(Debug, Default, Serialize)]
pub(super) struct SuiteUses {
    /// Environment variables, those of keys and grants included.
    variables: BTreeSet<String>,
    /// Files and folders outside the suite's folder.
    files: BTreeSet<String>,
    /// Hosts, with the port if it is not that of the scheme.
    hosts: BTreeSet<String>,
    plugins: Vec<UsedPlugin>,
}

/// A plugin, with its grants in words.
#[derive(Debug, Serialize)]
struct UsedPlugin {
    /// Its id in the suite. `None` for a component that the suite names by its file alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    source: String,
    /// The digest that its component must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
    grants: Vec<String>,
}

impl SuiteUses {
    /// Collects what a suite in a folder uses.
    pub(super) fn new(config: &PipelineConfig, folder: &Path) -> SuiteUses {
        let own_folder = Permissions::restricted(AllowedResources::default()).with_folder(folder);
        let mut uses = SuiteUses::default();
        for plugin in &config.plugins {
            let source = match &plugin.source {
                PluginSource::Bundled(name) => name.clone(),
                PluginSource::File(path) => path.display().to_string(),
                PluginSource::Registry(reference) => reference.to_string(),
            };
            uses.plugins.push(UsedPlugin {
                id: Some(plugin.id.clone()),
                source,
                sha256: plugin.sha256,
                grants: grants_of(&plugin.grants),
            });
        }
        for resource in config.resources.used() {
            match &resource.kind {
                ResourceKind::Variable(name) => {
                    uses.variables.insert(name.clone());
                }
                ResourceKind::HubToken => {
                    uses.variables.insert(HUB_TOKEN_VARIABLE.to_owned());
                }
                ResourceKind::Host { name, port } | ResourceKind::Hub { name, port } => {
                    uses.hosts.insert(match port {
                        80 | 443 => name.clone(),
                        port => format!("{name}:{port}"),
                    });
                }
                ResourceKind::File(path) | ResourceKind::Component(path) => {
                    let shown = path.display().to_string();
                    if own_folder.check_file(path).is_err() {
                        uses.files.insert(shown.clone());
                    }
                    let is_component = matches!(resource.kind, ResourceKind::Component(_));
                    if is_component && !uses.plugins.iter().any(|plugin| plugin.source == shown) {
                        uses.plugins.push(UsedPlugin {
                            id: None,
                            source: shown,
                            sha256: None,
                            grants: Vec::new(),
                        });
                    }
                }
            }
        }
        uses
    }

    /// Returns each kind of use with its entries. Kinds without any are left out.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let listed = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        let plugins: Vec<String> = self.plugins.iter().map(UsedPlugin::shown).collect();
        let kinds = [
            ("variables", listed(&self.variables)),
            ("files", listed(&self.files)),
            ("hosts", listed(&self.hosts)),
            ("plugins", plugins.join("; ")),
        ];
        let shown = kinds.into_iter().filter(|(_, entries)| !entries.is_empty());
        shown.map(|(kind, entries)| (kind, gage_core::printable_line(&entries).into_owned())).collect()
    }
}

impl UsedPlugin {
    fn shown(&self) -> String {
        let name = match &self.id {
            Some(id) if *id != self.source => format!("{id} ({})", self.source),
            _ => self.source.clone(),
        };
        match self.grants.is_empty() {
            true => name,
            false => format!("{name} with {}", self.grants.join(", ")),
        }
    }
}

/// Returns the grants of a plugin in words.
fn grants_of(grants: &Grants) -> Vec<String> {
    let host = |grant: &HttpGrant| match grant.port {
        Some(port) => format!("{}:{port}", grant.host),
        None => grant.host.clone(),
    };
    let http = grants.http.iter().map(|grant| format!("http {} {}", grant.methods.join("|"), host(grant)));
    let secrets = grants.secrets.iter().map(|grant| format!("secret {}", grant.name));
    let llm = grants
        .llm
        .iter()
        .map(|grant| format!("llm {} ({} calls, {} tokens)", grant.role, grant.max_calls, grant.max_tokens));
    let media = grants.media.then(|| "media".to_owned());
    http.chain(secrets).chain(llm).chain(media).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::Environment;

    #[test]
    fn hubs_are_listed_also_if_offline_and_with_their_token() {
        let text = "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{dataset_id: d, loader: hf_hub, params: {hub_id: o/n, endpoint: 'http://127.0.0.1:9', \
             offline: true}}]\n\
             backends: [{backend_id: b, type: llama_cpp, config: {model_path: 'hub:o/n/m.gguf'}}]\n\
             role_adapters: [{adapter_id: r, role_type: dut_model, backend_id: b}]\n\
             custom: {steps: [{step: inference}]}\n";
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = gage_config::load("suite.yaml", text, &[], &environment);
        let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
        let uses = SuiteUses::new(&config, Path::new("."));
        assert!(uses.variables.contains("HF_TOKEN"), "{uses:?}");
        assert!(uses.hosts.contains("127.0.0.1:9"), "{uses:?}");
    }
}
