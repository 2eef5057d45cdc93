//! `plugins[]`: third-party components, their permissions and resource limits.
//!
//! ```yaml
//! plugins:
//!   - id: vendor_backend
//!     source: ./vendor_backend.wasm
//!     sha256: 3f2c…                      # refused when the file is another one
//! #   source: oci://registry.example/metrics/word-recall:0.1.0     # a package of a registry
//!     grants:
//!       http:
//!         - host: api.example.com        # or host:port
//!           methods: [POST]
//!       secrets: [VENDOR_KEY]            # variables; the component never sees their values
//!       llm:
//!         - {role: helper, max_calls: 1000, max_tokens: 200000}
//!       media: true
//!     limits:
//!       fuel_per_item: 2000000000
//! ```

use crate::elements::PluginReference;
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::permissions::host_and_port;
use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::source::Span;
use gage_core::{Digest, OciReference};
use std::path::PathBuf;
use std::time::Duration;

/// An entry of `plugins`.
#[derive(Clone, Debug)]
pub struct PluginSpec {
    /// The name that other parts of the suite use.
    pub id: String,
    /// Source of the component.
    pub source: PluginSource,
    /// The required digest of its bytes.
    pub sha256: Option<Digest>,
    /// The digest of the component that a registry has now, if nothing pins it. It is known after a fetch.
    pub resolved: Option<Digest>,
    /// The permissions.
    pub grants: Grants,
    /// The resource limits.
    pub limits: PluginLimits,
    /// Spans of the entry and its parts.
    pub spans: PluginSpans,
}

/// Source of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// A bundled component, by its name: `text`.
    Bundled(String),
    /// A file, relative to the working folder.
    File(PathBuf),
    /// A package of a registry.
    Registry(OciReference),
}

/// Start of the address of a package.
pub(crate) const REGISTRY_SCHEME: &str = "oci://";

/// Spans of the parts of an entry.
#[derive(Clone, Copy, Debug)]
pub struct PluginSpans {
    /// The whole entry.
    pub entry: Span,
    /// The source.
    pub source: Span,
    /// The digest.
    pub sha256: Span,
    /// The grants.
    pub grants: Span,
}

/// Permissions of a plugin beyond its inputs; by default none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    /// Hosts that it may send requests to.
    pub http: Vec<HttpGrant>,
    /// Secrets that the host inserts on its behalf.
    pub secrets: Vec<SecretGrant>,
    /// Models of the run that it may call.
    pub llm: Vec<LlmGrant>,
    /// True if it may read the media of its samples.
    pub media: bool,
}

/// A host that a plugin may send requests to.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpGrant {
    /// A name or an address, in lower case, as written in a URL: `api.example.com`, `127.0.0.1`, `[::1]`.
    pub host: String,
    /// The port; default that of the scheme.
    pub port: Option<u16>,
    /// The methods, in upper case; default `GET` alone.
    pub methods: Vec<String>,
    /// True if the name may resolve to private and local addresses; default false. Hosts granted as addresses, and
    /// `localhost`, always may.
    pub private: bool,
    /// Timeout of a whole exchange; default 60 s.
    pub timeout: Duration,
    /// Maximum size of a response body in bytes; default 8 MiB.
    pub response_bytes: usize,
    /// Maximum number of concurrent requests; default 8.
    pub max_concurrency: usize,
}

/// A secret that the host inserts on behalf of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretGrant {
    /// The variable that holds it, which is also the name that the plugin uses.
    pub name: String,
    /// The hosts that it may be sent to; default: all granted hosts.
    pub hosts: Option<Vec<String>>,
    /// Span of the entry.
    pub span: Span,
}

/// A model of the run that a plugin may call.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmGrant {
    /// The `adapter_id` of its role.
    pub role: String,
    /// Maximum number of calls per run.
    pub max_calls: u64,
    /// Maximum number of prompt and answer tokens per run.
    pub max_tokens: u64,
    /// Span of the entry.
    pub span: Span,
}

/// Overrides of the default limits; see the documentation of each in the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginLimits {
    /// `memory_mib`, in bytes.
    pub memory_bytes: Option<usize>,
    /// `table_elements`
    pub table_elements: Option<usize>,
    /// `fuel_per_item`
    pub fuel_per_item: Option<u64>,
    /// `wall_time`, in seconds.
    pub wall_time: Option<Duration>,
    /// `wait_time`, in seconds.
    pub wait_time: Option<Duration>,
    /// `host_calls`
    pub host_calls: Option<u64>,
    /// `result_kib`, in bytes.
    pub result_bytes: Option<usize>,
    /// `sample_kib`, in bytes.
    pub sample_bytes: Option<usize>,
    /// `component_mib`, in bytes.
    pub component_bytes: Option<usize>,
}

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl PluginSpec {
    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<PluginSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let id = table.required_id("id", problems);
        if let Some(text) = id.as_deref().filter(|text| text.contains('.')) {
            // Elsewhere, a name with a dot is taken for a class path of the older program.
            table
                .error("id", format!("the id `{text}` of a plugin has a dot"), problems)
                .help("use letters, digits, `-` and `_`");
        }
        for key in ["class_path", "module_path"] {
            if let Some(node) = table.refused(key) {
                super::refuse_python(node.span, &table.path_of(key), &format!("`{key}`"), "metric", problems);
            }
        }
        let source = table.required_text("source", problems);
        let spans = PluginSpans {
            entry: node.span,
            source: table.span_of("source"),
            sha256: table.span_of("sha256"),
            grants: table.span_of("grants"),
        };
        let sha256 = table.text("sha256", problems).and_then(|text| {
            text.parse::<Digest>().map_err(|message| table.error("sha256", message, problems).severity).ok()
        });
        let grants_path = table.path_of("grants");
        let grants = table.get("grants").and_then(|node| Grants::read(node, grants_path, problems));
        let limits_path = table.path_of("limits");
        let limits = table.get("limits").and_then(|node| PluginLimits::read(node, limits_path, problems));
        let source_path = table.path_of("source");
        table.finish(problems);
        let source = PluginSource::read(spans.source, &source_path, &source?, problems)?;
        Some(PluginSpec {
            id: id?,
            source,
            sha256,
            resolved: None,
            grants: grants.unwrap_or_default(),
            limits: limits.unwrap_or_default(),
            spans,
        })
    }
}

impl PluginSpec {
    /// Returns true if a digest pins the component: its own, or that of the manifest of its package.
    pub fn is_pinned(&self) -> bool {
        let has_manifest = || match &self.source {
            PluginSource::Registry(reference) => reference.digest().is_some(),
            PluginSource::Bundled(_) | PluginSource::File(_) => false,
        };
        self.sha256.is_some() || has_manifest()
    }
}

impl PluginSource {
    fn read(span: Span, key: &str, text: &str, problems: &mut Problems) -> Option<PluginSource> {
        if text.starts_with(REGISTRY_SCHEME) {
            return PluginSource::read_registry(span, key, text, problems);
        }
        match PluginReference::read(span, key, text, "metric", problems)? {
            PluginReference::Name(name) => Some(PluginSource::Bundled(name)),
            PluginReference::File { path, member: None } => Some(PluginSource::File(path)),
            PluginReference::File { .. } | PluginReference::Member { .. } => {
                problems
                    .error(span, key, format!("`{text}` names a member; a source is a whole component"))
                    .help("write the file alone; metrics and others name the member as `id#member`");
                None
            }
        }
    }

    /// Reads the address of a package. Its host needs the permission of a hub.
    fn read_registry(span: Span, key: &str, text: &str, problems: &mut Problems) -> Option<PluginSource> {
        if let Some((whole, member)) = text.split_once('#') {
            problems
                .error(span, key, format!("`{text}` names a member; a source is a whole component"))
                .help(format!("write `{whole}`; metrics and others name the member as `id#{member}`"));
            return None;
        }
        let reference = match text.parse::<OciReference>() {
            Ok(reference) => reference,
            Err(error) => {
                problems
                    .error(span, key, error.to_string())
                    .help("write it like oci://registry.example/metrics/word-recall:0.1.0");
                return None;
            }
        };
        // Registries on this machine are asked without TLS.
        let scheme = if reference.is_loopback() { "http" } else { "https" };
        match ResourceKind::hub_of(&format!("{scheme}://{}", reference.registry())) {
            Some(hub) => problems.add_resource(span, key, hub),
            None => {
                let message = format!("`{}` is not the host of a registry", reference.registry());
                problems.error(span, key, message).help("write a host, or host:port");
                return None;
            }
        }
        Some(PluginSource::Registry(reference))
    }
}

impl Grants {
    /// Returns true if nothing is granted.
    pub fn is_empty(&self) -> bool {
        *self == Grants::default()
    }

    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<Grants> {
        let mut table = MappingReader::open(node, path, problems)?;
        let http = table.read_all("http", problems, HttpGrant::read);
        let secrets = table.read_all("secrets", problems, SecretGrant::read);
        let llm = table.read_all("llm", problems, LlmGrant::read);
        let media = table.boolean("media", problems).unwrap_or(false);
        let path = table.path_of("secrets");
        table.finish(problems);
        for secret in &secrets {
            let hosts = secret.hosts.iter().flatten();
            for host in hosts.filter(|host| !http.iter().any(|grant| grant.host == **host)) {
                problems
                    .error(
                        secret.span,
                        &path,
                        format!("the secret `{}` names the host `{host}`, which is not granted", secret.name),
                    )
                    .known(host, http.iter().map(|grant| grant.host.as_str()));
            }
            if http.is_empty() {
                problems
                    .error(
                        secret.span,
                        &path,
                        format!("the secret `{}` can be sent nowhere: no host is granted", secret.name),
                    )
                    .help("add the host to `http`, or remove the secret");
            }
        }
        Some(Grants { http, secrets, llm, media })
    }
}

impl HttpGrant {
    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<HttpGrant> {
        let mut table = MappingReader::open(node, path, problems)?;
        let text = table.required_text("host", problems);
        let span = table.get("host").map_or(node.span, |node| node.span);
        let methods = table.texts("methods", problems).unwrap_or_else(|| vec!["GET".to_owned()]);
        let methods: Vec<String> = methods.iter().map(|method| method.to_ascii_uppercase()).collect();
        for method in methods.iter().filter(|method| !METHODS.contains(&method.as_str())) {
            problems
                .error(
                    span,
                    &table.path_of("methods"),
                    format!("`{method}` is not a method that can be granted"),
                )
                .known(method, METHODS);
        }
        let private = table.boolean("private", problems).unwrap_or(false);
        let timeout = table.float("timeout", 0.001..=3600.0, problems).unwrap_or(60.0);
        let response = table.integer("response_kib", 1..=1 << 20, problems).unwrap_or(8 << 10);
        let concurrency = table.integer("max_concurrency", 1..=256, problems).unwrap_or(8);
        let key = table.path_of("host");
        table.finish(problems);
        let (host, port) = match host_and_port(&text?) {
            Ok(found) => found,
            Err(message) => {
                problems
                    .error(span, &key, message)
                    .help("write a host, or host:port: `api.example.com`, `127.0.0.1:8000`");
                return None;
            }
        };
        // Without a port, the grant is for the ports of both schemes.
        for port in port.map_or_else(|| vec![443, 80], |port| vec![port]) {
            problems.add_resource(span, &key, ResourceKind::Host { name: host.clone(), port });
        }
        Some(HttpGrant {
            host,
            port,
            methods,
            private,
            timeout: Duration::from_secs_f64(timeout),
            response_bytes: to_usize(response << 10),
            max_concurrency: to_usize(concurrency),
        })
    }
}

impl SecretGrant {
    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<SecretGrant> {
        let (name, hosts) = match &node.value {
            NodeValue::Text(name) => (name.clone(), None),
            _ => {
                let mut table = MappingReader::open(node, path.clone(), problems)?;
                let name = table.required_text("name", problems);
                let hosts = table.texts("hosts", problems);
                table.finish(problems);
                (name?, hosts)
            }
        };
        let is_variable = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
        if !is_variable {
            // The text is not repeated: it may be the secret itself.
            problems
                .error(
                    node.span,
                    &path,
                    "a secret is named by its environment variable; this is not the name of one",
                )
                .help("write `secrets: [MY_API_KEY]`, and set MY_API_KEY");
            return None;
        }
        problems.add_resource(node.span, &path, ResourceKind::Variable(name.clone()));
        let hosts = hosts.map(|hosts| hosts.iter().map(|host| host.to_ascii_lowercase()).collect());
        Some(SecretGrant { name, hosts, span: node.span })
    }
}

impl LlmGrant {
    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<LlmGrant> {
        let mut table = MappingReader::open(node, path, problems)?;
        let role = table.required_text("role", problems);
        table.required("max_calls", problems);
        let max_calls = table.integer("max_calls", 1..=u64::MAX, problems);
        table.required("max_tokens", problems);
        let max_tokens = table.integer("max_tokens", 1..=u64::MAX, problems);
        table.finish(problems);
        Some(LlmGrant { role: role?, max_calls: max_calls?, max_tokens: max_tokens?, span: node.span })
    }
}

impl PluginLimits {
    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<PluginLimits> {
        let mut table = MappingReader::open(node, path, problems)?;
        let (fuel_per_item, host_calls) = (
            table.integer("fuel_per_item", 1..=1 << 60, problems),
            table.integer("host_calls", 1..=1 << 40, problems),
        );
        let mut seconds = |key, most| table.float(key, 0.01..=most, problems).map(Duration::from_secs_f64);
        let (wall_time, wait_time) = (seconds("wall_time", 3600.0), seconds("wait_time", 86_400.0));
        let mut size = |key, unit: u32, most: u64| {
            table.integer(key, 1..=most, problems).map(|number| to_usize(number << unit))
        };
        let limits = PluginLimits {
            fuel_per_item,
            host_calls,
            wall_time,
            wait_time,
            memory_bytes: size("memory_mib", 20, 4095),
            table_elements: size("table_elements", 0, 1_000_000),
            result_bytes: size("result_kib", 10, 1 << 20),
            sample_bytes: size("sample_kib", 10, 1 << 20),
            component_bytes: size("component_mib", 20, 1 << 10),
        };
        table.finish(problems);
        Some(limits)
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Environment, load};

    /// Reads a suite with one plugin and one metric.
    fn read(plugin: &str, metric: &str) -> (Option<Vec<PluginSpec>>, Problems) {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\nplugins: [{plugin}]\nmetrics: ['{metric}']\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: d.jsonl}}}}]\n\
             backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: m.gguf}}}}]\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
             custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]}}\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("suite.yaml", &text, &[], &environment);
        (config.filter(|_| !problems.has_errors()).map(|config| config.plugins), problems)
    }

    #[test]
    fn package_needs_the_permission_of_its_registry() {
        for (address, name, port) in [
            ("oci://registry.example/metrics/word-recall:0.1.0", "registry.example", 443),
            ("oci://registry.example:5000/words:1", "registry.example", 5000),
            ("oci://127.0.0.1:5055/words:1", "127.0.0.1", 5055),
            ("oci://localhost/words:1", "localhost", 80),
        ] {
            let (plugins, problems) = read(&format!("{{id: words, source: '{address}'}}"), "exact_match");
            let plugins = plugins.unwrap_or_else(|| panic!("{}", problems.render(false)));
            let [spec] = plugins.as_slice() else { panic!("{plugins:?}") };
            let expected: OciReference = address.parse().expect("a reference");
            assert_eq!(spec.source, PluginSource::Registry(expected));
            let hub = ResourceKind::Hub { name: name.to_owned(), port };
            let mut used = problems.resources.used();
            assert!(used.any(|one| one.kind == hub && one.key == "plugins[0].source"), "{address}");
        }
    }

    #[test]
    fn digest_of_the_component_or_of_the_manifest_pins() {
        let digest = "9c".repeat(32);
        for (entry, is_pinned) in [
            ("source: 'oci://r.example/w:1'".to_owned(), false),
            (format!("source: 'oci://r.example/w:1', sha256: {digest}"), true),
            (format!("source: 'oci://r.example/w@sha256:{digest}'"), true),
            ("source: ./w.wasm".to_owned(), false),
        ] {
            let (plugins, problems) = read(&format!("{{id: words, {entry}}}"), "exact_match");
            let plugins = plugins.unwrap_or_else(|| panic!("{}", problems.render(false)));
            assert_eq!(plugins.first().map(PluginSpec::is_pinned), Some(is_pinned), "{entry}");
        }
    }

    #[test]
    fn only_plugins_name_whole_packages() {
        let words = "{id: words, source: ./w.wasm}";
        let package = "oci://r.example/w:1";
        for (plugin, metric, expected) in [
            ("{id: words, source: 'oci://r.example/w'}", "exact_match", "oci://"),
            ("{id: words, source: 'oci://R.example/W:1'}", "exact_match", "write it like oci://"),
            ("{id: words, source: 'oci://r.example/w:1#m'}", "exact_match", "write `oci://r.example/w:1`"),
            (words, package, "add {id: my_plugin, source: oci://r.example/w:1} to `plugins`"),
            (words, "oci://r.example/w:1#m", "write `my_plugin#m` here"),
        ] {
            let (plugins, problems) = read(plugin, metric);
            let shown = problems.render(false);
            assert!(plugins.is_none() && shown.contains(expected), "{plugin} {metric}\n{shown}");
            assert!(shown.contains("suite.yaml:3:") || shown.contains("suite.yaml:4:"), "{shown}");
        }
    }
}
