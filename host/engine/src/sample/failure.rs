//! The failure that ends a sample.

use gage_backend::BackendError;
use gage_core::Outcome;
use gage_plugin::ItemError;

/// Reason that a sample ends without a score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampleFailure {
    pub(crate) outcome: Outcome,
    /// A short name of the failure.
    pub(crate) kind: String,
    pub(crate) message: String,
}

impl SampleFailure {
    pub(crate) fn new(outcome: Outcome, kind: &str, message: impl Into<String>) -> SampleFailure {
        SampleFailure { outcome, kind: kind.to_owned(), message: message.into() }
    }

    /// Creates the failure of a component, or of its reply when the host cannot use it.
    pub(crate) fn of_plugin(kind: &str, message: impl Into<String>) -> SampleFailure {
        SampleFailure::new(Outcome::PluginError, kind, message)
    }

    /// Prefixes the message with the name of what failed.
    pub(crate) fn named(self, name: &str) -> SampleFailure {
        SampleFailure { message: format!("{name}: {}", self.message), ..self }
    }
}

impl From<BackendError> for SampleFailure {
    fn from(error: BackendError) -> SampleFailure {
        SampleFailure::new(Outcome::BackendError, error.kind.name(), error.message)
    }
}

impl From<ItemError> for SampleFailure {
    fn from(error: ItemError) -> SampleFailure {
        SampleFailure::new(error.outcome, error.kind, error.message)
    }
}

/// Reason that a step of a sample has no result.
#[derive(Debug)]
pub(crate) enum StepError {
    Failed(SampleFailure),
    /// The run is stopped, and the sample gets no record.
    Stopped,
}

impl From<SampleFailure> for StepError {
    fn from(failure: SampleFailure) -> StepError {
        StepError::Failed(failure)
    }
}
