//! Models of the run that a plugin may ask, within its budgets.

use super::refuse;
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

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// In words.
    pub message: String,
    /// Whether the request itself is to blame, rather than the model or the way to it.
    pub is_of_request: bool,
}

/// The roles of a run, as plugins see them. All calls block, and are made from threads that may.
pub trait Models: Send + Sync {
    /// Asks at the same time, as far as the pools of the roles allow; one result for each, in order.
    /// What has no answer in `time` is an error.
    fn generate(&self, requests: Vec<ModelRequest>, time: Duration) -> Vec<Result<Generation, ModelError>>;

    /// Scores continuations; one score for each.
    ///
    /// # Errors
    /// When the role's backend has no log-likelihoods, or fails.
    fn loglikelihood(
        &self,
        role: &str,
        messages: Vec<Message>,
        continuations: Vec<String>,
        time: Duration,
    ) -> Result<(Vec<ContinuationScore>, u64), ModelError>;
}

/// What is left of one grant.
struct Budget {
    grant: LlmGrant,
    calls: AtomicU64,
    tokens: AtomicU64,
}

/// The models that one plugin may ask.
pub(crate) struct ModelAccess {
    budgets: Vec<Budget>,
    models: Arc<dyn Models>,
}

impl ModelAccess {
    pub(crate) fn new(grants: &[LlmGrant], models: Arc<dyn Models>) -> ModelAccess {
        let budget = |grant: &LlmGrant| Budget {
            grant: grant.clone(),
            calls: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
        };
        ModelAccess { budgets: grants.iter().map(budget).collect(), models }
    }

    /// Takes one call from the budget of a role.
    fn begin(&self, role: &str) -> Result<&Budget, PluginError> {
        let Some(budget) = self.budgets.iter().find(|budget| budget.grant.role == role) else {
            let granted: Vec<&str> = self.budgets.iter().map(|budget| budget.grant.role.as_str()).collect();
            let shown: String = role.chars().take(80).collect();
            return Err(refuse(
                ErrorKind::Denied,
                format!("the role '{shown}' is not granted; granted are: {}", granted.join(", ")),
            ));
        };
        let (most_calls, most_tokens) = (budget.grant.max_calls, budget.grant.max_tokens);
        // Tokens are known only afterwards, so the last call may go beyond.
        if budget.tokens.load(Ordering::Relaxed) >= most_tokens {
            return Err(used_up(role, "tokens", most_tokens));
        }
        let taken = budget.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
            (calls < most_calls).then_some(calls + 1)
        });
        taken.map_err(|_| used_up(role, "calls", most_calls))?;
        Ok(budget)
    }

    pub(crate) fn generate(
        &self,
        requests: Vec<ModelRequest>,
        time: Duration,
    ) -> Vec<Result<Generation, PluginError>> {
        let begun: Vec<Result<&Budget, PluginError>> =
            requests.iter().map(|request| self.begin(&request.role)).collect();
        let allowed: Vec<ModelRequest> = requests
            .into_iter()
            .zip(&begun)
            .filter_map(|(request, begun)| begun.is_ok().then_some(request))
            .collect();
        let mut answers = self.models.generate(allowed, time).into_iter();
        let missing = || Err(refuse(ErrorKind::Upstream, "the model gave no answer"));
        begun
            .into_iter()
            .map(|begun| {
                let budget = begun?;
                let generation = answers.next().map_or_else(missing, |answer| answer.map_err(to_guest))?;
                if let Some(usage) = generation.usage {
                    budget.spend(usage.prompt_tokens.saturating_add(usage.completion_tokens));
                }
                Ok(generation)
            })
            .collect()
    }

    pub(crate) fn loglikelihood(
        &self,
        role: &str,
        messages: Vec<Message>,
        continuations: Vec<String>,
        time: Duration,
    ) -> Result<Vec<ContinuationScore>, PluginError> {
        let budget = self.begin(role)?;
        let (scores, tokens) =
            self.models.loglikelihood(role, messages, continuations, time).map_err(to_guest)?;
        budget.spend(tokens);
        Ok(scores)
    }
}

impl Budget {
    fn spend(&self, tokens: u64) {
        let add = |spent: u64| Some(spent.saturating_add(tokens));
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

fn used_up(role: &str, what: &str, most: u64) -> PluginError {
    refuse(ErrorKind::LimitExceeded, format!("the budget of the role '{role}' is used up: {most} {what}"))
}

fn to_guest(error: ModelError) -> PluginError {
    let kind = if error.is_of_request { ErrorKind::InvalidInput } else { ErrorKind::Upstream };
    PluginError { retryable: !error.is_of_request, ..refuse(kind, error.message) }
}
