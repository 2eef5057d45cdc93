//! Errors of a comparison.

use gage_figures::FiguresError;
use thiserror::Error;

/// Reason why two runs cannot be compared at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A run folder cannot be read.
    #[error(transparent)]
    Report(#[from] FiguresError),

    /// The gate names something that neither run has.
    #[error("{what}; expected one of: {known}")]
    UnknownInGate {
        /// The unknown name, with the nearest known one.
        what: String,
        /// The known names.
        known: String,
    },

    /// The gate is on a metric that is never compared.
    #[error(
        "the gate is on {what}, which is never compared: {why}; gate another metric, or judge by another gate with --gate"
    )]
    NeverCompared {
        /// The metric, and the task if the gate names one.
        what: String,
        /// Reason why the metric is never compared.
        why: &'static str,
    },

    /// The margin of a gate is at least as large as the largest possible loss.
    #[error(
        "the margin {margin} of {what} is as wide as its whole scale, from {low} to {high}: no run could lose more, so the \
         gate could never fail; name the largest loss that you accept, such as {suggested}"
    )]
    MarginTooWide {
        /// The margin.
        margin: String,
        /// The metric, or its sub-score, and the task.
        what: String,
        /// The smallest possible score.
        low: String,
        /// The largest possible score.
        high: String,
        /// An example of a meaningful margin.
        suggested: String,
    },
}

impl From<gage_record::RecordError> for CompareError {
    fn from(error: gage_record::RecordError) -> CompareError {
        CompareError::Report(error.into())
    }
}
