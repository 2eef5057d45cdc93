//! The host's own interfaces: `log`, `media`, `http`, `llm`.

use super::GuestState;
use crate::bindings::llm::{
    EmbedRequest, GenerateRequest, LoglikelihoodRequest, RollingLoglikelihoodRequest, RollingScore,
};
use crate::bindings::log::Level;
use crate::bindings::types::{ContinuationScore, ErrorKind, Generation, MediaRef, PluginError};
use crate::bindings::{http, llm, log, media, types};
use crate::capabilities::models::{ModelAccess, ModelRequest};
use crate::capabilities::{denied, refuse};
use crate::plugin_line::LineSource;
use serde_json::Value;
use std::time::Duration;

impl types::Host for GuestState {}

impl GuestState {
    /// Counts a call with several requests: the call itself, and each request.
    fn count_calls(&mut self, asked: usize) -> wasmtime::Result<()> {
        for _ in 0..=asked {
            self.count_call()?;
        }
        Ok(())
    }
}

impl log::Host for GuestState {
    fn emit(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.count_call()?;
        self.host_fuel.use_for(message.len() as u64)?;
        self.log.lock().emit(source_of(level), &message);
        Ok(())
    }

    fn enabled(&mut self, level: Level) -> wasmtime::Result<bool> {
        self.count_call()?;
        Ok(self.log.lock().is_enabled(source_of(level)))
    }
}

fn source_of(level: Level) -> LineSource {
    match level {
        Level::Debug => LineSource::Debug,
        Level::Info => LineSource::Info,
        Level::Warn => LineSource::Warn,
        Level::Error => LineSource::Error,
    }
}

/// Creates the error of a guest that has a grant but is in a call that may not use it.
fn not_now(what: &str) -> PluginError {
    denied(format!("{what}: not allowed in this call, which only describes, checks or tests"))
}

impl media::Host for GuestState {
    fn find(&mut self, digest: String) -> wasmtime::Result<Result<MediaRef, PluginError>> {
        self.count_call()?;
        Ok(match &self.access.media {
            Some(media) => media.find(&digest),
            None => Err(not_now("media")),
        })
    }

    fn read(
        &mut self,
        digest: String,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, PluginError>> {
        self.count_call()?;
        Ok(match &self.access.media {
            Some(media) => media.read(&digest, offset, length),
            None => Err(not_now("media")),
        })
    }
}

impl http::Host for GuestState {
    fn send(&mut self, request: http::Request) -> wasmtime::Result<Result<http::Response, PluginError>> {
        let mut results = self.send_all(vec![request])?;
        Ok(results.pop().unwrap_or_else(|| Err(not_now("http"))))
    }

    fn send_all(
        &mut self,
        requests: Vec<http::Request>,
    ) -> wasmtime::Result<Vec<Result<http::Response, PluginError>>> {
        self.count_calls(requests.len())?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        self.wait(|access, time| match &access.http {
            Some(http) => http.send(requests, time),
            None => requests.iter().map(|_| Err(not_now("http"))).collect(),
        })
    }
}

/// One result per request.
type ImportAnswers<A> = Vec<Result<A, PluginError>>;

impl GuestState {
    /// Sends requests to models, all concurrently.
    fn ask_models<Q, A>(
        &mut self,
        requests: Vec<Q>,
        ask: impl FnOnce(&ModelAccess, Vec<Q>, Duration) -> ImportAnswers<A>,
    ) -> wasmtime::Result<ImportAnswers<A>> {
        self.count_calls(requests.len())?;
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        self.wait(|access, time| match &access.models {
            Some(models) => ask(models, requests, time),
            None => requests.iter().map(|_| Err(not_now("llm"))).collect(),
        })
    }
}

/// Returns the answer to the only request.
fn only<A>(mut answers: ImportAnswers<A>) -> Result<A, PluginError> {
    answers.pop().unwrap_or_else(|| Err(not_now("llm")))
}

/// Requests with parameters other than an object fail in place.
fn generate(
    models: &ModelAccess,
    requests: Vec<GenerateRequest>,
    time: Duration,
) -> ImportAnswers<Generation> {
    let (mut sound, mut results) = (Vec::new(), Vec::new());
    for request in requests {
        results.push(model_request(request).map(|request| sound.push(request)));
    }
    let mut answers = models.generate(sound, time).into_iter();
    let mut next = || answers.next().unwrap_or_else(|| Err(not_now("llm")));
    results.into_iter().map(|result| result.and_then(|()| next())).collect()
}

impl llm::Host for GuestState {
    fn generate(&mut self, request: GenerateRequest) -> wasmtime::Result<Result<Generation, PluginError>> {
        self.generate_all(vec![request]).map(only)
    }

    fn generate_all(
        &mut self,
        requests: Vec<GenerateRequest>,
    ) -> wasmtime::Result<ImportAnswers<Generation>> {
        self.ask_models(requests, generate)
    }

    fn loglikelihood(
        &mut self,
        request: LoglikelihoodRequest,
    ) -> wasmtime::Result<Result<Vec<ContinuationScore>, PluginError>> {
        self.loglikelihood_all(vec![request]).map(only)
    }

    fn loglikelihood_all(
        &mut self,
        requests: Vec<LoglikelihoodRequest>,
    ) -> wasmtime::Result<ImportAnswers<Vec<ContinuationScore>>> {
        self.ask_models(requests, ModelAccess::loglikelihood)
    }

    fn rolling_loglikelihood(
        &mut self,
        request: RollingLoglikelihoodRequest,
    ) -> wasmtime::Result<Result<RollingScore, PluginError>> {
        self.rolling_loglikelihood_all(vec![request]).map(only)
    }

    fn rolling_loglikelihood_all(
        &mut self,
        requests: Vec<RollingLoglikelihoodRequest>,
    ) -> wasmtime::Result<ImportAnswers<RollingScore>> {
        self.ask_models(requests, ModelAccess::rolling_loglikelihood)
    }

    fn embed(&mut self, request: EmbedRequest) -> wasmtime::Result<Result<Vec<Vec<f32>>, PluginError>> {
        self.embed_all(vec![request]).map(only)
    }

    fn embed_all(&mut self, requests: Vec<EmbedRequest>) -> wasmtime::Result<ImportAnswers<Vec<Vec<f32>>>> {
        self.ask_models(requests, ModelAccess::embed)
    }
}

/// Maximum number of JSON values in the params of a request to a role.
const MAX_PARAMS_VALUES: usize = 1024;

fn model_request(request: GenerateRequest) -> Result<ModelRequest, PluginError> {
    let params = match gage_core::parse_json(request.params.as_bytes(), MAX_PARAMS_VALUES) {
        _ if request.params.is_empty() => gage_core::Object::new(),
        Ok(Value::Object(params)) => params,
        Ok(_) | Err(_) => {
            return Err(refuse(ErrorKind::InvalidInput, "the params of a request must be a JSON object"));
        }
    };
    Ok(ModelRequest { role: request.role, messages: request.messages, params })
}
