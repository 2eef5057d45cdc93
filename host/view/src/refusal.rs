//! Refusals of requests.

use axum::http::StatusCode;

/// Reason why a request has no answer, worded without folders of this machine.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The requested name does not exist, or no longer does.
    Unknown(String),
    /// The data exists but cannot be read.
    Failed(String),
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refusal::Unknown(_) => StatusCode::NOT_FOUND,
            Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(crate) fn reason(&self) -> &str {
        let (Refusal::Unknown(reason) | Refusal::Failed(reason)) = self;
        reason
    }
}
