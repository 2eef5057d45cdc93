//! Models of the run that a plugin may call, within its budgets.

use super::{denied, exceeded, refuse};
use crate::bindings::llm::{EmbedRequest, LoglikelihoodRequest, RollingLoglikelihoodRequest, RollingScore};
use crate::bindings::types::{ContinuationScore, ErrorKind, Generation, Message, PluginError};
use gage_config::LlmGrant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A request to continue a conversation.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The `adapter_id` of the role.
    pub role: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Sampling parameters that override those of the role, as a JSON object.
    pub params: gage_core::Object,
}

/// Embeddings of texts, one vector per text.
pub type Vectors = Vec<Vec<f32>>;

/// Cause of a failed model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The request is invalid.
    Request,
    /// The backend of the role does not support the request.
    Unsupported,
    /// The model or its connection failed.
    Model,
}

/// Error of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Description of the error.
    pub message: String,
    /// Cause of the error.
    pub kind: ModelErrorKind,
}

/// The roles of a run, as plugins see them. All calls block, so they need threads that may block. Requests
/// run concurrently, as far as the pools of the roles allow, with one result per request, in order. A request
/// without an answer within `time` gives an error. Token usage is returned separately if the answer does not
/// include it.
pub trait Models: Send + Sync {
    /// Continues conversations.
    fn generate(&self, requests: Vec<ModelRequest>, time: Duration) -> Vec<Result<Generation, ModelError>>;

    /// Scores continuations of conversations, with one score per continuation.
    fn loglikelihood(
        &self,
        requests: Vec<LoglikelihoodRequest>,
        time: Duration,
    ) -> Vec<Result<(Vec<ContinuationScore>, u64), ModelError>>;

    /// Scores whole texts.
    fn rolling_loglikelihood(
        &self,
        requests: Vec<RollingLoglikelihoodRequest>,
        time: Duration,
    ) -> Vec<Result<RollingScore, ModelError>>;

    /// Embeds texts, with one vector per text of a request.
    fn embed(&self, requests: Vec<EmbedRequest>, time: Duration) -> Vec<Result<(Vectors, u64), ModelError>>;
}

/// Remaining budget of a grant.
struct LlmBudget {
    grant: LlmGrant,
    calls: AtomicU64,
    tokens: AtomicU64,
}

/// Models that a plugin may call.
pub(crate) struct ModelAccess {
    budgets: Vec<LlmBudget>,
    models: Arc<dyn Models>,
}

impl ModelAccess {
    pub(crate) fn new(grants: &[LlmGrant], models: Arc<dyn Models>) -> ModelAccess {
        let budget = |grant: &LlmGrant| LlmBudget {
            grant: grant.clone(),
            calls: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
        };
        ModelAccess { budgets: grants.iter().map(budget).collect(), models }
    }

    /// Deducts one call from the budget of a role.
    fn begin(&self, role: &str) -> Result<&LlmBudget, PluginError> {
        let Some(budget) = self.budgets.iter().find(|budget| budget.grant.role == role) else {
            let granted: Vec<&str> = self.budgets.iter().map(|budget| budget.grant.role.as_str()).collect();
            let shown: String = role.chars().take(80).collect();
            return Err(denied(format!(
                "the role '{shown}' is not granted; granted are: {}",
                granted.join(", ")
            )));
        };
        let (most_calls, most_tokens) = (budget.grant.max_calls, budget.grant.max_tokens);
        // Token counts are known only afterwards, so all calls that are under way by then may exceed the budget.
        if budget.tokens.load(Ordering::Relaxed) >= most_tokens {
            return Err(used_up(role, "tokens", most_tokens));
        }
        let taken = budget.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
            (calls < most_calls).then_some(calls + 1)
        });
        taken.map_err(|_| used_up(role, "calls", most_calls))?;
        Ok(budget)
    }

    /// Sends the requests that the budgets allow; the others fail in place. `tokens` returns an answer's
    /// token usage.
    fn ask<Q, A>(
        &self,
        requests: Vec<Q>,
        role: impl Fn(&Q) -> &str,
        ask: impl FnOnce(Vec<Q>) -> Vec<Result<A, ModelError>>,
        tokens: impl Fn(&A) -> u64,
    ) -> Vec<Result<A, PluginError>> {
        let begun: Vec<Result<&LlmBudget, PluginError>> =
            requests.iter().map(|request| self.begin(role(request))).collect();
        let allowed: Vec<Q> = requests
            .into_iter()
            .zip(&begun)
            .filter_map(|(request, begun)| begun.is_ok().then_some(request))
            .collect();
        let mut answers = ask(allowed).into_iter();
        let missing = || Err(refuse(ErrorKind::Upstream, "the model gave no answer"));
        begun
            .into_iter()
            .map(|begun| {
                let budget = begun?;
                let answer = answers.next().map_or_else(missing, |answer| answer.map_err(to_guest))?;
                budget.spend(tokens(&answer));
                Ok(answer)
            })
            .collect()
    }

    pub(crate) fn generate(
        &self,
        requests: Vec<ModelRequest>,
        time: Duration,
    ) -> Vec<Result<Generation, PluginError>> {
        let tokens = |generation: &Generation| {
            let usage = generation.usage.as_ref();
            usage.map_or(0, |usage| usage.prompt_tokens.saturating_add(usage.completion_tokens))
        };
        self.ask(requests, |request| &request.role, |allowed| self.models.generate(allowed, time), tokens)
    }

    pub(crate) fn loglikelihood(
        &self,
        requests: Vec<LoglikelihoodRequest>,
        time: Duration,
    ) -> Vec<Result<Vec<ContinuationScore>, PluginError>> {
        let ask = |allowed| self.models.loglikelihood(allowed, time);
        without_tokens(self.ask(requests, |request| &request.role, ask, |(_, tokens)| *tokens))
    }

    pub(crate) fn rolling_loglikelihood(
        &self,
        requests: Vec<RollingLoglikelihoodRequest>,
        time: Duration,
    ) -> Vec<Result<RollingScore, PluginError>> {
        let ask = |allowed| self.models.rolling_loglikelihood(allowed, time);
        self.ask(requests, |request| &request.role, ask, |score| score.token_count)
    }

    pub(crate) fn embed(
        &self,
        requests: Vec<EmbedRequest>,
        time: Duration,
    ) -> Vec<Result<Vectors, PluginError>> {
        let ask = |allowed| self.models.embed(allowed, time);
        without_tokens(self.ask(requests, |request| &request.role, ask, |(_, tokens)| *tokens))
    }
}

fn without_tokens<A>(results: Vec<Result<(A, u64), PluginError>>) -> Vec<Result<A, PluginError>> {
    results.into_iter().map(|result| result.map(|(answer, _)| answer)).collect()
}

impl LlmBudget {
    fn spend(&self, tokens: u64) {
        let add = |spent: u64| Some(spent.saturating_add(tokens));
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

fn used_up(role: &str, what: &str, most: u64) -> PluginError {
    exceeded(format!("the budget of the role '{role}' is used up: {most} {what}"))
}

fn to_guest(error: ModelError) -> PluginError {
    let kind = match error.kind {
        ModelErrorKind::Request => ErrorKind::InvalidInput,
        ModelErrorKind::Unsupported => ErrorKind::Unsupported,
        ModelErrorKind::Model => ErrorKind::Upstream,
    };
    PluginError { retryable: error.kind == ModelErrorKind::Model, ..refuse(kind, error.message) }
}
