//! `tgi` and `hf_inference_endpoint`: servers that continue a text. They do not support conversations, so one without a
//! rendered prompt is sent as the texts of its messages.

mod reply;
mod request;

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, Reply,
};
use crate::conversation::{info_of, unsupported};
use crate::http::{HttpCall, HttpClient, Refusal, ResponseParser, bearer};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use async_trait::async_trait;
use gage_config::{HttpBackendConfig, HttpKind};
use gage_core::{Message, ModelOutput, Object};
use reply::TextReader;

/// Client of one server.
pub(crate) struct TextGeneration {
    http: HttpClient,
    url: reqwest::Url,
    info: BackendInfo,
}

impl TextGeneration {
    /// Creates the client; sends nothing.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        shared: &OpenOptions,
    ) -> Result<TextGeneration, OpenError> {
        let path = match (config.kind, config.stream) {
            (HttpKind::Tgi, true) => "/generate_stream",
            (HttpKind::Tgi, false) => "/generate",
            _ => "",
        };
        let info = info_of(&config, Capabilities { generate: true, ..Capabilities::default() });
        let (recording, batch) = (shared.recording.clone(), shared.batch.clone());
        let http = HttpClient::new(backend_id, config, &shared.hosts, recording, batch, bearer)?;
        Ok(TextGeneration { url: http.url(path)?, http, info })
    }
}

/// Classifies a refusal. Only its text shows that a prompt is too long.
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
        let (body, stop, longest) = request::body_of(*request, self.http.config());
        let call = HttpCall::new(&id, &self.url, &body, longest)?;
        let parser = ResponseParser { refusal: meaning, ..ResponseParser::plain() };
        self.http.generate(call, || TextReader::new(&stop), parser).await
    }
}
