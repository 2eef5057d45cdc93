//! One attempt of a request: sends it, and reads the answer.

use super::answer_ids::AnswerId;
use super::client::HttpClient;
use super::failure::{HttpFailure, Refusal, shown};
use super::host_limiter::AttemptOutcome;
use super::rate_limit_headers;
use super::reply::{BodyReader, ReadBody, ReplyReader, StreamedReply};
use super::statistics::Counters;
use super::transport::{TransportBody, TransportReply, TransportRequest};
use crate::api::{BackendError, BackendErrorKind, SamplePlace};
use crate::conversation::{bytes_of, estimate};
use bytes::Bytes;
use gage_core::Object;
use gage_secrets::redact;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use serde::Serialize;
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// Maximum number of bytes read from the body of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Prefix of the content type of a streamed answer.
const EVENT_STREAM: &str = "text/event-stream";

/// Time limit for reading the rest of a stream after its answer is complete.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(1);

/// Every request with a multiple of this number closes its connection. That bounds the harm of a fault that no check finds.
const CONNECTION_LIFETIME: u64 = 256;

/// Message for an answer that may be one to another request.
const FOREIGN_ANSWER: &str =
    "the answer may belong to another request: its connection received two answers with one id";

/// A request to a server.
pub(crate) struct HttpCall<'c> {
    /// Name of the request in logs.
    pub(crate) id: &'c str,
    pub(crate) url: &'c reqwest::Url,
    pub(crate) body: Bytes,
    /// Estimated number of tokens, prompt and answer.
    pub(crate) tokens: u64,
    /// The sample, if this is the only request about it to the model under test.
    pub(crate) place: Option<SamplePlace>,
    /// True if the body has the default temperature, because the suite sets none.
    has_default_temperature: bool,
}

/// Protocol-specific handling of refusals and answers.
#[derive(Clone, Copy)]
pub(crate) struct ResponseParser<T> {
    /// Classifies a refusal, and returns whether a retry may succeed.
    pub(crate) refusal: fn(&Refusal<'_>) -> (BackendErrorKind, bool),
    /// Returns the answer if a refusal is really one, such as from a content filter.
    pub(crate) refused_answer: fn(&Refusal<'_>) -> Option<T>,
    /// Returns the setting of the backend that avoids a refusal, as a request.
    pub(crate) remedy: fn(&Refusal<'_>) -> Option<String>,
    /// Returns whether a model refuses to be given a temperature.
    pub(crate) refuses_temperature: fn(&Refusal<'_>) -> bool,
    /// Returns the number of tokens that an answer used.
    pub(crate) tokens: fn(&T) -> Option<u64>,
}

impl<T> ResponseParser<T> {
    /// Returns the parser of a protocol without special cases.
    pub(crate) fn plain() -> ResponseParser<T> {
        ResponseParser {
            refusal: |refusal| refusal.kind(),
            refused_answer: |_| None,
            remedy: |_| None,
            refuses_temperature: |_| false,
            tokens: |_| None,
        }
    }
}

/// Result of one attempt.
pub(super) struct Attempt<T> {
    pub(super) result: Result<T, HttpFailure>,
    pub(super) first: Option<Duration>,
    pub(super) outcome: AttemptOutcome,
    pub(super) exhausted: Option<Duration>,
    /// Answer as received, if it is to be recorded.
    pub(super) recorded: Option<Box<ParsedReply>>,
}

/// An answer as received.
pub(super) struct ParsedReply {
    pub(super) status: u16,
    /// Content type in lower case.
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

impl ParsedReply {
    fn new(status: u16, headers: &HeaderMap, body: Bytes) -> Box<ParsedReply> {
        Box::new(ParsedReply { status, content_type: content_type_of(headers).to_lowercase(), body })
    }
}

impl<T> Attempt<T> {
    pub(super) fn new(result: Result<T, HttpFailure>, outcome: AttemptOutcome) -> Attempt<T> {
        Attempt { result, first: None, outcome, exhausted: None, recorded: None }
    }

    pub(super) fn failed(failure: HttpFailure, outcome: AttemptOutcome) -> Attempt<T> {
        Attempt::new(Err(failure), outcome)
    }
}

impl<'c> HttpCall<'c> {
    /// Creates a request with a body that may generate up to `longest` tokens.
    pub(crate) fn new(
        id: &'c str,
        url: &'c reqwest::Url,
        body: &impl Serialize,
        longest: Option<u32>,
    ) -> Result<HttpCall<'c>, BackendError> {
        let body = bytes_of(body)?;
        let tokens = estimate(&body, longest);
        Ok(HttpCall { id, url, tokens, body, place: None, has_default_temperature: false })
    }

    /// Names the sample of the request.
    pub(crate) fn of_sample(self, place: Option<SamplePlace>) -> HttpCall<'c> {
        HttpCall { place, ..self }
    }

    /// Says whether the body has the default temperature, because the suite sets none.
    pub(crate) fn with_default_temperature(self, has_default_temperature: bool) -> HttpCall<'c> {
        HttpCall { has_default_temperature, ..self }
    }

    /// Returns the request without the default temperature, if its body has that.
    pub(super) fn without_temperature(&self) -> Option<Box<HttpCall<'c>>> {
        if !self.has_default_temperature {
            return None;
        }
        let mut body: Object = serde_json::from_slice(&self.body).ok()?;
        body.shift_remove("temperature")?;
        let (id, url, tokens) = (self.id, self.url, self.tokens);
        let body = bytes_of(&body).ok()?;
        Some(Box::new(HttpCall { id, url, body, tokens, place: None, has_default_temperature: false }))
    }
}

impl HttpClient {
    /// Sends a request once.
    pub(super) async fn attempt<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        began: Instant,
    ) -> Attempt<R::Output> {
        let number = self.counters.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let request = TransportRequest {
            url: call.url,
            body: call.body.clone(),
            closes_connection: number.is_multiple_of(CONNECTION_LIFETIME),
        };
        let reply = match self.transport.send(request).await {
            Ok(reply) => reply,
            Err(error) => {
                let (failure, outcome) = error.into_failure();
                return Attempt::failed(failure, outcome);
            }
        };
        if !(200..300).contains(&reply.status) {
            return self.read_refusal(call, reply, reading).await;
        }
        let connection = reply.connection;
        let turn = connection.and_then(|connection| self.answer_ids.turn(connection));
        let _turn = match turn {
            // The semaphore is never closed.
            Some(turn) => turn.acquire_owned().await.ok(),
            None => None,
        };
        let (attempt, id) = self.read_answer(call, reply, reader, began).await;
        match connection {
            Some(connection) if attempt.result.is_ok() && !self.answer_ids.check(connection, id) => {
                self.transport.retire_connections();
                Attempt::failed(HttpFailure::protocol(FOREIGN_ANSWER), AttemptOutcome::Answered)
            }
            _ => attempt,
        }
    }

    /// Reads an answer with the status of a success. Also returns its id.
    async fn read_answer<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reply: TransportReply,
        reader: &(impl Fn() -> R + Send + Sync),
        began: Instant,
    ) -> (Attempt<R::Output>, Option<AnswerId>) {
        let TransportReply { status, headers, mut body, .. } = reply;
        if let Some(encoding) = encoding_of(&headers) {
            let message = format!("the answer is compressed ({encoding}), which was not requested");
            let failure = HttpFailure::lasting(BackendErrorKind::Protocol, message);
            return (Attempt::failed(failure, AttemptOutcome::Answered), None);
        }
        let is_kept = self.recording.is_some();
        let is_stream = is_event_stream(content_type_of(&headers));
        let streamed = is_stream.then(|| StreamedReply::new(reader(), began));
        let mut body_reader = BodyReader::new(streamed, is_kept, self.config.connection.most_response_bytes);
        loop {
            match body.chunk().await {
                Ok(None) => break,
                Ok(Some(chunk)) => match body_reader.push(chunk) {
                    Ok(false) => {}
                    Ok(true) => {
                        drain(body);
                        break;
                    }
                    Err(failure) => {
                        let outcome = outcome_of(&failure);
                        return (Attempt::failed(failure, outcome), None);
                    }
                },
                Err(error) => {
                    let (failure, outcome) = error.into_failure();
                    // If an answer broke off, the host is reachable.
                    let is_late = outcome == AttemptOutcome::TimedOut;
                    let outcome = if is_late { outcome } else { AttemptOutcome::Answered };
                    return (Attempt::failed(failure, outcome), None);
                }
            }
        }
        Counters::add(&self.counters.bytes_received, body_reader.length());
        let exhausted = rate_limit_headers::exhausted_for(&headers, call.tokens, SystemTime::now());
        let ReadBody { result, id, first, body } = body_reader.finish(reader);
        let recorded = is_kept.then(|| ParsedReply::new(status, &headers, body));
        let outcome = result.as_ref().err().map_or(AttemptOutcome::Answered, outcome_of);
        (Attempt { result, first, outcome, exhausted, recorded }, id)
    }

    /// Reads an answer with another status.
    async fn read_refusal<T>(
        &self,
        call: &HttpCall<'_>,
        reply: TransportReply,
        reading: &ResponseParser<T>,
    ) -> Attempt<T> {
        let TransportReply { status, headers, mut body, .. } = reply;
        let mut text = Vec::new();
        // If the body breaks off, the status is sufficient.
        while let Ok(Some(chunk)) = body.chunk().await {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_REFUSAL_BYTES {
                text.truncate(MAX_REFUSAL_BYTES);
                break;
            }
        }
        Counters::add(&self.counters.bytes_received, text.len());
        let exhausted = rate_limit_headers::exhausted_for(&headers, call.tokens, SystemTime::now());
        let outcome = match status {
            429 => AttemptOutcome::Throttled,
            503 | 529 => AttemptOutcome::Overloaded,
            500..=599 => AttemptOutcome::ServerError,
            _ => AttemptOutcome::Answered,
        };
        let result = self.refused(status, &headers, &text, reading);
        let recorded = self.recording.is_some().then(|| ParsedReply::new(status, &headers, text.into()));
        Attempt { result, first: None, outcome, exhausted, recorded }
    }

    /// Interprets a status that is not a success.
    pub(super) fn refused<T>(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        reading: &ResponseParser<T>,
    ) -> Result<T, HttpFailure> {
        // A recording of others may hold more.
        let body = body.get(..MAX_REFUSAL_BYTES).unwrap_or(body);
        // Redact before truncating, or a part of a key would remain.
        let text = String::from_utf8_lossy(body);
        let text = redact(&text);
        let parsed: Value = serde_json::from_str(&text).unwrap_or_default();
        // Gemini wraps its errors in a list when streaming.
        let parsed = match parsed {
            Value::Array(mut items) if !items.is_empty() => items.swap_remove(0),
            other => other,
        };
        let refusal = Refusal { status, body: &parsed, text: &text };
        if let Some(output) = (reading.refused_answer)(&refusal) {
            return Ok(output);
        }
        let (kind, mut may_pass) = (reading.refusal)(&refusal);
        let advice = headers.get("x-should-retry").and_then(|value| value.to_str().ok());
        if !kind.stops_run() {
            may_pass = match advice {
                Some("true") => true,
                Some("false") => false,
                _ => may_pass,
            };
        }
        let said = shown(&refusal.message());
        let mut message =
            if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") };
        if (300..400).contains(&status) {
            let place = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
            let place = shown(place);
            message = format!(
                "{message}: the server redirects to {place}, and redirects are not followed; set `base_url` \
                 to the address that answers"
            );
        } else if let Some(remedy) = (reading.remedy)(&refusal) {
            message.push_str(&format!("; {remedy}"));
        } else if status == 404 {
            message.push_str("; are `base_url` and `model` right?");
        }
        let retry_after = rate_limit_headers::retry_after(headers, SystemTime::now())
            .or_else(|| rate_limit_headers::retry_delay(&parsed));
        let refuses_temperature = (reading.refuses_temperature)(&refusal);
        Err(HttpFailure { kind, message, may_pass, retry_after, refuses_temperature })
    }
}

/// Reads the rest of a stream whose answer is complete, so that its connection can be reused.
///
/// If the server keeps the stream open, the connection is dropped.
fn drain(mut body: Box<dyn TransportBody>) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = body.chunk().await {} };
        tokio::time::timeout(MAX_DRAIN_TIME, rest).await.ok();
    });
}

/// Returns the outcome of an attempt whose answer was a failure.
fn outcome_of(failure: &HttpFailure) -> AttemptOutcome {
    match failure.kind {
        BackendErrorKind::RateLimited => AttemptOutcome::Throttled,
        BackendErrorKind::Server => AttemptOutcome::ServerError,
        _ => AttemptOutcome::Answered,
    }
}

/// Returns the compression of a body, if any.
fn encoding_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_ENCODING)?.to_str().ok().filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
}

fn content_type_of(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(super) fn is_event_stream(content_type: &str) -> bool {
    content_type.get(..EVENT_STREAM.len()).is_some_and(|start| start.eq_ignore_ascii_case(EVENT_STREAM))
}
