//! The keys of `model_output` that the host itself writes and reads.

/// The similarities of an answer and its references, made by the step `embed`.
pub(crate) const SEMANTIC: &str = "semantic";

/// The tokens of the models that tools asked.
pub(crate) const TOOL_USAGE: &str = "tool_usage";
