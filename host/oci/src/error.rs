//! Errors of requests to a registry.

use std::fmt;

/// Kind of an [`OciError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OciErrorKind {
    /// The registry asks for credentials, or refuses them.
    Unauthorized,
    /// The registry does not have the package.
    NotFound,
    /// Something has another digest than expected.
    Digest,
    /// Something is larger than allowed.
    TooLarge,
    /// The registry sends nothing, or too slowly.
    Timeout,
    /// The registry cannot be reached, or closes the connection early.
    Unreachable,
    /// The registry cannot answer now: it has a fault, or gets too many requests.
    Unavailable,
    /// The registry refuses the request, or the request is not allowed here.
    Refused,
    /// What the registry sends is not a plugin, or cannot be read.
    Invalid,
}

/// Error of a request to a registry. It never shows credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciError {
    /// Kind of the error.
    pub kind: OciErrorKind,
    /// What was wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl OciError {
    pub(crate) fn new(kind: OciErrorKind, message: impl Into<String>) -> OciError {
        OciError { kind, message: message.into(), help: None }
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> OciError {
        OciError { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for OciError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(formatter, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OciError {}
