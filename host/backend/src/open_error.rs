//! Error of opening a backend, with its place in the configuration.

use gage_config::Span;

/// Error of opening a backend, with its place in the configuration.
#[derive(Clone, Debug)]
pub struct OpenError {
    /// Place in the configuration.
    pub span: Span,
    /// Description of the error.
    pub message: String,
    /// Advice on how to fix it.
    pub help: Option<String>,
}
