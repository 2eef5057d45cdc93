//! The options that a model is opened with.

use gage_config::{ChatTemplate, OutputConstraint};
use gage_core::SamplingParams;
use gage_model_protocol::ModelOptions;

/// The options of a backend with a model.
#[derive(Clone, Debug)]
pub struct LlamaCppOptions {
    /// What is loaded, and how it computes.
    pub model: ModelOptions,
    /// How conversations become text.
    pub chat_template: ChatTemplate,
    /// What all answers are held to.
    pub constraint: Option<OutputConstraint>,
    /// How many alternatives are recorded with the log-probability of each token of an answer.
    pub logprobs: Option<u32>,
    /// Sampling parameters where a request does not say otherwise.
    pub default_params: SamplingParams,
}
