//! Shared core of the HTTP backends: connections, limits, attempts, recordings.

mod adaptive_concurrency;
mod circuit_breaker;
mod client;
mod failure;
mod host_limiter;
mod rate_limit_headers;
mod recording;
mod reply;
mod retry;
mod sse;
mod statistics;
mod throttle_state;
mod token_bucket;

pub(crate) use client::{Header, HttpClient, bearer, certificates_of};
pub(crate) use failure::{HttpFailure, Refusal};
pub use host_limiter::HttpHosts;
pub use recording::{HttpRecording, RecordingError};
pub(crate) use reply::{MAX_JSON_DEPTH, ReplyReader, json_of};
pub(crate) use retry::{HttpCall, ResponseParser};
pub(crate) use sse::BYTE_ORDER_MARK;
