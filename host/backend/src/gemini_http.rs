//! `gemini_http`: `generateContent` of the Gemini API.

mod reply;
mod request;

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, MediaSupport, Reply,
};
use crate::conversation::info_of;
use crate::http::{Header, HttpCall, HttpClient, Refusal, ResponseParser};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use async_trait::async_trait;
use gage_config::HttpBackendConfig;
use gage_core::{ModelOutput, Object};
use reply::ContentReader;

/// Client of one server.
pub(crate) struct GeminiHttp {
    http: HttpClient,
    url: reqwest::Url,
    info: BackendInfo,
}

impl GeminiHttp {
    /// Creates the client; sends nothing.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        shared: &OpenOptions,
    ) -> Result<GeminiHttp, OpenError> {
        let info = info_of(
            &config,
            Capabilities { generate: true, media: MediaSupport::Everything, ..Capabilities::default() },
        );
        // Errors show the address, so the key is in a header, not in the query.
        let (recording, batch) = (shared.recording.clone(), shared.batch.clone());
        let http = HttpClient::new(backend_id, config, &shared.hosts, recording, batch, |key| {
            let key = key.map(|key| key.reveal().to_owned());
            key.map(|value| Header { name: "x-goog-api-key", value, is_secret: true }).into_iter().collect()
        })?;
        let model = info.model.trim_start_matches("models/");
        let method = if http.config().stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        Ok(GeminiHttp { url: http.url(&format!("/models/{model}:{method}"))?, http, info })
    }
}

/// Classifies a refusal. This API calls every limit a quota; only a daily one is exhausted for the whole run.
fn meaning(refusal: &Refusal<'_>) -> (BackendErrorKind, bool) {
    let details = refusal.body.pointer("/error/details").map(ToString::to_string).unwrap_or_default();
    match refusal.status {
        429 if details.contains("PerDay") => (BackendErrorKind::QuotaExhausted, false),
        400 if details.contains("API_KEY_INVALID") || refusal.message().contains("API key not valid") => {
            (BackendErrorKind::Unauthorized, false)
        }
        _ => refusal.kind(),
    }
}

#[async_trait]
impl Backend for GeminiHttp {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn statistics(&self) -> Object {
        self.http.statistics()
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let id = request.id.clone();
        let (body, longest) = request::body_of(*request, self.http.config());
        let call = HttpCall::new(&id, &self.url, &body, longest)?;
        let parser = ResponseParser { refusal: meaning, ..ResponseParser::plain() };
        self.http.generate(call, ContentReader::default, parser).await
    }
}
