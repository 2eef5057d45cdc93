//! `openai_http`: any server that speaks the OpenAI chat completions API. A prompt that was rendered
//! already goes to its older sister, `completions`, which applies no template.

mod protocol;
mod retry;

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, Reply, RequestTiming,
};
use crate::waiting::waiting;
use async_trait::async_trait;
use gage_config::{OpenAiHttpConfig, Secret};
use gage_core::{ModelOutput, Object};
use retry::{Failure, Wait};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A response may not be longer than this: with many in flight, longer ones would not fit.
const MOST_BYTES: usize = 8 << 20;

/// A client of one server. Requests beyond `max_concurrency` wait within it.
pub(crate) struct OpenAiHttp {
    config: OpenAiHttpConfig,
    client: reqwest::Client,
    chat_url: String,
    completions_url: String,
    permits: Semaphore,
    info: BackendInfo,
}

impl OpenAiHttp {
    /// Sets up the client; sends nothing.
    pub(crate) fn new(config: OpenAiHttpConfig) -> Result<OpenAiHttp, String> {
        // Fails only where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .timeout(config.timeout)
            .pool_max_idle_per_host(config.max_concurrency)
            // A redirect would carry the conversation, and perhaps the key, to another place.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("gage-host/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("HTTP client: {}", describe(&error)))?;
        let info = BackendInfo {
            kind: "openai_http",
            model: config.model.clone(),
            capabilities: Capabilities { generate: true, loglikelihood: false, media: true },
            max_concurrency: config.max_concurrency,
            details: Object::from_iter([
                ("base_url".to_owned(), config.base_url.as_str().into()),
                ("model".to_owned(), config.model.as_str().into()),
            ]),
        };
        Ok(OpenAiHttp {
            chat_url: format!("{}/chat/completions", config.base_url),
            completions_url: format!("{}/completions", config.base_url),
            permits: Semaphore::new(config.max_concurrency),
            client,
            config,
            info,
        })
    }

    /// A text of the server's, without the keys that it may repeat.
    fn without_secrets(&self, text: String) -> String {
        let headers = self.config.headers.iter().map(|(_, value)| value);
        let secrets = self.config.api_key.iter().chain(headers).map(Secret::reveal);
        // What is shorter is no secret, and would be found in ordinary words.
        secrets.filter(|secret| secret.len() >= 8).fold(text, |text, secret| {
            if text.contains(secret) { text.replace(secret, "(secret)") } else { text }
        })
    }

    /// Sends a request once.
    async fn attempt(&self, url: &str, body: &str) -> Result<ModelOutput, Failure> {
        let mut request = self
            .client
            .post(url)
            .header(reqwest::header::CONTENT_TYPE, "application/json")
            .body(body.to_owned());
        if let Some(key) = &self.config.api_key {
            request = request.bearer_auth(key.reveal());
        }
        for (name, value) in &self.config.headers {
            request = request.header(name.as_str(), value.reveal());
        }
        let mut response = request.send().await.map_err(|error| transport(&error))?;
        let status = response.status();
        let asked =
            response.headers().get(reqwest::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let asked = asked.and_then(|text| text.trim().parse::<u64>().ok()).map(Duration::from_secs);
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| transport(&error))? {
            if bytes.len() + chunk.len() > MOST_BYTES {
                let message = format!("the response is longer than {MOST_BYTES} bytes");
                return Err(Failure::lasting(BackendErrorKind::Protocol, message));
            }
            bytes.extend_from_slice(&chunk);
        }
        if !status.is_success() {
            return Err(retry::of_status(status.as_u16(), &String::from_utf8_lossy(&bytes), asked));
        }
        protocol::read_reply(&bytes).map_err(|message| Failure::passing(BackendErrorKind::Protocol, message))
    }
}

#[async_trait]
impl Backend for OpenAiHttp {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: GenerateRequest) -> Result<Reply<ModelOutput>, BackendError> {
        let id = request.id.clone();
        let url = if request.prompt.is_some() { &self.completions_url } else { &self.chat_url };
        let body = protocol::body_of(request, &self.config)
            .map_err(|message| BackendError::new(BackendErrorKind::Internal, message))?;
        let Ok(_permit) = waiting(self.permits.acquire()).await else {
            return Err(BackendError::new(BackendErrorKind::Internal, "the backend was closed"));
        };
        let wait = Wait { base: self.config.retry_base, limit: self.config.retry_limit };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let began = Instant::now();
            match self.attempt(url, &body).await {
                Ok(mut output) => {
                    output.answer = self.without_secrets(output.answer);
                    let timing = RequestTiming { latency: began.elapsed(), attempts, first_token: None };
                    return Ok(Reply { output, timing });
                }
                Err(failure) if failure.may_pass && attempts <= self.config.max_retries => {
                    let pause = wait.before(&id, attempts, failure.asked);
                    tracing::debug!(request = %id, attempts, ?pause, "sent again: {}", failure.message);
                    waiting(tokio::time::sleep(pause)).await;
                }
                Err(failure) => {
                    let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
                    return Err(BackendError {
                        kind: failure.kind,
                        message: self.without_secrets(format!("{url}: {} (tried {times})", failure.message)),
                        attempts,
                    });
                }
            }
        }
    }
}

fn transport(error: &reqwest::Error) -> Failure {
    let kind = if error.is_timeout() { BackendErrorKind::Timeout } else { BackendErrorKind::Connection };
    // A request that cannot even be built is not better the next time.
    if error.is_builder() {
        return Failure::lasting(BackendErrorKind::Internal, describe(error));
    }
    Failure::passing(kind, describe(error))
}

/// The whole chain of an error, without the address, which the caller names.
fn describe(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_timeout() { "no answer in time".to_owned() } else { "the request failed".to_owned() };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
