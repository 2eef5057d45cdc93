//! Roles of a run that components may ask, within their grants.

use crate::api::{
    Backend, BackendError, BackendErrorKind, Continuation, EmbedRequest, GenerateRequest,
    LoglikelihoodRequest, RollingRequest,
};
use crate::guest::output_to_guest;
use futures::future::join_all;
use gage_core::{SamplingParams, Usage};
use gage_plugin::{
    ContinuationScore, Generation, LlmEmbedRequest, LlmLoglikelihoodRequest, LlmRollingRequest, Message,
    ModelError, ModelErrorKind, ModelRequest, Models, RollingScore, Vectors,
};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// A role that components may ask.
pub struct RoleModel {
    /// Backend; a weak reference, since a component that asks is itself part of a backend.
    pub backend: Weak<dyn Backend>,
    /// Sampling parameters.
    pub sampling_params: SamplingParams,
    /// Maximum number of concurrent requests.
    pub pool_size: usize,
}

struct Role {
    model: RoleModel,
    permits: Semaphore,
}

/// Roles of a run, by `adapter_id`.
pub struct RoleModels {
    roles: HashMap<String, Role>,
    runtime: tokio::runtime::Handle,
}

impl RoleModels {
    /// Creates roles whose requests are driven by a runtime.
    pub fn new(roles: HashMap<String, RoleModel>, runtime: tokio::runtime::Handle) -> RoleModels {
        let with_pool = |(id, model): (String, RoleModel)| {
            let permits = Semaphore::new(model.pool_size.max(1));
            (id, Role { model, permits })
        };
        RoleModels { roles: roles.into_iter().map(with_pool).collect(), runtime }
    }

    fn role(&self, id: &str) -> Result<(&Role, Arc<dyn Backend>), ModelError> {
        let role = self.roles.get(id).ok_or_else(|| of_run(format!("the role '{id}' is not open")))?;
        let backend = role.model.backend.upgrade();
        Ok((role, backend.ok_or_else(|| of_run("the run has ended".to_owned()))?))
    }

    async fn generate_one(&self, request: ModelRequest) -> Result<Generation, ModelError> {
        let (role, backend) = self.role(&request.role)?;
        let params = SamplingParams::from_object(request.params).map_err(|problems| {
            of_request(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let messages = messages_of(request.messages)?;
        let request = Box::new(GenerateRequest {
            id: format!("llm:{}", request.role),
            messages: messages.into(),
            prompt: None,
            params: params.over(&role.model.sampling_params),
            tools: Vec::new(),
            tool_choice: None,
            // Only the component knows whether two equal questions need one answer or two.
            draw: None,
            place: None,
        });
        // The semaphore is never closed.
        let _permit = role.permits.acquire().await;
        let reply = backend.generate(request).await.map_err(|error| model_error(&error))?;
        Ok(output_to_guest(reply.output))
    }

    async fn loglikelihood_one(
        &self,
        request: LlmLoglikelihoodRequest,
    ) -> Result<(Vec<ContinuationScore>, u64), ModelError> {
        let (role, backend) = self.role(&request.role)?;
        if request.continuations.is_empty() {
            return Err(of_request("there is no continuation to score".to_owned()));
        }
        let numbered = request.continuations.into_iter().enumerate();
        let request = LoglikelihoodRequest {
            id: format!("llm:{}", request.role),
            messages: messages_of(request.messages)?.into(),
            prompt: None,
            continuations: numbered
                .map(|(number, text)| Continuation { id: number.to_string(), text })
                .collect(),
        };
        let _permit = role.permits.acquire().await;
        let reply = backend.loglikelihood(request).await.map_err(|error| model_error(&error))?;
        let scores = reply.output.scores.into_iter().map(|score| ContinuationScore {
            logprob: score.logprob,
            token_count: score.token_count,
            is_greedy: score.is_greedy,
        });
        Ok((scores.collect(), tokens(reply.output.usage)))
    }

    async fn rolling_one(&self, request: LlmRollingRequest) -> Result<RollingScore, ModelError> {
        let (role, backend) = self.role(&request.role)?;
        if request.text.is_empty() {
            return Err(of_request("the text to score is empty".to_owned()));
        }
        let id = format!("llm:{}", request.role);
        let request = RollingRequest { id, text: request.text, has_special_tokens: false };
        let _permit = role.permits.acquire().await;
        let reply = backend.rolling_loglikelihood(request).await.map_err(|error| model_error(&error))?;
        let score = reply.output;
        Ok(RollingScore {
            logprob: score.logprob,
            token_count: score.token_count,
            byte_count: score.byte_count,
        })
    }

    async fn embed_one(&self, request: LlmEmbedRequest) -> Result<(Vectors, u64), ModelError> {
        let (role, backend) = self.role(&request.role)?;
        if request.texts.is_empty() {
            return Err(of_request("there is no text to embed".to_owned()));
        }
        let request = EmbedRequest { id: format!("llm:{}", request.role), texts: request.texts };
        let _permit = role.permits.acquire().await;
        let reply = backend.embed(request).await.map_err(|error| model_error(&error))?;
        Ok((reply.output.vectors, tokens(reply.output.usage)))
    }

    /// Asks all concurrently, each for at most `time`.
    fn ask_all<Q, A, F: Future<Output = Result<A, ModelError>>>(
        &self,
        requests: Vec<Q>,
        time: Duration,
        ask: impl Fn(Q) -> F,
    ) -> Vec<Result<A, ModelError>> {
        let ask = |request| {
            let answer = ask(request);
            async move { timeout(time, answer).await.unwrap_or_else(|_| Err(too_late(time))) }
        };
        self.runtime.block_on(async { join_all(requests.into_iter().map(ask)).await })
    }
}

impl Models for RoleModels {
    fn generate(&self, requests: Vec<ModelRequest>, time: Duration) -> Vec<Result<Generation, ModelError>> {
        self.ask_all(requests, time, |request| self.generate_one(request))
    }

    fn loglikelihood(
        &self,
        requests: Vec<LlmLoglikelihoodRequest>,
        time: Duration,
    ) -> Vec<Result<(Vec<ContinuationScore>, u64), ModelError>> {
        self.ask_all(requests, time, |request| self.loglikelihood_one(request))
    }

    fn rolling_loglikelihood(
        &self,
        requests: Vec<LlmRollingRequest>,
        time: Duration,
    ) -> Vec<Result<RollingScore, ModelError>> {
        self.ask_all(requests, time, |request| self.rolling_one(request))
    }

    fn embed(
        &self,
        requests: Vec<LlmEmbedRequest>,
        time: Duration,
    ) -> Vec<Result<(Vectors, u64), ModelError>> {
        self.ask_all(requests, time, |request| self.embed_one(request))
    }
}

fn tokens(usage: Option<Usage>) -> u64 {
    usage.map_or(0, |usage| usage.prompt_tokens.saturating_add(usage.completion_tokens))
}

fn too_late(time: Duration) -> ModelError {
    of_run(format!(
        "no answer within the {:.1} s that the plugin has left to wait (wait_time)",
        time.as_secs_f64()
    ))
}

fn messages_of(messages: Vec<Message>) -> Result<Vec<gage_core::Message>, ModelError> {
    if messages.is_empty() {
        return Err(of_request("the request has no messages".to_owned()));
    }
    messages.into_iter().map(gage_plugin::message_from_guest).collect::<Result<_, _>>().map_err(of_request)
}

fn of_request(message: String) -> ModelError {
    ModelError { message, kind: ModelErrorKind::Request }
}

fn of_run(message: String) -> ModelError {
    ModelError { message, kind: ModelErrorKind::Model }
}

fn model_error(error: &BackendError) -> ModelError {
    let kind = match error.kind {
        BackendErrorKind::Rejected | BackendErrorKind::ContextLength => ModelErrorKind::Request,
        BackendErrorKind::Unsupported => ModelErrorKind::Unsupported,
        _ => ModelErrorKind::Model,
    };
    ModelError { message: error.message.clone(), kind }
}
