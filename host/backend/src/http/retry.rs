//! Retries: handles one request from the first attempt to its end.
//!
//! `backon` 1.6 could handle the server's wait (`adjust`) and the slot released during the wait (`sleep`). But its
//! closures only receive the error of an attempt. Here the number of attempts depends on whether the host answered
//! other requests in the meantime. Schedule, condition and limit would all have to be closures of this module.

use super::client::{HttpClient, transport};
use super::failure::{HttpFailure, Refusal, backoff, shown};
use super::host_limiter::{AttemptOutcome, Rejected};
use super::rate_limit_headers;
use super::recording::{self, Exchange};
use super::reply::{BodyReader, ReplyReader, StreamedReply};
use super::statistics::Counters;
use crate::api::{BackendError, BackendErrorKind, Reply, RequestTiming};
use crate::cancellation::{retry_sleep, waiting};
use crate::conversation::{bytes_of, estimate, tokens_of};
use base64::Engine as _;
use bytes::Bytes;
use gage_core::ModelOutput;
use gage_secrets::{redact, redact_value_and_numbers};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::{Duration, Instant, SystemTime};

/// Maximum number of bytes read from the body of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Cost of an attempt, in quarters of a retry.
const RETRY_COST: u32 = 4;

/// Cost of a temporary refusal while others were answered: the host is healthy, and the request will get its turn.
const REFUSED_RETRY_COST: u32 = 1;

/// Prefix of the content type of a streamed answer.
const EVENT_STREAM: &str = "text/event-stream";

/// Time limit for reading the rest of a stream after its answer is complete.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(1);

/// A request to a server.
pub(crate) struct HttpCall<'c> {
    /// Name of the request in logs.
    pub(crate) id: &'c str,
    pub(crate) url: &'c reqwest::Url,
    pub(crate) body: Bytes,
    /// Estimated number of tokens, prompt and answer.
    pub(crate) tokens: u64,
}

/// Protocol-specific handling of refusals and answers.
#[derive(Clone, Copy)]
pub(crate) struct ResponseParser<T> {
    /// Classifies a refusal, and returns whether a retry may succeed.
    pub(crate) refusal: fn(&Refusal<'_>) -> (BackendErrorKind, bool),
    /// Returns the answer if a refusal is really one, such as from a content filter.
    pub(crate) refused_answer: fn(&Refusal<'_>) -> Option<T>,
    /// Returns the number of tokens that an answer used.
    pub(crate) tokens: fn(&T) -> Option<u64>,
}

impl<T> ResponseParser<T> {
    /// Returns the parser of a protocol without special cases.
    pub(crate) fn plain() -> ResponseParser<T> {
        ResponseParser { refusal: |refusal| refusal.kind(), refused_answer: |_| None, tokens: |_| None }
    }
}

/// Result of one attempt.
struct Attempt<T> {
    result: Result<T, HttpFailure>,
    first: Option<Duration>,
    outcome: AttemptOutcome,
    exhausted: Option<Duration>,
    /// Answer as received, if it is to be recorded.
    recorded: Option<Box<ParsedReply>>,
}

struct ParsedReply {
    status: u16,
    /// Content type in lower case.
    content_type: String,
    body: Bytes,
}

impl ParsedReply {
    fn new(status: u16, headers: &HeaderMap, body: Bytes) -> Box<ParsedReply> {
        Box::new(ParsedReply { status, content_type: content_type_of(headers).to_lowercase(), body })
    }
}

impl<T> Attempt<T> {
    fn new(result: Result<T, HttpFailure>, outcome: AttemptOutcome) -> Attempt<T> {
        Attempt { result, first: None, outcome, exhausted: None, recorded: None }
    }

    fn failed(failure: HttpFailure, outcome: AttemptOutcome) -> Attempt<T> {
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
        Ok(HttpCall { id, url, tokens: estimate(&body, longest), body })
    }
}

impl HttpClient {
    /// Requests an answer, and redacts secrets that the server may have echoed.
    pub(crate) async fn generate<R: ReplyReader<Output = ModelOutput>>(
        &self,
        call: HttpCall<'_>,
        reader: impl Fn() -> R + Send + Sync,
        parser: ResponseParser<ModelOutput>,
    ) -> Result<Reply<ModelOutput>, BackendError> {
        let parser = ResponseParser { tokens: tokens_of, ..parser };
        let mut reply = self.call(&call, reader, parser).await?;
        let ModelOutput { answer, extra, .. } = &mut reply.output;
        if let Cow::Owned(clean) = redact(answer) {
            *answer = clean;
        }
        redact_value_and_numbers(extra);
        Ok(reply)
    }

    /// Sends a request until it is answered, cannot succeed, or has no retries left.
    ///
    /// # Errors
    /// Returns the last failure, with advice on how to fix it.
    pub(crate) async fn call<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reader: impl Fn() -> R + Send + Sync,
        reading: ResponseParser<R::Output>,
    ) -> Result<Reply<R::Output>, BackendError> {
        Counters::add(&self.counters.requests, 1);
        let retry = &self.config.retry;
        let digest = self.recording.as_ref().map(|_| self.digest_of(call));
        let (mut attempts, mut tried) = (0, 0_u32);
        loop {
            let answers_before = self.host.answers();
            // Code that only recordings need is boxed, so that other requests reserve no space for it.
            let (attempt, latency) = match &digest {
                Some(digest) => {
                    Box::pin(self.replayed_or_sent(call, digest, &reader, &reading, attempts)).await?
                }
                None => self.send_once(call, &reader, &reading, attempts).await?,
            };
            attempts += 1;
            let failure = match attempt.result {
                Ok(output) => {
                    Counters::add(&self.counters.answered, 1);
                    if let Some(recorded) = attempt.recorded {
                        Box::pin(self.record(call, digest, *recorded)).await;
                    }
                    let timing = RequestTiming { latency, attempts, first_token: attempt.first };
                    return Ok(Reply { output, timing });
                }
                Err(failure) => failure,
            };
            let failure = self.check_retry_after(failure);
            let is_refused = failure.kind == BackendErrorKind::RateLimited;
            let is_contention = is_refused && self.host.answers() > answers_before;
            tried = tried.saturating_add(if is_contention { REFUSED_RETRY_COST } else { RETRY_COST });
            if failure.may_pass && tried <= retry.max_retries.saturating_mul(RETRY_COST) && !self.is_replay()
            {
                self.counters.count_retry(failure.kind);
                let wait = backoff(retry.first_wait, retry.max_wait, call.id, attempts, failure.retry_after);
                tracing::debug!(
                    request = %call.id, attempts, ?wait, "sent again: {}", redact(&failure.message)
                );
                // Starting another sample now would only get it refused as well and use up its retries, unless refusals
                // are unrelated to load.
                retry_sleep(wait, !is_refused || self.host.refuses_at_random()).await;
                continue;
            }
            self.counters.count_failure(failure.kind);
            if let Some(recorded) = attempt.recorded {
                Box::pin(self.record(call, digest, *recorded)).await;
            }
            return Err(self.error(call, failure, attempts));
        }
    }

    /// Waits for a slot of the host, sends a request once, and reports the outcome to the host. Also returns the
    /// latency.
    async fn send_once<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        attempts: u32,
    ) -> Result<(Attempt<R::Output>, Duration), BackendError> {
        let Ok(_permit) = waiting(self.permits.acquire()).await else {
            return Err(BackendError::new(BackendErrorKind::Internal, "the backend was closed"));
        };
        let permit = match waiting(self.host.acquire(call.tokens, self.config.connection.timeout)).await {
            Ok(permit) => permit,
            Err(rejected) => return Err(self.rejection_error(rejected, attempts)),
        };
        Counters::add(&self.counters.attempts, 1);
        Counters::add(&self.counters.bytes_sent, call.body.len());
        let began = Instant::now();
        let attempt = self.attempt(call, reader, reading, began).await;
        let latency = began.elapsed();
        let (retry_after, used) = match &attempt.result {
            Ok(output) => (None, (reading.tokens)(output)),
            Err(failure) => (failure.retry_after, None),
        };
        let bounded = |wait: Duration| wait.min(self.config.retry.max_retry_after);
        permit.end(attempt.outcome, retry_after.map(bounded), attempt.exhausted.map(bounded), used);
        Ok((attempt, latency))
    }

    /// Takes the attempt from a recording if there is one, or else sends the request once.
    async fn replayed_or_sent<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        digest: &str,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        attempts: u32,
    ) -> Result<(Attempt<R::Output>, Duration), BackendError> {
        match self.replayed(call, digest, reader, reading).await {
            Some(attempt) => Ok((attempt, Duration::ZERO)),
            None => self.send_once(call, reader, reading, attempts).await,
        }
    }

    fn is_replay(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.is_replay())
    }

    /// Ends a request if the server asks to wait longer than `retry_after_limit`.
    fn check_retry_after(&self, failure: HttpFailure) -> HttpFailure {
        let limit = self.config.retry.max_retry_after;
        match failure.retry_after {
            Some(asked) if failure.may_pass && asked > limit => HttpFailure {
                may_pass: false,
                message: format!(
                    "{}; the server asks to wait {} s, and `retry_after_limit` is {} s",
                    failure.message,
                    asked.as_secs(),
                    limit.as_secs()
                ),
                ..failure
            },
            _ => failure,
        }
    }

    fn error(&self, call: &HttpCall<'_>, failure: HttpFailure, attempts: u32) -> BackendError {
        let times = if attempts == 1 { "once".to_owned() } else { format!("{attempts} times") };
        let hint = match failure.kind {
            BackendErrorKind::Unauthorized => {
                format!("; check the key and its permissions: {}", self.config.key.described())
            }
            BackendErrorKind::QuotaExhausted => format!(
                "; the account has no credit left: add credit, or use another key ({})",
                self.config.key.described()
            ),
            BackendErrorKind::Connection | BackendErrorKind::Timeout => self.proxy_hint.clone(),
            _ => String::new(),
        };
        let message = format!("{}: {} (tried {times}){hint}", call.url, failure.message);
        BackendError { kind: failure.kind, message: redact(&message).into_owned(), attempts }
    }

    fn rejection_error(&self, rejected: Rejected, attempts: u32) -> BackendError {
        let (kind, message) = match rejected {
            Rejected::Closed => (BackendErrorKind::Internal, "the backend was closed".to_owned()),
            Rejected::OutOfReach(lasted) => (
                BackendErrorKind::Connection,
                format!(
                    "{} has been unreachable for {} s, so the request was given up (`outage_limit`)",
                    self.host_name,
                    lasted.as_secs()
                ),
            ),
        };
        self.counters.count_failure(kind);
        BackendError { kind, message, attempts }
    }

    /// Sends a request once.
    async fn attempt<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        began: Instant,
    ) -> Attempt<R::Output> {
        let failed = |error: &reqwest::Error, broken: AttemptOutcome| {
            let (failure, is_broken) = transport(error);
            Attempt::failed(failure, if is_broken { broken } else { AttemptOutcome::TimedOut })
        };
        let sent = self.client.post(call.url.clone()).body(call.body.clone()).send().await;
        let mut response = match sent {
            Ok(response) => response,
            Err(error) => return failed(&error, AttemptOutcome::ConnectionError),
        };
        let status = response.status().as_u16();
        let is_success = response.status().is_success();
        let headers = std::mem::take(response.headers_mut());
        let most = if is_success { self.config.connection.most_response_bytes } else { MAX_REFUSAL_BYTES };
        let content_type = content_type_of(&headers);
        if let Some(encoding) = encoding_of(&headers).filter(|_| is_success) {
            let message = format!("the answer is compressed ({encoding}), which was not requested");
            return Attempt::failed(
                HttpFailure::lasting(BackendErrorKind::Protocol, message),
                AttemptOutcome::Answered,
            );
        }
        let is_kept = self.recording.is_some();
        let is_stream = is_success && is_event_stream(content_type);
        let mut refusal = Vec::new();
        let streamed = is_stream.then(|| StreamedReply::new(reader(), began));
        let mut body_reader = BodyReader::new(streamed, is_kept, most);
        loop {
            match response.chunk().await {
                Ok(None) => break,
                Ok(Some(chunk)) if is_success => match body_reader.push(chunk) {
                    Ok(false) => {}
                    Ok(true) => {
                        drain(response);
                        break;
                    }
                    Err(failure) => {
                        let outcome = outcome_of(&failure);
                        return Attempt::failed(failure, outcome);
                    }
                },
                Ok(Some(chunk)) => {
                    refusal.extend_from_slice(&chunk);
                    if refusal.len() > MAX_REFUSAL_BYTES {
                        refusal.truncate(MAX_REFUSAL_BYTES);
                        break;
                    }
                }
                // The status is sufficient.
                Err(_) if !is_success => break,
                // If an answer broke off, the host is reachable.
                Err(error) => return failed(&error, AttemptOutcome::Answered),
            }
        }
        let received = body_reader.length() + refusal.len();
        Counters::add(&self.counters.bytes_received, received);
        let exhausted = rate_limit_headers::exhausted_for(&headers, call.tokens, SystemTime::now());
        if is_success {
            let (result, first, body) = body_reader.finish(reader);
            let recorded = is_kept.then(|| ParsedReply::new(status, &headers, body));
            let outcome = result.as_ref().err().map_or(AttemptOutcome::Answered, outcome_of);
            return Attempt { result, first, outcome, exhausted, recorded };
        }
        let outcome = if matches!(status, 429 | 503 | 529) {
            AttemptOutcome::Throttled
        } else {
            AttemptOutcome::Answered
        };
        let result = self.refused(status, &headers, &refusal, reading);
        let recorded = is_kept.then(|| ParsedReply::new(status, &headers, refusal.into()));
        Attempt { result, first: None, outcome, exhausted, recorded }
    }

    /// Interprets a status that is not a success.
    fn refused<T>(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        reading: &ResponseParser<T>,
    ) -> Result<T, HttpFailure> {
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
        } else if status == 404 {
            message.push_str("; are `base_url` and `model` right?");
        }
        let retry_after = rate_limit_headers::retry_after(headers, SystemTime::now())
            .or_else(|| rate_limit_headers::retry_delay(&parsed));
        Err(HttpFailure { kind, message, may_pass, retry_after })
    }

    /// Returns the recorded answer to a request; `None` if this run records.
    async fn replayed<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        digest: &str,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
    ) -> Option<Attempt<R::Output>> {
        let exchange = match self.recording.as_ref()?.answer(digest).await? {
            Ok(exchange) => exchange,
            Err(message) => {
                tracing::debug!(request = %call.id, "{message}");
                let failure = HttpFailure::lasting(BackendErrorKind::NotRecorded, message);
                return Some(Attempt::failed(failure, AttemptOutcome::Answered));
            }
        };
        let body = if exchange.is_base64 {
            base64::engine::general_purpose::STANDARD.decode(&exchange.body).unwrap_or_default()
        } else {
            exchange.body.into_bytes()
        };
        let result = if (200..300).contains(&exchange.status) {
            let is_stream = is_event_stream(&exchange.content_type);
            let streamed = is_stream.then(|| StreamedReply::new(reader(), Instant::now()));
            let mut body_reader = BodyReader::new(streamed, false, usize::MAX);
            match body_reader.push(body.into()) {
                Ok(_) => body_reader.finish(reader).0,
                Err(failure) => Err(failure),
            }
        } else {
            self.refused(exchange.status, &HeaderMap::new(), &body, reading)
        };
        Some(Attempt::new(result, AttemptOutcome::Answered))
    }

    /// Returns the digest of a request in a recording: of the backend, the body and the path, without the server's
    /// address or secrets.
    fn digest_of(&self, call: &HttpCall<'_>) -> String {
        let body =
            recording::public_body(&call.body, &self.config.extra_body, &self.config.public_extra_body);
        let mut hasher = blake3::Hasher::new();
        for part in [self.backend_id.as_bytes(), call.url.path().as_bytes(), &body] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex().to_string()
    }

    async fn record(&self, call: &HttpCall<'_>, digest: Option<String>, recorded: ParsedReply) {
        let (Some(recording), Some(digest)) = (&self.recording, digest) else { return };
        let (body, is_base64) = match String::from_utf8(recorded.body.into()) {
            Ok(text) => (recording::without_secrets_of(text, &recorded.content_type), false),
            Err(error) => {
                // Keys are ASCII, so they are found even if bytes are treated as characters.
                let text: String = error.as_bytes().iter().map(|byte| char::from(*byte)).collect();
                let text = redact(&text);
                let bytes: Vec<u8> =
                    text.chars().filter_map(|one| u8::try_from(u32::from(one)).ok()).collect();
                (base64::engine::general_purpose::STANDARD.encode(bytes), true)
            }
        };
        let exchange = Exchange {
            digest,
            backend_id: self.backend_id.clone(),
            path: call.url.path().to_owned(),
            status: recorded.status,
            content_type: recorded.content_type,
            body,
            is_base64,
        };
        recording.note(exchange).await;
    }
}

/// Reads the rest of a stream whose answer is complete, so that its connection can be reused.
///
/// If the server keeps the stream open, the connection is dropped.
fn drain(mut response: reqwest::Response) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        tokio::time::timeout(MAX_DRAIN_TIME, rest).await.ok();
    });
}

/// Returns the outcome of an attempt whose answer was a failure.
fn outcome_of(failure: &HttpFailure) -> AttemptOutcome {
    if failure.kind == BackendErrorKind::RateLimited {
        AttemptOutcome::Throttled
    } else {
        AttemptOutcome::Answered
    }
}

/// Returns the compression of a body, if any.
fn encoding_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_ENCODING)?.to_str().ok().filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
}

fn content_type_of(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_event_stream(content_type: &str) -> bool {
    content_type.get(..EVENT_STREAM.len()).is_some_and(|start| start.eq_ignore_ascii_case(EVENT_STREAM))
}
