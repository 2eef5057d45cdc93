//! Shared core of the HTTP backends: connections, limits, attempts, recordings.

mod adaptive_concurrency;
mod answer_ids;
mod attempt;
mod batch;
mod client;
mod clock;
mod early_retry;
mod failure;
mod first_answers;
mod host_limiter;
mod hosts;
mod rate_limit_headers;
mod recorded_exchange;
mod recording;
mod reply;
mod retry;
mod retry_course;
mod server_health;
mod sse;
mod statistics;
mod throttle_state;
mod token_bucket;
mod transport;

pub(crate) use answer_ids::{AnswerId, PieceIds};
pub(crate) use attempt::{HttpCall, ResponseParser};
pub use batch::{BatchError, BatchReport, HttpBatch, TakenResults};
pub(crate) use client::{Header, HttpClient, bearer};
pub(crate) use failure::{HttpFailure, MAX_TOOL_CALLS, Refusal};
pub use hosts::HttpHosts;
pub use recording::{HttpRecording, RecordingError};
pub(crate) use reply::{MAX_JSON_DEPTH, ReplyReader, json_of, typed_json_of};
pub use server_health::HealthState;
pub(crate) use sse::BYTE_ORDER_MARK;
pub(crate) use transport::certificates_of;
pub use transport::{
    ConnectionKey, Transport, TransportBody, TransportError, TransportErrorKind, TransportReply,
    TransportRequest,
};
