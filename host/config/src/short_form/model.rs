//! `model`: a model under test that is named by its provider or its file.

use super::steps::ask_for_likelihoods;
use super::{MODEL_ROLE, model_roles, push, set, take};
use crate::expand::Environment;
use crate::node::{Entry, Node, NodeValue};
use crate::parse::expand_node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::SamplingParams;

/// Id of the backend that `model` stands for.
const BACKEND_ID: &str = "model";

/// Its id if another backend has the first one.
const OTHER_BACKEND_ID: &str = "model_under_test";

/// Id of the role that `model` stands for, if the suite has none for the model under test.
const ROLE_ID: &str = "dut";

/// A provider of models.
struct Provider {
    /// What a model's name begins with.
    prefix: &'static str,
    /// Type of the backend.
    backend_type: &'static str,
    /// The variable with the key.
    key_variable: &'static str,
    /// The variable with the address of the server, if it is not the provider's own.
    address_variable: Option<&'static str>,
}

const PROVIDERS: [Provider; 3] = [
    Provider {
        prefix: "openai:",
        backend_type: "openai_http",
        key_variable: "OPENAI_API_KEY",
        address_variable: Some("OPENAI_BASE_URL"),
    },
    Provider {
        prefix: "anthropic:",
        backend_type: "anthropic_http",
        key_variable: "ANTHROPIC_API_KEY",
        address_variable: None,
    },
    Provider {
        prefix: "gemini:",
        backend_type: "gemini_http",
        key_variable: "GEMINI_API_KEY",
        address_variable: None,
    },
];

const FORMS: &str = "write openai:MODEL, anthropic:MODEL, gemini:MODEL, openai:MODEL@http://HOST:PORT/v1 for another \
                     server, the path of a .gguf file, or hub:OWNER/NAME/FILE.gguf";

/// Adds the backend that `model` stands for. It answers for every role of the model under test, in place of the backend
/// that the role has.
pub(super) fn expand(
    root: &mut Node,
    entry: Entry,
    environment: Option<&Environment<'_>>,
    problems: &mut Problems,
) {
    let span = entry.node.span;
    let (name, written, settings) = match entry.node.value {
        NodeValue::Text(name) => (name, entry.written, Vec::new()),
        NodeValue::Map(mut entries) => {
            let place = entries.iter().position(|entry| entry.key == "name");
            let Some(name) = place.map(|place| entries.remove(place)) else {
                problems.error(span, "model", "`model` needs the key `name`").help(FORMS);
                return;
            };
            let Some(text) = name.node.as_text() else {
                problems.error(name.node.span, "model.name", "`name` must be a string").help(FORMS);
                return;
            };
            (text.to_owned(), name.written, entries)
        }
        _ => {
            problems.error(span, "model", wrong_form("model", &entry.node)).help(FORMS);
            return;
        }
    };
    let Some((backend_type, mut config)) = named(&name, written, span, &settings, environment, problems)
    else {
        return;
    };
    let has_source = settings.iter().any(|entry| entry.key == "loglikelihood");
    if backend_type == "openai_http" && !has_source && ask_for_likelihoods(root) {
        config.push(Entry::new("loglikelihood", Node::text("echo", span)));
    }
    let is_sampling = |key: &str| key == "max_tokens" || SamplingParams::NAMES.contains(&key);
    let (mut params, further): (Vec<Entry>, Vec<Entry>) =
        settings.into_iter().partition(|entry| is_sampling(&entry.key));
    config.extend(further);
    for inherited in take_backends(root) {
        if !params.iter().any(|entry| entry.key == inherited.key) {
            params.push(inherited);
        }
    }
    add_params(&mut config, params, span);
    add_backend(root, [BACKEND_ID, OTHER_BACKEND_ID], backend_type, config, span);
}

/// Describes a value of a key that may have a string, a mapping, or a list of them.
pub(super) fn wrong_form(key: &str, node: &Node) -> String {
    match &node.value {
        NodeValue::List(items) if items.is_empty() => {
            format!("`{key}` is an empty list, and needs at least one")
        }
        _ => format!("`{key}` must be a string, a mapping, or a list of them, found {}", node.kind()),
    }
}

/// Adds a backend that answers for every role of the model under test. Its id is the second one if another backend has the
/// first.
pub(super) fn add_backend(
    root: &mut Node,
    [id, other_id]: [&'static str; 2],
    backend_type: &'static str,
    config: Vec<Entry>,
    span: Span,
) {
    let backends = root.get("backends").and_then(Node::as_list).unwrap_or_default();
    let is_taken = backends.iter().any(|backend| backend.text_of("backend_id") == Some(id));
    let id = if is_taken { other_id } else { id };
    ask(root, id, span);
    let backend = vec![
        Entry::new("backend_id", Node::text(id, span)),
        Entry::new("type", Node::text(backend_type, span)),
        Entry::new("config", Node::map(config, span)),
    ];
    push(root, "backends", Node::map(backend, span));
}

/// Returns the type of the backend, and the part of its `config` that the name of the model decides.
fn named(
    name: &str,
    written: Option<String>,
    span: Span,
    settings: &[Entry],
    environment: Option<&Environment<'_>>,
    problems: &mut Problems,
) -> Option<(&'static str, Vec<Entry>)> {
    let file = name.rsplit_once('@').map_or(name, |(file, _)| file);
    if name.starts_with("hub:") || [name, file].iter().any(|name| name.ends_with(".gguf")) {
        let path = Entry { written, ..Entry::new("model_path", Node::text(name, span)) };
        return Some(("llama_cpp", vec![path]));
    }
    if let Some(address) = name.strip_prefix("tgi:") {
        return Some(("tgi", vec![Entry::new("base_url", Node::text(address, span))]));
    }
    let provider = PROVIDERS.iter().find(|provider| name.starts_with(provider.prefix));
    let Some(provider) = provider.filter(|provider| name.len() > provider.prefix.len()) else {
        let shown = if name.is_empty() { "an empty text".to_owned() } else { format!("`{name}`") };
        problems.error(span, "model", format!("{shown} does not name a model")).help(FORMS);
        return None;
    };
    let asked = &name[provider.prefix.len()..];
    let address = ["@http://", "@https://"].iter().find_map(|mark| asked.find(mark));
    if address.is_none()
        && let Some((model, server)) = asked.rsplit_once('@').filter(|(_, server)| is_server(server))
    {
        let message = format!("the address of `{name}` has neither http:// nor https://");
        let is_whole = server.contains('/') || provider.prefix != "openai:";
        let path = if is_whole { "" } else { "/v1" };
        let help = format!("write {}{model}@http://{server}{path}", provider.prefix);
        problems.error(span, "model", message).help(help);
        return None;
    }
    let mut config = vec![Entry::new("model", Node::text(&asked[..address.unwrap_or(asked.len())], span))];
    match address {
        Some(place) => config.push(Entry::new("base_url", Node::text(&asked[place + 1..], span))),
        None if settings.iter().any(|entry| entry.key == "base_url") => {}
        None => config.extend(provider.access(settings, span, environment, problems)),
    }
    Some((provider.backend_type, config))
}

/// Returns whether the text after an `@` is an address, as in `localhost:8000`, rather than a part of a model's name.
fn is_server(text: &str) -> bool {
    let (host, path) = text.split_once('/').map_or((text, None), |(host, path)| (host, Some(path)));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|one| one.is_ascii_digit());
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| !name.is_empty() && is_port(port));
    has_port || host == "localhost" || (path.is_some() && host.contains('.'))
}

impl Provider {
    /// Returns the settings that the provider's variables decide: the address of the server, and the key. A server at
    /// another address may need no key.
    fn access(
        &self,
        settings: &[Entry],
        span: Span,
        environment: Option<&Environment<'_>>,
        problems: &mut Problems,
    ) -> Vec<Entry> {
        let set = environment.zip(self.address_variable).filter(|(environment, name)| {
            (environment.variable)(name).is_some_and(|value| !value.trim().is_empty())
        });
        let has_key = ["api_key", "api_key_env", "api_key_file"]
            .iter()
            .any(|key| settings.iter().any(|entry| entry.key == *key));
        let mut variable = |key: &str, text: String, environment: &Environment<'_>| {
            let mut node = Node::text(text.clone(), span);
            expand_node(&mut node, environment, problems);
            Entry { written: Some(text), ..Entry::new(key, node) }
        };
        let Some((environment, address)) = set else {
            let key = (!has_key).then(|| Entry::new("api_key_env", Node::text(self.key_variable, span)));
            return key.into_iter().collect();
        };
        let mut access = vec![variable("base_url", format!("${{{address}}}"), environment)];
        if !has_key {
            access.push(variable("api_key", format!("${{{}:-}}", self.key_variable), environment));
        }
        access
    }
}

/// Takes their backends from the roles of the model under test. Backends that no role asks any more are removed, with their
/// prices. Returns the `default_params` of these backends, which stay in effect.
pub(super) fn take_backends(root: &mut Node) -> Vec<Entry> {
    let mut inherited = Vec::new();
    let mut replaced = Vec::new();
    for role in model_roles(root) {
        if let Some(inline) = take(role, "backend") {
            inherited.extend(default_params(&inline.node));
        }
        replaced.extend(take(role, "backend_id").and_then(|entry| entry.node.as_text().map(str::to_owned)));
    }
    let ids = |node: Option<&Node>| -> Vec<String> {
        let items = node.and_then(Node::as_list).unwrap_or_default();
        items.iter().filter_map(|item| item.text_of("backend_id").map(str::to_owned)).collect()
    };
    let is_of = |node: &Node, ids: &[String]| {
        node.text_of("backend_id").is_some_and(|id| ids.iter().any(|one| one == id))
    };
    let backends = root.get("backends").and_then(Node::as_list).unwrap_or_default();
    for backend in backends.iter().filter(|backend| is_of(backend, &replaced)) {
        inherited.extend(default_params(backend));
    }
    let asked = ids(root.get("role_adapters"));
    replaced.retain(|id| !asked.contains(id));
    for key in ["backends", "pricing"] {
        if let Some(items) = root.get_mut(key).and_then(Node::items_mut) {
            items.retain(|item| !is_of(item, &replaced));
        }
    }
    inherited
}

/// Has the roles of the model under test ask a backend, and adds such a role if there is none.
fn ask(root: &mut Node, backend_id: &str, span: Span) {
    let mut has_role = false;
    for role in model_roles(root) {
        has_role = true;
        set(role, "backend_id", Node::text(backend_id, span));
    }
    if !has_role {
        let role = vec![
            Entry::new("adapter_id", Node::text(ROLE_ID, span)),
            Entry::new("role_type", Node::text(MODEL_ROLE, span)),
            Entry::new("backend_id", Node::text(backend_id, span)),
        ];
        push(root, "role_adapters", Node::map(role, span));
    }
}

fn default_params(backend: &Node) -> Vec<Entry> {
    let params = backend.get("config").and_then(|config| config.get("default_params"));
    params.and_then(Node::as_map).unwrap_or_default().to_vec()
}

/// Adds sampling parameters to those of the config.
fn add_params(config: &mut Vec<Entry>, params: Vec<Entry>, span: Span) {
    if params.is_empty() {
        return;
    }
    if !config.iter().any(|entry| entry.key == "default_params") {
        config.push(Entry::new("default_params", Node::empty_map(span)));
    }
    let written = config.iter_mut().find(|entry| entry.key == "default_params");
    if let Some(entries) = written.and_then(|entry| entry.node.entries_mut()) {
        for param in params {
            if !entries.iter().any(|known| known.key == param.key) {
                entries.push(param);
            }
        }
    }
}
