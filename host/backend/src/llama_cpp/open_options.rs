//! Options that a model is opened with.

use gage_config::{ChatTemplate, OutputConstraint, Replicas};
use gage_core::SamplingParams;
use gage_model_protocol::ModelOptions;
use std::time::Duration;

/// Options of a backend with a model.
#[derive(Clone, Debug)]
pub struct LlamaCppOptions {
    /// Options of the model file and its computation.
    pub model: ModelOptions,
    /// Number of processes that each run the model.
    pub replicas: Replicas,
    /// Source of the chat template that renders conversations.
    pub chat_template: ChatTemplate,
    /// Constraint on all answers.
    pub constraint: Option<OutputConstraint>,
    /// Number of alternatives recorded with the log-probability of each token of an answer.
    pub logprobs: Option<u32>,
    /// Time without a computed batch after which the model hangs.
    pub hang_timeout: Duration,
    /// Default sampling parameters for requests.
    pub default_params: SamplingParams,
}
