//! `anthropic_http`: Anthropic's Messages API.

mod reply;
mod request;

use crate::api::{Backend, BackendError, BackendInfo, Capabilities, GenerateRequest, MediaSupport, Reply};
use crate::conversation::info_of;
use crate::http::{Header, HttpCall, HttpClient, ResponseParser};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use async_trait::async_trait;
use gage_config::HttpBackendConfig;
use gage_core::{ModelOutput, Object};
use reply::MessageReader;

/// Version of the API, as a date.
const API_VERSION: &str = "2023-06-01";

/// Client of one server.
pub(crate) struct AnthropicHttp {
    http: HttpClient,
    messages: reqwest::Url,
    info: BackendInfo,
}

impl AnthropicHttp {
    /// Creates the client; sends nothing.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        shared: &OpenOptions,
    ) -> Result<AnthropicHttp, OpenError> {
        let info = info_of(
            &config,
            Capabilities { generate: true, media: MediaSupport::ImagesAndFiles, ..Capabilities::default() },
        );
        let (recording, batch) = (shared.recording.clone(), shared.batch.clone());
        let http = HttpClient::new(backend_id, config, &shared.hosts, recording, batch, |key| {
            let key = key.map(|key| ("x-api-key", key.reveal().to_owned(), true));
            let all = key.into_iter().chain([("anthropic-version", API_VERSION.to_owned(), false)]);
            all.map(|(name, value, is_secret)| Header { name, value, is_secret }).collect()
        })?;
        Ok(AnthropicHttp { messages: http.url("/messages")?, http, info })
    }
}

#[async_trait]
impl Backend for AnthropicHttp {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn statistics(&self) -> Object {
        self.http.statistics()
    }

    async fn generate(&self, mut request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let (id, place) = (request.id.clone(), request.place.take());
        let (body, longest) = request::body_of(*request, self.http.config())?;
        let call = HttpCall::new(&id, &self.messages, &body, Some(longest))?.of_sample(place);
        self.http.generate(call, MessageReader::default, ResponseParser::plain()).await
    }
}
