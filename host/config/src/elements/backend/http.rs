//! Backends that are asked over HTTP: what all of them take, and what each protocol adds.

mod address;
mod key;
mod limits;
mod passing;
mod protocol;

pub(crate) use address::check as check_address;
pub use key::{ApiKey, Header, KeyError, KeySource};
pub use limits::{HttpConnection, HttpLimits, HttpRetry, Proxy};
pub use protocol::{HttpKind, LikelihoodSource, OpenAiOptions, TokenLimitName};

use crate::elements::sampling;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::{Object, SamplingParams};

/// The most tokens of an answer where nothing says how many: this protocol wants a number.
pub const ANTHROPIC_MAX_TOKENS: u32 = 4096;

/// A server that is asked over HTTP.
#[derive(Clone, Debug)]
pub struct HttpBackendConfig {
    /// The protocol.
    pub kind: HttpKind,
    /// What only `openai_http` has; the defaults elsewhere.
    pub openai: OpenAiOptions,
    /// Where the API begins, without a slash at its end.
    pub base_url: String,
    /// The same as it may be written down, where it comes from a variable whose name says that it is secret.
    pub public_base_url: String,
    /// The model's name; empty where the address alone says which it is.
    pub model: String,
    /// Where the key is from.
    pub key: ApiKey,
    /// Further headers.
    pub headers: Vec<Header>,
    /// Whether answers come in pieces, so that the first is timed; default false.
    pub stream: bool,
    /// How it is reached.
    pub connection: HttpConnection,
    /// What is sent again, and when.
    pub retry: HttpRetry,
    /// How much is asked at the same time, and in a minute.
    pub limits: HttpLimits,
    /// Sampling parameters where no higher place says otherwise.
    pub default_params: SamplingParams,
    /// Keys that are put into the body of every request as they are.
    pub extra_body: Object,
    /// The same as it may be written down: secrets are the names of their variables, or left out.
    pub public_extra_body: Object,
    /// Where the configuration is written.
    pub span: Span,
}

impl HttpBackendConfig {
    /// Of sampling parameters those that are sent, with those that always are.
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

    /// What is wrong, and what to do, where it cannot say how likely a continuation is.
    pub fn lacks_loglikelihood(&self) -> Option<(String, &'static str)> {
        match self.kind {
            HttpKind::OpenAi if self.openai.loglikelihood.is_some() => None,
            HttpKind::OpenAi => Some((
                "openai_http has no log-likelihood: chat completions do not give it".to_owned(),
                "use `request: generate`, a backend of the type llama_cpp or custom_script, or a server whose \
                 completions give the log-probabilities of a prompt: `loglikelihood: echo` or \
                 `loglikelihood: prompt_logprobs`",
            )),
            _ => Some((
                format!("{} has no log-likelihood: its protocol does not give it", self.kind.name()),
                "use `request: generate`, or another type of backend",
            )),
        }
    }
}

/// Reads the configuration of a kind. Keys that nobody knows go into the body of every request, with a
/// warning.
pub(super) fn read(
    kind: HttpKind,
    mut table: MappingReader<'_>,
    problems: &mut Problems,
) -> Option<Box<HttpBackendConfig>> {
    let base_url = address::read(&mut table, kind, problems);
    let key = ApiKey::read(&mut table, problems);
    let headers = key::read_headers(&mut table, problems);
    // What variables and files hold as keys is known by now.
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
    // What is written under `extra_body` was meant for it, so it wins.
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
