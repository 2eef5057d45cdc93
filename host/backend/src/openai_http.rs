//! `openai_http`: any server with the OpenAI chat completions API. A prompt that is already rendered, or
//! that needs no template, is sent to the older `completions` API, which applies none.

mod embeddings;
mod lenient;
mod likelihood;
mod refused_parameter;
mod reply;
mod request;
mod stream;

use crate::api::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, Continuation, EmbedOutput,
    EmbedRequest, GenerateRequest, LoglikelihoodOutput, LoglikelihoodRequest, MediaSupport, Reply,
    RequestTiming, RollingOutput, RollingRequest,
};
use crate::conversation::{info_of, plain_prompt};
use crate::http::{HttpCall, HttpClient, Refusal, ResponseParser, bearer};
use crate::open_error::OpenError;
use crate::open_options::OpenOptions;
use crate::trailing_space;
use async_trait::async_trait;
use futures::future::try_join_all;
use gage_config::{HttpBackendConfig, LikelihoodSource, ServerTemplate};
use gage_core::{ContinuationScore, FinishReason, ModelOutput, Object, Usage};
use likelihood::ScoredTokens;
use stream::ChatReader;

/// Client of one server.
pub(crate) struct OpenAiHttp {
    http: HttpClient,
    chat: reqwest::Url,
    completions: reqwest::Url,
    embeddings: reqwest::Url,
    info: BackendInfo,
}

impl OpenAiHttp {
    /// Creates the client; sends nothing.
    pub(crate) fn new(
        backend_id: &str,
        config: HttpBackendConfig,
        shared: &OpenOptions,
    ) -> Result<OpenAiHttp, OpenError> {
        let capabilities = Capabilities {
            generate: true,
            loglikelihood: config.openai.loglikelihood.is_some(),
            rolling_loglikelihood: config.openai.loglikelihood.is_some(),
            embeddings: true,
            media: match config.openai.chat_template {
                ServerTemplate::Model => MediaSupport::Everything,
                // A text holds no media.
                ServerTemplate::None => MediaSupport::Nothing,
            },
        };
        let info = info_of(&config, capabilities);
        let (recording, batch) = (shared.recording.clone(), shared.batch.clone());
        let http = HttpClient::new(backend_id, config, &shared.hosts, recording, batch, bearer)?;
        Ok(OpenAiHttp {
            chat: http.url("/chat/completions")?,
            completions: http.url("/completions")?,
            embeddings: http.url("/embeddings")?,
            http,
            info,
        })
    }

    /// Returns the way in which the server returns log-probabilities of a prompt.
    fn likelihood_source(&self) -> Result<LikelihoodSource, BackendError> {
        self.http.config().openai.loglikelihood.ok_or_else(|| {
            let message = "openai_http needs a server that returns log-probabilities of the prompt: set \
                           `loglikelihood: echo` or `loglikelihood: prompt_logprobs`";
            BackendError::new(BackendErrorKind::Unsupported, message)
        })
    }

    /// Scores a text after a prompt, from the character `unscored` on.
    async fn scored(
        &self,
        id: &str,
        source: LikelihoodSource,
        prompt: &str,
        unscored: usize,
        continuation: &Continuation,
    ) -> Result<Reply<ScoredTokens>, BackendError> {
        let text = format!("{prompt}{}", continuation.text);
        let body = likelihood::body_of(&text, source, self.http.config());
        let asked = likelihood::LikelihoodRequest {
            source,
            text: &text,
            characters: text.chars().count(),
            prompt_characters: unscored,
            continuation,
        };
        let call = HttpCall::new(id, &self.completions, &body, Some(1))?;
        let parser = ResponseParser { remedy: likelihood::remedy, ..ResponseParser::plain() };
        self.http.call(&call, || likelihood::LikelihoodReader(&asked), parser).await
    }

    fn has_no_template(&self) -> bool {
        self.http.config().openai.chat_template == ServerTemplate::None
    }

    /// Returns the answer of a request that a server's content filter blocked before generation, as Azure's does.
    fn refused_answer(refusal: &Refusal<'_>) -> Option<ModelOutput> {
        let is_filtered =
            refusal.status == 400 && refusal.codes().iter().any(|code| code == "content_filter");
        is_filtered.then(|| ModelOutput::generated(String::new(), FinishReason::ContentFilter, None))
    }
}

#[async_trait]
impl Backend for OpenAiHttp {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn statistics(&self) -> Object {
        self.http.statistics()
    }

    async fn generate(&self, mut request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        request::check_files(&request)?;
        if self.has_no_template() {
            request::leave_template_out(&mut request)?;
        }
        let url = if request.prompt.is_some() { &self.completions } else { &self.chat };
        let (id, place) = (std::mem::take(&mut request.id), request.place.take());
        let body = request::Body::new(&request, self.http.config());
        let call = HttpCall::new(&id, url, &body, body.longest())?
            .of_sample(place)
            .with_default_temperature(body.has_default_temperature());
        // Do not keep the request itself in memory until the answer arrives.
        drop(request);
        let think_tags = self.http.config().openai.think_tags;
        let parser = ResponseParser {
            refused_answer: OpenAiHttp::refused_answer,
            remedy: refused_parameter::remedy,
            refuses_temperature: refused_parameter::is_temperature,
            ..ResponseParser::plain()
        };
        self.http.generate(call, || ChatReader::new(think_tags), parser).await
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let source = self.likelihood_source()?;
        if request.prompt.is_none() && request.messages.iter().any(gage_core::Message::has_media) {
            return Err(crate::conversation::unsupported("completions", "media"));
        }
        let prompt = request.prompt.unwrap_or_else(|| plain_prompt(&request.messages));
        let unscored = trailing_space::unscored(&prompt).chars().count();
        let asked = request.continuations.into_iter().map(|continuation| {
            let (prompt, id) = (&prompt, &request.id);
            async move { self.scored(id, source, prompt, unscored, &continuation).await }
        });
        let replies = try_join_all(asked).await?;
        let mut timing = RequestTiming::default();
        let mut usage = Usage::default();
        let scores = replies
            .into_iter()
            .map(|reply| {
                timing.latency = timing.latency.max(reply.timing.latency);
                timing.attempts = timing.attempts.max(reply.timing.attempts);
                usage.prompt_tokens += reply.output.prompt_tokens;
                usage.completion_tokens += u64::from(reply.output.score.token_count);
                reply.output.score
            })
            .collect();
        Ok(Reply { output: LoglikelihoodOutput { scores, usage: Some(usage) }, timing })
    }

    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        let source = self.likelihood_source()?;
        let start = self.http.config().openai.text_start.as_deref().unwrap_or_default();
        let byte_count = u64::try_from(request.text.len()).unwrap_or(u64::MAX);
        let text = Continuation { id: String::new(), text: request.text };
        let reply = self.scored(&request.id, source, start, start.chars().count(), &text).await?;
        let ContinuationScore { logprob, token_count, .. } = reply.output.score;
        let output = RollingOutput { logprob, token_count: u64::from(token_count), byte_count };
        Ok(Reply { output, timing: reply.timing })
    }

    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        let count = request.texts.len();
        let body = embeddings::body_of(&self.info.model, request.texts);
        let call = HttpCall::new(&request.id, &self.embeddings, &body, Some(0))?;
        self.http.call(&call, || embeddings::EmbeddingReader(count), ResponseParser::plain()).await
    }
}
