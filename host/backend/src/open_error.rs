//! Open errors: a backend that cannot be opened, with the place in the configuration that is to blame.

use gage_config::Span;

/// A backend that cannot be opened, with the place in the configuration that is to blame.
#[derive(Clone, Debug)]
pub struct OpenError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}
