//! Models of the run, by the id of their role adapter; needs the grant `llm`, and only backends
//! may use it.
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
    /// Asks the model of a role to continue the messages.
    pub fn new(role: &str, messages: Vec<Message>) -> GenerateRequest {
        GenerateRequest { role: role.to_owned(), messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters that win over those of the role; an object.
    #[must_use]
    pub fn params(mut self, params: &Value) -> GenerateRequest {
        self.params = params.to_string();
        self
    }
}

/// Asks a model.
///
/// # Errors
/// Those of the host: no grant for the role, a budget that is used up, a model that failed.
pub fn generate(request: &GenerateRequest) -> Result<Generation, PluginError> {
    llm::generate(request)
}

/// Asks at the same time, as far as the role's pool allows; one result for each, in order.
pub fn generate_all(requests: &[GenerateRequest]) -> Vec<Result<Generation, PluginError>> {
    llm::generate_all(requests)
}

/// The log-likelihood of each continuation of the messages, in order.
///
/// # Errors
/// As for [`generate`]; `unsupported` where the backend of the role has none.
pub fn loglikelihood(
    role: &str,
    messages: Vec<Message>,
    continuations: Vec<String>,
) -> Result<Vec<ContinuationScore>, PluginError> {
    llm::loglikelihood(&LoglikelihoodRequest { role: role.to_owned(), messages, continuations })
}

/// The log-likelihoods of continuations of several conversations, asked at the same time, as far as the role's pool
/// allows; one result for each, in order.
pub fn loglikelihood_all(
    requests: &[LoglikelihoodRequest],
) -> Vec<Result<Vec<ContinuationScore>, PluginError>> {
    llm::loglikelihood_all(requests)
}

/// Returns how likely a whole text is, each token given what stands before it.
///
/// # Errors
/// As for [`generate`]; `unsupported` where the backend of the role has no log-likelihood of whole texts.
pub fn rolling_loglikelihood(role: &str, text: &str) -> Result<RollingScore, PluginError> {
    llm::rolling_loglikelihood(&RollingLoglikelihoodRequest { role: role.to_owned(), text: text.to_owned() })
}

/// Returns how likely texts are, asked at the same time, as far as the role's pool allows; one result for each, in
/// order.
pub fn rolling_loglikelihood_all(
    requests: &[RollingLoglikelihoodRequest],
) -> Vec<Result<RollingScore, PluginError>> {
    llm::rolling_loglikelihood_all(requests)
}

/// One vector for each text, in order, all of one length; as the model gives them, of whatever norm. Counts as one
/// call of the grant.
///
/// # Errors
/// As for [`generate`]; `unsupported` where the backend of the role has no embeddings. It fails as a whole.
pub fn embed(role: &str, texts: Vec<String>) -> Result<Vec<Vec<f32>>, PluginError> {
    llm::embed(&EmbedRequest { role: role.to_owned(), texts })
}

/// Vectors of several lists of texts, asked at the same time, as far as the role's pool allows; one result for each
/// list, in order.
pub fn embed_all(requests: &[EmbedRequest]) -> Vec<Result<Vec<Vec<f32>>, PluginError>> {
    llm::embed_all(requests)
}
