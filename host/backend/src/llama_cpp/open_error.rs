//! Errors of opening a model, and the options that it is opened with.

use gage_config::{ChatTemplate, OutputConstraint};
use gage_core::SamplingParams;
use gage_model_protocol::ModelOptions;
use gage_model_protocol::gguf::GgufError;
use gage_template::ChatTemplateError;

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

/// Why a model could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlamaCppOpenError {
    /// The file cannot be read, or is not a model.
    #[error("{0}")]
    File(#[from] GgufError),
    /// An option cannot be used.
    #[error("{0}")]
    Setting(String),
    /// The program that runs models is not there.
    #[error("{0}")]
    Program(String),
    /// The reason that the process of the model gives.
    #[error("{0}")]
    Model(String),
    /// The chat template does not compile.
    #[error("{reason}; it is that of {origin}, give another one, or `none`")]
    ChatTemplate {
        /// Where it is from.
        origin: &'static str,
        /// Why it does not compile.
        reason: ChatTemplateError,
    },
    /// The process of the model could not be started, or ended.
    #[error("the model could not be started: {0}")]
    Ended(String),
}
