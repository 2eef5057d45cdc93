//! Models of the run, by the id of their role adapter; needs the grant `llm`, and only backends
//! may use it.
//!
//! Only works in a component: in unit tests there is no host, and every call panics.

use crate::PluginError;
use crate::bindings::llm;
use crate::bindings::types::{ContinuationScore, Generation, Message};
use serde_json::Value;

pub use llm::{GenerateRequest, LoglikelihoodRequest};

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
