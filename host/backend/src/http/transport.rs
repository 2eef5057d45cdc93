//! Sending of requests, below limits and retries. Tests replace the network by a simulation.

mod network;

pub(super) use network::NetworkTransport;
pub(crate) use network::certificates_of;

use super::failure::HttpFailure;
use super::host_limiter::AttemptOutcome;
use crate::api::BackendErrorKind;
use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::HeaderMap;
use std::net::SocketAddr;

/// Sends requests, and receives the answers.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request, and waits for the head of its answer.
    async fn send(&self, request: TransportRequest<'_>) -> Result<TransportReply, TransportError>;

    /// Keeps no connection of earlier requests for later ones.
    fn retire_connections(&self);
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct TransportRequest<'r> {
    /// Address.
    pub url: &'r reqwest::Url,
    /// Body, as JSON.
    pub body: Bytes,
    /// True if its connection is closed after the answer.
    pub closes_connection: bool,
}

/// The head of an answer, and its body.
pub struct TransportReply {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The connection, if it carries one answer after another.
    pub connection: Option<ConnectionKey>,
    /// Body.
    pub body: Box<dyn TransportBody>,
}

/// Body of an answer, as it arrives.
#[async_trait]
pub trait TransportBody: Send {
    /// Returns the next piece; `None` at the end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError>;
}

/// Identity of a connection: its address on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionKey(pub SocketAddr);

/// Failure to send a request or to receive its answer.
#[derive(Clone, Debug)]
pub struct TransportError {
    /// Kind of the failure.
    pub kind: TransportErrorKind,
    /// Description, without the address.
    pub message: String,
}

/// Kinds of [`TransportError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportErrorKind {
    /// No connection could be made: refused, no such host, no answer to it in time.
    Unreachable {
        /// True if a time limit ended the attempt.
        is_late: bool,
    },
    /// The connection broke.
    Broken,
    /// The answer did not arrive in time.
    TimedOut,
    /// The server's certificate is not trusted, or its port does not speak TLS. A retry will not change that.
    Tls,
    /// The request cannot be built.
    InvalidRequest,
}

impl TransportError {
    /// Returns the failure of the request, and the outcome as far as the host is concerned.
    pub(super) fn into_failure(self) -> (HttpFailure, AttemptOutcome) {
        let TransportError { kind, message } = self;
        match kind {
            TransportErrorKind::Unreachable { is_late } => {
                let kind = if is_late { BackendErrorKind::Timeout } else { BackendErrorKind::Connection };
                let outcome = AttemptOutcome::ConnectionError { is_unreachable: true };
                (HttpFailure::passing(kind, message), outcome)
            }
            TransportErrorKind::Broken => (
                HttpFailure::passing(BackendErrorKind::Connection, message),
                AttemptOutcome::ConnectionError { is_unreachable: false },
            ),
            TransportErrorKind::TimedOut => {
                (HttpFailure::passing(BackendErrorKind::Timeout, message), AttemptOutcome::TimedOut)
            }
            TransportErrorKind::Tls => {
                (HttpFailure::lasting(BackendErrorKind::Connection, message), AttemptOutcome::Unrelated)
            }
            TransportErrorKind::InvalidRequest => {
                (HttpFailure::lasting(BackendErrorKind::Internal, message), AttemptOutcome::Unrelated)
            }
        }
    }
}
