//! `backends[]`: the services and models that answer requests.

pub mod answers;
pub mod custom_script;
pub mod http;
pub mod llama_cpp;
pub mod model_parts;

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use answers::AnswersConfig;
use custom_script::CustomScriptConfig;
use gage_core::SamplingParams;
use http::{HttpBackendConfig, HttpKind};
use llama_cpp::LlamaCppConfig;
use std::time::Duration;
use strum::VariantArray;

/// A backend.
#[derive(Clone, Debug)]
pub struct BackendSpec {
    /// The name within the configuration; for a backend inside a role adapter, the adapter's id.
    pub backend_id: String,
    /// The kind, with its configuration.
    pub kind: BackendKind,
    /// Span of the entry.
    pub span: Span,
}

/// The kinds of backends, each with its validated configuration.
#[derive(Clone, Debug)]
pub enum BackendKind {
    /// An HTTP server, in any of the supported protocols.
    Http(Box<HttpBackendConfig>),
    /// `llama_cpp`
    LlamaCpp(Box<LlamaCppConfig>),
    /// `custom_script`
    CustomScript(CustomScriptConfig),
    /// `answers`
    Answers(AnswersConfig),
}

#[derive(Clone, Copy)]
enum Kind {
    Http(HttpKind),
    LlamaCpp,
    CustomScript,
    Answers,
}

impl BackendSpec {
    /// Returns the sampling parameters of the lowest precedence.
    pub fn default_params(&self) -> &SamplingParams {
        match &self.kind {
            BackendKind::Http(config) => &config.default_params,
            BackendKind::LlamaCpp(config) => &config.default_params,
            BackendKind::CustomScript(config) => &config.default_params,
            BackendKind::Answers(config) => &config.default_params,
        }
    }

    /// Returns the sampling parameters that are sent for a request, including defaults. Protocols do not support
    /// all parameters.
    pub fn sent(&self, params: SamplingParams) -> SamplingParams {
        let params = params.over(self.default_params());
        match &self.kind {
            BackendKind::Http(config) => config.sent(params),
            BackendKind::LlamaCpp(_) | BackendKind::CustomScript(_) | BackendKind::Answers(_) => params,
        }
    }

    /// Returns the model's name, if the backend asks a server for a model by name.
    pub fn model(&self) -> Option<&str> {
        match &self.kind {
            BackendKind::Http(config) => Some(config.model.as_str()).filter(|model| !model.is_empty()),
            BackendKind::LlamaCpp(_) | BackendKind::CustomScript(_) | BackendKind::Answers(_) => None,
        }
    }

    /// Returns the maximum number of concurrent requests, if the suite determines it.
    pub fn most_requests(&self) -> Option<usize> {
        match &self.kind {
            BackendKind::Http(config) => config.limits.max_concurrency,
            BackendKind::LlamaCpp(config) => usize::try_from(config.slots_of_replicas()?).ok(),
            BackendKind::CustomScript(_) | BackendKind::Answers(_) => None,
        }
    }

    /// Returns true if the backend runs on this machine and costs nothing but time.
    pub fn is_local(&self) -> bool {
        !matches!(self.kind, BackendKind::Http(_))
    }

    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<BackendSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let backend_id = table.required_id("backend_id", problems).unwrap_or_default();
        let kind = BackendSpec::read_kind(&mut table, problems);
        table.finish(problems);
        Some(BackendSpec { backend_id, kind: kind?, span: node.span })
    }

    /// Reads a backend defined inside a role adapter.
    pub(crate) fn read_inline(
        node: &Node,
        id: &str,
        path: String,
        problems: &mut Problems,
    ) -> Option<BackendSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let kind = BackendSpec::read_kind(&mut table, problems);
        table.finish(problems);
        Some(BackendSpec { backend_id: id.to_owned(), kind: kind?, span: node.span })
    }

    fn read_kind(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<BackendKind> {
        table.required("type", problems);
        let http = HttpKind::VARIANTS.iter().map(|kind| (kind.name(), Kind::Http(*kind)));
        let local = [
            ("llama_cpp", Kind::LlamaCpp),
            ("custom_script", Kind::CustomScript),
            ("answers", Kind::Answers),
        ];
        let kind = table.choice("type", &http.chain(local).collect::<Vec<_>>(), problems);
        let config = table.required("config", problems)?;
        let mut config = MappingReader::open(config, table.path_of("config"), problems)?;
        let read = match kind? {
            // Unknown keys are meant for the server, so this kind checks them itself.
            Kind::Http(kind) => return http::read(kind, config, problems).map(BackendKind::Http),
            Kind::LlamaCpp => {
                llama_cpp::read(&mut config, problems).map(|llama| BackendKind::LlamaCpp(Box::new(llama)))
            }
            Kind::CustomScript => custom_script::read(&mut config, problems).map(BackendKind::CustomScript),
            Kind::Answers => answers::read(&mut config, problems).map(BackendKind::Answers),
        };
        config.finish(problems);
        read
    }
}

fn seconds(
    table: &mut MappingReader<'_>,
    key: &'static str,
    default: f64,
    problems: &mut Problems,
) -> Duration {
    Duration::from_secs_f64(table.float(key, 0.001..=86_400.0, problems).unwrap_or(default))
}
