//! Refusals: why a request has no answer.

use axum::http::StatusCode;

/// Why a request has no answer, in words that name no folder of this machine.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is nothing of that name, or not any more.
    Unknown(String),
    /// What is there cannot be read.
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
