//! Models of the run that a plugin may ask, within its budgets.

use super::{denied, exceeded, refuse};
use crate::bindings::llm::{EmbedRequest, LoglikelihoodRequest, RollingLoglikelihoodRequest, RollingScore};
use crate::bindings::types::{ContinuationScore, ErrorKind, Generation, Message, PluginError};
use gage_config::LlmGrant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A conversation that a plugin wants continued.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The `adapter_id` of the role.
    pub role: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Sampling parameters that win over those of the role, as a JSON object.
    pub params: gage_core::Object,
}

/// Vectors of texts, one for each.
pub type Vectors = Vec<Vec<f32>>;

/// What is to blame when a model gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The request itself.
    Request,
    /// The backend of the role does not offer what was asked.
    Unsupported,
    /// The model, or the way to it.
    Model,
}

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// In words.
    pub message: String,
    /// What is to blame.
    pub kind: ModelErrorKind,
}

/// The roles of a run, as plugins see them. All calls block, and are made from threads that may. Each asks at the
/// same time, as far as the pools of the roles allow, and gives one result for each request, in order; what has
/// no answer in `time` is an error. Beside an answer that does not say so itself stands how many tokens it took.
pub trait Models: Send + Sync {
    /// Continues conversations.
    fn generate(&self, requests: Vec<ModelRequest>, time: Duration) -> Vec<Result<Generation, ModelError>>;

    /// Scores continuations of conversations; one score for each continuation.
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

    /// Turns texts into vectors; one for each text of a request.
    fn embed(&self, requests: Vec<EmbedRequest>, time: Duration) -> Vec<Result<(Vectors, u64), ModelError>>;
}

/// What is left of one grant.
struct LlmBudget {
    grant: LlmGrant,
    calls: AtomicU64,
    tokens: AtomicU64,
}

/// The models that one plugin may ask.
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

    /// Takes one call from the budget of a role.
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
        // Tokens are known only afterwards, so the last call may go beyond, or the last list of calls that are made together.
        if budget.tokens.load(Ordering::Relaxed) >= most_tokens {
            return Err(used_up(role, "tokens", most_tokens));
        }
        let taken = budget.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
            (calls < most_calls).then_some(calls + 1)
        });
        taken.map_err(|_| used_up(role, "calls", most_calls))?;
        Ok(budget)
    }

    /// Asks what the budgets allow; the rest keeps its place. `tokens` says what an answer took.
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
