//! HTTP backends: their common settings, and those that each protocol adds.

mod address;
mod key;
mod limits;
mod passing;
mod protocol;

pub use key::{ApiKey, Header, KeyError, KeySource};
pub use limits::{HttpConnection, HttpLimits, HttpRetry, Proxy};
pub use protocol::{HttpKind, LikelihoodSource, OpenAiOptions, ServerTemplate, TokenLimitName};

use crate::elements::sampling;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::{Object, SamplingParams};

/// Default token limit of an answer: this protocol requires a number.
pub const ANTHROPIC_MAX_TOKENS: u32 = 4096;

/// An HTTP server.
#[derive(Clone, Debug)]
pub struct HttpBackendConfig {
    /// The protocol.
    pub kind: HttpKind,
    /// Settings of `openai_http`; the defaults for other kinds.
    pub openai: OpenAiOptions,
    /// Base URL of the API, without a trailing slash.
    pub base_url: String,
    /// `base_url` as it may be recorded, with the values of secret-named variables redacted.
    pub public_base_url: String,
    /// The model's name; empty if the address alone selects the model.
    pub model: String,
    /// The API key.
    pub key: ApiKey,
    /// Additional headers.
    pub headers: Vec<Header>,
    /// True if answers are streamed, so that the time to the first token is measured; default false.
    pub stream: bool,
    /// Connection settings.
    pub connection: HttpConnection,
    /// Retry settings.
    pub retry: HttpRetry,
    /// Concurrency and rate limits.
    pub limits: HttpLimits,
    /// Sampling parameters of the lowest precedence.
    pub default_params: SamplingParams,
    /// Keys that are added unchanged to the body of every request.
    pub extra_body: Object,
    /// `extra_body` as it may be recorded: secrets are replaced by their variables' names, or omitted.
    pub public_extra_body: Object,
    /// Span of the configuration.
    pub span: Span,
}

impl HttpBackendConfig {
    /// Returns the sampling parameters that are sent, including those that are always sent.
    pub fn sent(&self, params: SamplingParams) -> SamplingParams {
        let greedy = params.temperature.unwrap_or(0.0);
        match self.kind {
            HttpKind::OpenAi => {
                self.openai.without_omitted(SamplingParams { temperature: Some(greedy), ..params })
            }
            HttpKind::Anthropic => {
                let thinks = self.extra_body.contains_key("thinking");
                SamplingParams {
                    max_new_tokens: Some(params.max_new_tokens.unwrap_or(ANTHROPIC_MAX_TOKENS)),
                    temperature: params.temperature.or((!thinks).then_some(0.0)),
                    top_p: params.top_p,
                    top_k: params.top_k,
                    stop: params.stop,
                    ..SamplingParams::default()
                }
            }
            HttpKind::Gemini => {
                SamplingParams { temperature: Some(greedy), min_p: None, repetition_penalty: None, ..params }
            }
            HttpKind::Tgi | HttpKind::HfInferenceEndpoint => {
                let draws = !params.is_greedy();
                SamplingParams {
                    temperature: Some(greedy),
                    top_p: params.top_p.filter(|top_p| draws && *top_p < 1.0),
                    top_k: params.top_k.filter(|top_k| draws && *top_k > 0),
                    stop: params.stop.filter(|stop| !stop.is_empty()),
                    min_p: None,
                    presence_penalty: None,
                    ..params
                }
            }
        }
    }

    /// Returns what is wrong and how to fix it, if the backend cannot compute log-likelihoods.
    pub fn lacks_loglikelihood(&self) -> Option<(String, &'static str)> {
        match self.kind {
            HttpKind::OpenAi if self.openai.loglikelihood.is_some() => None,
            HttpKind::OpenAi => Some((
                "openai_http has no log-likelihood: chat completions do not provide it".to_owned(),
                "use `request: generate`, a backend of the type llama_cpp or custom_script, or a server whose \
                 completions give the log-probabilities of a prompt: `loglikelihood: echo` or \
                 `loglikelihood: prompt_logprobs`",
            )),
            _ => Some((
                format!("{} has no log-likelihood: its protocol does not provide it", self.kind.name()),
                "use `request: generate`, or another type of backend",
            )),
        }
    }
}

/// Reads the configuration of a kind. Unknown keys go into the body of every request, with a warning.
pub(super) fn read(
    kind: HttpKind,
    mut table: MappingReader<'_>,
    problems: &mut Problems,
) -> Option<Box<HttpBackendConfig>> {
    let base_url = address::read(&mut table, kind, problems);
    let is_own_server = kind.default_base_url().is_some() && base_url.as_deref() == kind.default_base_url();
    let key = ApiKey::read(&mut table, is_own_server, problems);
    let headers = key::read_headers(&mut table, problems);
    // The values of key variables and key files are known by now.
    let mut public = table.to_public_json();
    gage_secrets::redact_value(&mut public);
    let connection = HttpConnection::read(&mut table, problems);
    let retry = HttpRetry::read(&mut table, problems);
    let limits = HttpLimits::read(&mut table, problems);
    let has_stream = kind != HttpKind::HfInferenceEndpoint;
    let stream = has_stream && table.boolean("stream", problems).unwrap_or(false);
    let openai = match kind {
        HttpKind::OpenAi => OpenAiOptions::read(&mut table, problems),
        _ => OpenAiOptions::default(),
    };
    let model = if kind.needs_model() {
        let model = table.required_text("model", problems);
        if model.as_deref() == Some("") {
            let message = "`model` is empty; it is the name by which the server knows the model";
            table.error("model", message, problems);
        }
        model
    } else {
        Some(table.text("model", problems).unwrap_or_default())
    };
    let default_params = sampling::read(&mut table, "default_params", problems);
    passing::refuse_params(&mut table, problems);
    let given = table.free_map("extra_body", problems).map(Node::to_json);
    let span = table.span;
    let (further, params_below) = passing::read_further(table, kind, problems);
    let default_params = default_params.over(&params_below);
    // Keys under `extra_body` are explicit, so they win.
    let extra_body: Object = match given {
        Some(serde_json::Value::Object(given)) => further.into_iter().chain(given).collect(),
        _ => further,
    };
    let public_of = |key: &String| {
        let section = public.get("extra_body").and_then(|section| section.get(key));
        section.or_else(|| public.get(key)).cloned().unwrap_or_default()
    };
    let public_extra_body = extra_body.keys().map(|key| (key.clone(), public_of(key))).collect();
    Some(Box::new(HttpBackendConfig {
        kind,
        openai,
        public_base_url: match public.get("base_url").and_then(serde_json::Value::as_str) {
            Some(public) => public.trim_end_matches('/').to_owned(),
            None => base_url.clone()?,
        },
        base_url: base_url?,
        model: model?,
        key,
        headers,
        stream,
        connection,
        retry,
        limits,
        default_params,
        extra_body,
        public_extra_body,
        span,
    }))
}
