//! Models of the run, by the id of their role adapter; needs the grant `llm`, and only backends may use it.
//!
//! Only works in a component: in unit tests there is no host, and every call panics.

use crate::PluginError;
use crate::bindings::llm;
use crate::bindings::types::{ContinuationScore, Generation, Message};
use serde_json::Value;

pub use llm::{
    EmbedRequest, GenerateRequest, LoglikelihoodRequest, RollingLoglikelihoodRequest, RollingScore,
};

impl GenerateRequest {
    /// Creates a request for the model of a role to continue the messages.
    pub fn new(role: &str, messages: Vec<Message>) -> GenerateRequest {
        GenerateRequest { role: role.to_owned(), messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters, an object, that override those of the role.
    #[must_use]
    pub fn params(mut self, params: &Value) -> GenerateRequest {
        self.params = params.to_string();
        self
    }
}

/// Calls a model.
///
/// # Errors
/// Errors of the host: no grant for the role, an exhausted budget, or a failed model.
pub fn generate(request: &GenerateRequest) -> Result<Generation, PluginError> {
    llm::generate(request)
}

/// Calls a model concurrently, as far as the role's pool allows. Returns one result per request, in order.
pub fn generate_all(requests: &[GenerateRequest]) -> Vec<Result<Generation, PluginError>> {
    llm::generate_all(requests)
}

/// Returns the log-likelihood of each continuation of the messages, in order.
///
/// # Errors
/// Same as for [`generate`]; `unsupported` if the backend of the role has no log-likelihoods.
pub fn loglikelihood(
    role: &str,
    messages: Vec<Message>,
    continuations: Vec<String>,
) -> Result<Vec<ContinuationScore>, PluginError> {
    llm::loglikelihood(&LoglikelihoodRequest { role: role.to_owned(), messages, continuations })
}

/// Returns the log-likelihoods of continuations of several conversations, requested concurrently, as far as
/// the role's pool allows. Returns one result per request, in order.
pub fn loglikelihood_all(
    requests: &[LoglikelihoodRequest],
) -> Vec<Result<Vec<ContinuationScore>, PluginError>> {
    llm::loglikelihood_all(requests)
}

/// Returns the likelihood of a whole text, each token given the tokens before it.
///
/// # Errors
/// Same as for [`generate`]; `unsupported` if the backend of the role has no log-likelihood of whole texts.
pub fn rolling_loglikelihood(role: &str, text: &str) -> Result<RollingScore, PluginError> {
    llm::rolling_loglikelihood(&RollingLoglikelihoodRequest { role: role.to_owned(), text: text.to_owned() })
}

/// Returns the likelihoods of texts, requested concurrently, as far as the role's pool allows. Returns one
/// result per request, in order.
pub fn rolling_loglikelihood_all(
    requests: &[RollingLoglikelihoodRequest],
) -> Vec<Result<RollingScore, PluginError>> {
    llm::rolling_loglikelihood_all(requests)
}

/// Returns one embedding per text, in order, all of the same length, not normalized by the host. Counts as
/// one call of the grant.
///
/// # Errors
/// Same as for [`generate`]; `unsupported` if the backend of the role has no embeddings. It fails as a whole.
pub fn embed(role: &str, texts: Vec<String>) -> Result<Vec<Vec<f32>>, PluginError> {
    llm::embed(&EmbedRequest { role: role.to_owned(), texts })
}

/// Returns embeddings of several lists of texts, requested concurrently, as far as the role's pool allows.
/// Returns one result per list, in order.
pub fn embed_all(requests: &[EmbedRequest]) -> Vec<Result<Vec<Vec<f32>>, PluginError>> {
    llm::embed_all(requests)
}
