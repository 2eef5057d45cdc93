//! `backends[]`: what answers requests.

pub mod llama_cpp;

use crate::elements::{PluginReference, refuse_python, sampling};
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;
use crate::table::Table;
use gage_core::SamplingParams;
use llama_cpp::LlamaCppConfig;
use std::time::Duration;

/// One backend.
#[derive(Clone, Debug)]
pub struct BackendSpec {
    /// Its name within the configuration; for one that stands within a role adapter, that of
    /// the adapter.
    pub backend_id: String,
    /// What it is.
    pub kind: BackendKind,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of backends, each with its checked configuration.
#[derive(Clone, Debug)]
pub enum BackendKind {
    /// `openai_http`
    OpenAiHttp(OpenAiHttpConfig),
    /// `llama_cpp`
    LlamaCpp(LlamaCppConfig),
    /// `custom_script`
    CustomScript(CustomScriptConfig),
}

/// A value that is never written down or printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret of this value.
    pub(crate) fn new(value: String) -> Secret {
        Secret(value)
    }

    /// The value itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// A server that speaks the OpenAI chat completions API.
#[derive(Clone, Debug)]
pub struct OpenAiHttpConfig {
    /// Where the API begins; default `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model's name; required.
    pub model: String,
    /// Sent as `Authorization: Bearer`; default none.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<(String, Secret)>,
    /// For a whole request; default 120 s.
    pub timeout: Duration,
    /// For the connection; default 10 s.
    pub connect_timeout: Duration,
    /// How often a request is sent again after a failure that may pass; default 5.
    pub max_retries: u32,
    /// The first wait before a request is sent again; each further one is twice as long, with
    /// jitter; default 0.5 s.
    pub retry_base: Duration,
    /// The longest wait, also where the server asks for a longer one; default 30 s.
    pub retry_limit: Duration,
    /// Most requests in flight; default 64.
    pub max_concurrency: usize,
    /// Sampling parameters where no higher place says otherwise.
    pub default_params: SamplingParams,
    /// Keys that are put into the body of every request as they are.
    pub extra_body: gage_core::Object,
}

/// A component that answers requests.
#[derive(Clone, Debug)]
pub struct CustomScriptConfig {
    /// The component; required.
    pub component: PluginReference,
    /// Where the component is written.
    pub component_span: Span,
    /// What it is configured with.
    pub config: Option<Node>,
    /// Sampling parameters where no higher place says otherwise.
    pub default_params: SamplingParams,
}

#[derive(Clone, Copy)]
enum Kind {
    OpenAiHttp,
    LlamaCpp,
    CustomScript,
}

const KINDS: [(&str, Kind); 3] =
    [("openai_http", Kind::OpenAiHttp), ("llama_cpp", Kind::LlamaCpp), ("custom_script", Kind::CustomScript)];

impl BackendSpec {
    /// The names of the kinds.
    pub const KIND_NAMES: [&'static str; 3] = ["openai_http", "llama_cpp", "custom_script"];

    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<BackendSpec> {
        let mut table = Table::open(node, path, problems)?;
        let backend_id = table.required_id("backend_id", problems).unwrap_or_default();
        let kind = BackendSpec::read_kind(&mut table, problems);
        table.finish(problems);
        Some(BackendSpec { backend_id, kind: kind?, span: node.span })
    }

    /// A backend that stands within a role adapter.
    pub(crate) fn read_inline(
        node: &Node,
        id: &str,
        path: String,
        problems: &mut Problems,
    ) -> Option<BackendSpec> {
        let mut table = Table::open(node, path, problems)?;
        let kind = BackendSpec::read_kind(&mut table, problems);
        table.finish(problems);
        Some(BackendSpec { backend_id: id.to_owned(), kind: kind?, span: node.span })
    }

    fn read_kind(table: &mut Table<'_>, problems: &mut Problems) -> Option<BackendKind> {
        table.required("type", problems);
        let kind = table.choice("type", &KINDS, problems);
        let config = table.required("config", problems)?;
        let mut config = Table::open(config, table.path_of("config"), problems)?;
        let read = match kind? {
            Kind::OpenAiHttp => read_openai_http(&mut config, problems).map(BackendKind::OpenAiHttp),
            Kind::LlamaCpp => llama_cpp::read(&mut config, problems).map(BackendKind::LlamaCpp),
            Kind::CustomScript => read_custom_script(&mut config, problems).map(BackendKind::CustomScript),
        };
        config.finish(problems);
        read
    }
}

fn seconds(table: &mut Table<'_>, key: &'static str, default: f64, problems: &mut Problems) -> Duration {
    Duration::from_secs_f64(table.float(key, 0.001..=86_400.0, problems).unwrap_or(default))
}

fn read_openai_http(table: &mut Table<'_>, problems: &mut Problems) -> Option<OpenAiHttpConfig> {
    let base_url = table.text("base_url", problems).unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
    if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
        let span = table.get("base_url").map_or(table.span, |node| node.span);
        problems
            .error(span, &table.path_of("base_url"), format!("`{base_url}` is not an HTTP address"))
            .help("write it like http://127.0.0.1:8000/v1");
    }
    let beyond_scheme = base_url.split_once("://").map_or("", |(_, rest)| rest);
    if beyond_scheme.split('/').next().is_some_and(|host| host.contains('@')) || base_url.contains(['?', '#'])
    {
        let span = table.get("base_url").map_or(table.span, |node| node.span);
        problems
            .error(span, &table.path_of("base_url"), "`base_url` holds a user, a query or a fragment")
            .help("give a key by `api_key` or `headers`, which are never written down");
    }
    let api_key = table.text("api_key", problems).filter(|key| !key.is_empty()).map(Secret);
    let headers = table.free_map("headers", problems).and_then(Node::as_map).unwrap_or_default();
    for entry in headers {
        let text = entry.node.as_text().unwrap_or_default();
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character);
        if entry.key.is_empty() || !entry.key.chars().all(is_name) || text.chars().any(char::is_control) {
            let message = format!(
                "`{}` is not a header: its name or its value holds a character that none may",
                entry.key
            );
            problems.error(entry.key_span, &entry.key, message);
        }
    }
    if api_key.as_ref().is_some_and(|key| key.reveal().chars().any(char::is_control)) {
        let span = table.get("api_key").map_or(table.span, |node| node.span);
        problems
            .error(
                span,
                &table.path_of("api_key"),
                "`api_key` holds a line break or another control character",
            )
            .help("look at the variable that it is taken from");
    }
    let headers = headers
        .iter()
        .filter_map(|entry| match (&entry.node.value, &entry.node.plain) {
            (NodeValue::Text(text), _) | (_, Some(text)) => Some((entry.key.clone(), Secret(text.clone()))),
            _ => {
                problems.error(
                    entry.node.span,
                    &entry.key,
                    format!("the header `{}` must be a string", entry.key),
                );
                None
            }
        })
        .collect();
    let model = table.required_text("model", problems);
    let limit = table.integer("max_concurrency", 1..=10_000, problems);
    let limit = limit.or_else(|| table.integer("async_max_concurrency", 1..=10_000, problems));
    let extra_body = table.free_map("extra_body", problems).map(Node::to_json);
    let config = OpenAiHttpConfig {
        base_url: base_url.trim_end_matches('/').to_owned(),
        api_key,
        headers,
        timeout: seconds(table, "timeout", 120.0, problems),
        connect_timeout: seconds(table, "connect_timeout", 10.0, problems),
        max_retries: small(table, "max_retries", 0..=100, 5, problems),
        retry_base: seconds(table, "retry_base", 0.5, problems),
        retry_limit: seconds(table, "retry_limit", 30.0, problems),
        max_concurrency: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(64),
        default_params: sampling::read(table, "default_params", problems),
        extra_body: match extra_body {
            Some(serde_json::Value::Object(object)) => object,
            _ => gage_core::Object::new(),
        },
        model: model.clone().unwrap_or_default(),
    };
    model.map(|_| config)
}

fn read_custom_script(table: &mut Table<'_>, problems: &mut Problems) -> Option<CustomScriptConfig> {
    for key in ["module_path", "file_path", "class_name"] {
        if let Some(node) = table.refused(key) {
            refuse_python(node.span, &table.path_of(key), &format!("`{key}`"), "backend", problems);
        }
    }
    let text = table.required_text("component", problems)?;
    let node = table.get("component")?;
    let component = PluginReference::read(node, &table.path_of("component"), &text, "backend", problems);
    let config = table.free_map("config", problems).cloned();
    let default_params = sampling::read(table, "default_params", problems);
    Some(CustomScriptConfig { component: component?, component_span: node.span, config, default_params })
}

fn small(
    table: &mut Table<'_>,
    key: &'static str,
    allowed: std::ops::RangeInclusive<u64>,
    default: u32,
    problems: &mut Problems,
) -> u32 {
    table.integer(key, allowed, problems).and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
}
