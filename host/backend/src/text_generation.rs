//! `tgi` and `hf_inference_endpoint`: servers that continue a text. They know nothing of conversations, so
//! one that was not rendered is sent as the texts of its messages.

mod reply;
mod request;

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, Reply,
};
use crate::conversation::{info_of, unsupported};
use crate::http::{Header, HttpCall, HttpClient, Refusal, ResponseParser};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use async_trait::async_trait;
use gage_config::HttpBackendConfig;
use gage_core::{Message, ModelOutput, Object};
use gage_secrets::SecretString;
use reply::TextReader;
use request::Dialect;

/// A client of one server.
pub(crate) struct TextGeneration {
    http: HttpClient,
    dialect: Dialect,
    url: reqwest::Url,
    info: BackendInfo,
}

impl TextGeneration {
    /// A client of the native API of text-generation-inference; sends nothing.
    pub(crate) fn tgi(
        backend_id: &str,
        config: HttpBackendConfig,
        stream: bool,
        shared: &OpenOptions,
    ) -> Result<TextGeneration, OpenError> {
        let path = if stream { "/generate_stream" } else { "/generate" };
        TextGeneration::new(backend_id, config, Dialect::Tgi, path, shared)
    }

    /// A client of an inference endpoint; sends nothing.
    pub(crate) fn endpoint(
        backend_id: &str,
        config: HttpBackendConfig,
        shared: &OpenOptions,
    ) -> Result<TextGeneration, OpenError> {
        TextGeneration::new(backend_id, config, Dialect::Endpoint, "", shared)
    }

    fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        dialect: Dialect,
        path: &str,
        shared: &OpenOptions,
    ) -> Result<TextGeneration, OpenError> {
        let info = info_of(&config, Capabilities { generate: true, ..Capabilities::default() });
        let http = HttpClient::new(backend_id, config, &shared.hosts, shared.tape.clone(), bearer)?;
        Ok(TextGeneration { url: http.url(path)?, http, dialect, info })
    }
}

fn bearer(key: Option<&SecretString>) -> Vec<Header> {
    let value = key.map(|key| format!("Bearer {}", key.reveal()));
    value.map(|value| Header { name: "authorization", value, is_secret: true }).into_iter().collect()
}

/// The meaning of a refusal: only its words say that a prompt is too long.
fn meaning(refusal: &Refusal<'_>) -> (BackendErrorKind, bool) {
    let message = refusal.message();
    match refusal.status {
        422 | 400 if message.contains("`inputs` tokens") || message.contains("must have less than") => {
            (BackendErrorKind::ContextLength, false)
        }
        _ => refusal.kind(),
    }
}

#[async_trait]
impl Backend for TextGeneration {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn statistics(&self) -> Object {
        self.http.statistics()
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        if request.prompt.is_none() && request.messages.iter().any(Message::has_media) {
            return Err(unsupported(self.info.kind, "media"));
        }
        if !request.tools.is_empty() {
            return Err(unsupported(self.info.kind, "tools"));
        }
        let id = request.id.clone();
        let (body, stop, longest) = request::body_of(*request, self.http.config(), self.dialect);
        let call = HttpCall::new(&id, &self.url, &body, longest)?;
        let parser = ResponseParser { refusal: meaning, ..ResponseParser::plain() };
        self.http.generate(call, || TextReader::new(&stop), parser).await
    }
}
