//! What all backends that are asked over HTTP have in common: connections, limits, attempts, recordings.

mod breaker;
mod budget;
mod call;
mod client;
mod concurrency;
mod failure;
mod hints;
mod host;
mod reply;
mod sse;
mod statistics;
mod taking;
mod tape;

pub(crate) use call::{HttpCall, ResponseParser};
pub(crate) use client::{Header, HttpClient, certificates_of};
pub(crate) use failure::{HttpFailure, Refusal};
pub use host::HttpHosts;
pub(crate) use reply::{ReplyReader, json_of};
pub use tape::{HttpRecording, RecordingError};
