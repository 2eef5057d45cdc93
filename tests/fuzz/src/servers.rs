//! Backends whose server gives one answer, in pieces. No network, no retries.

use async_trait::async_trait;
use bytes::Bytes;
use gage_backend::{
    Backend, BackendError, Continuation, EmbedRequest, GenerateRequest, HttpBatch, HttpHosts, HttpRecording,
    LoglikelihoodRequest, OpenOptions, SamplePlace, Transport, TransportBody, TransportError, TransportReply,
    TransportRequest, open,
};
use gage_config::{BackendSpec, Environment, PipelineConfig, load};
use gage_core::{Message, Messages, Role, SamplingParams};
use gage_plugin::{HostOptions, PluginHost, Registry};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A key of the backends. Servers may send it back, and no answer may hold it.
pub const KEY: &str = "sk-0123456789abcdef";

/// Maximum size of the error of a request, in bytes.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// A request of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `openai_http`: a conversation.
    Chat,
    /// `openai_http`: a rendered prompt.
    Completion,
    /// `anthropic_http`.
    Anthropic,
    /// `gemini_http`.
    Gemini,
    /// `tgi`.
    TextGeneration,
    /// `openai_http`: vectors.
    Embeddings,
    /// `openai_http`: likelihoods, from echoed tokens.
    Echo,
    /// `openai_http`: likelihoods, from log-probabilities of the prompt.
    PromptLogprobs,
}

/// All requests.
pub const PROTOCOLS: [Protocol; 8] = [
    Protocol::Chat,
    Protocol::Completion,
    Protocol::Anthropic,
    Protocol::Gemini,
    Protocol::TextGeneration,
    Protocol::Embeddings,
    Protocol::Echo,
    Protocol::PromptLogprobs,
];

/// The requests whose answer may be a stream.
pub const STREAMED_PROTOCOLS: [Protocol; 5] =
    [Protocol::Chat, Protocol::Completion, Protocol::Anthropic, Protocol::Gemini, Protocol::TextGeneration];

impl Protocol {
    /// Returns the id of its backend.
    pub fn backend_id(self) -> &'static str {
        match self {
            Protocol::Chat | Protocol::Completion | Protocol::Embeddings => "openai",
            Protocol::Anthropic => "anthropic",
            Protocol::Gemini => "gemini",
            Protocol::TextGeneration => "tgi",
            Protocol::Echo => "echo",
            Protocol::PromptLogprobs => "prompt_logprobs",
        }
    }
}

/// The answer of a server.
#[derive(Clone)]
pub struct ServerAnswer {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Pieces of the body.
    pub pieces: Vec<Bytes>,
}

#[async_trait]
impl Transport for ServerAnswer {
    async fn send(&self, _request: TransportRequest<'_>) -> Result<TransportReply, TransportError> {
        let body = AnswerBody(self.pieces.clone().into());
        let headers = self.headers.clone();
        Ok(TransportReply { status: self.status, headers, connection: None, body: Box::new(body) })
    }

    fn retire_connections(&self) {}
}

struct AnswerBody(VecDeque<Bytes>);

#[async_trait]
impl TransportBody for AnswerBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        Ok(self.0.pop_front())
    }
}

/// The result of a request: the output as JSON, or the kind and the text of the error.
pub type RequestResult = Result<Value, (&'static str, String)>;

/// Runtime and transport of all requests.
struct ServerSetup {
    runtime: Runtime,
    registry: Registry,
    config: PipelineConfig,
}

thread_local! {
    /// Never freed: a runtime must not be dropped while its thread ends.
    static SETUP: Result<&'static ServerSetup, String> =
        ServerSetup::new().map(|setup| &*Box::leak(Box::new(setup)));
}

impl ServerSetup {
    fn new() -> Result<ServerSetup, String> {
        let runtime =
            Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
        let registry = Registry::new(PluginHost::new(&HostOptions::default())?, &[]);
        let address = format!("base_url: 'http://127.0.0.1:9/v1', api_key: {KEY}, max_retries: 0");
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends:\n\
             - {{backend_id: openai, type: openai_http, config: {{{address}, model: m, stream: true, think_tags: true}}}}\n\
             - {{backend_id: anthropic, type: anthropic_http, config: {{{address}, model: m, stream: true}}}}\n\
             - {{backend_id: gemini, type: gemini_http, config: {{{address}, model: m, stream: true}}}}\n\
             - {{backend_id: tgi, type: tgi, config: {{{address}, stream: true}}}}\n\
             - {{backend_id: echo, type: openai_http, config: {{{address}, model: m, loglikelihood: echo}}}}\n\
             - {{backend_id: prompt_logprobs, type: openai_http, config: {{{address}, model: m, loglikelihood: prompt_logprobs}}}}\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: openai}}]\n\
             custom: {{steps: [{{step: inference}}]}}\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("fuzz.yaml", &text, &[], &environment);
        let config = config.filter(|_| !problems.has_errors()).ok_or_else(|| problems.render(false))?;
        Ok(ServerSetup { runtime, registry, config })
    }

    fn spec(&self, protocol: Protocol) -> Result<&BackendSpec, String> {
        let id = protocol.backend_id();
        let found = self.config.backends.iter().find(|spec| spec.backend_id == id);
        found.map(AsRef::as_ref).ok_or_else(|| format!("there is no backend {id}"))
    }
}

/// Sends a request to a server with this answer. A recording records it, or takes the place of the server.
///
/// # Errors
/// If the backend cannot be opened, if the result holds the key, or if its error is long.
pub fn ask(
    protocol: Protocol,
    answer: ServerAnswer,
    recording: Option<Arc<HttpRecording>>,
) -> Result<RequestResult, String> {
    // Each request has a host of its own, so that no failure delays the next one.
    let hosts = HttpHosts::simulated(Arc::new(answer), 0);
    ask_with(protocol, &OpenOptions { hosts, recording, ..OpenOptions::default() })
}

/// Asks a batch in place of a server.
///
/// # Errors
/// As for [`ask`].
pub fn ask_in_bulk(protocol: Protocol, batch: Arc<HttpBatch>) -> Result<RequestResult, String> {
    let answer = ServerAnswer { status: 500, headers: HeaderMap::new(), pieces: Vec::new() };
    let hosts = HttpHosts::simulated(Arc::new(answer), 0);
    ask_with(protocol, &OpenOptions { hosts, batch: Some(batch), ..OpenOptions::default() })
}

fn ask_with(protocol: Protocol, options: &OpenOptions) -> Result<RequestResult, String> {
    SETUP.with(|setup| {
        let setup = setup.as_ref().map_err(String::clone)?;
        let spec = setup.spec(protocol)?;
        let result = setup.runtime.block_on(async {
            let backend =
                open(spec, &setup.registry, options).await.map_err(|errors| format!("{errors:?}"))?;
            Ok::<_, String>(request(protocol, backend.as_ref()).await)
        })?;
        let result = result.map_err(|error| (error.kind.name(), error.message));
        let shown = match &result {
            Ok(output) => output.to_string(),
            Err((_, message)) if message.len() > MAX_ERROR_BYTES => {
                return Err(format!("an error has {} bytes: {message:.200}", message.len()));
            }
            Err((_, message)) => message.clone(),
        };
        match shown.contains(KEY) {
            true => Err(format!("the key is in the result: {shown}")),
            false => Ok(result),
        }
    })
}

async fn request(protocol: Protocol, backend: &dyn Backend) -> Result<Value, BackendError> {
    let id = "q".to_owned();
    let messages: Messages = vec![Message::text(Role::User, "2+2=")].into();
    let is_conversation = matches!(protocol, Protocol::Chat | Protocol::Anthropic | Protocol::Gemini);
    let prompt = (!is_conversation).then(|| "2+2=".to_owned());
    match protocol {
        Protocol::Embeddings => {
            let texts = vec!["a".to_owned(), "b".to_owned()];
            let reply = backend.embed(EmbedRequest { id, texts }).await?;
            Ok(json!(reply.output))
        }
        Protocol::Echo | Protocol::PromptLogprobs => {
            let continuations = vec![Continuation { id: "A".to_owned(), text: "4".to_owned() }];
            let request = LoglikelihoodRequest { id, messages, prompt, continuations };
            let reply = backend.loglikelihood(request).await?;
            Ok(json!(reply.output))
        }
        _ => {
            let request = GenerateRequest {
                id,
                messages,
                prompt,
                params: SamplingParams::default(),
                tools: Vec::new(),
                tool_choice: None,
                draw: None,
                place: Some(SamplePlace { task_id: "t".into(), row: 0, repeat: 0 }),
            };
            let reply = backend.generate(Box::new(request)).await?;
            Ok(reply.output.to_value())
        }
    }
}
