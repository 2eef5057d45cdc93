//! Retries: handles one request from the first attempt to its end.
//!
//! `backon` 1.6 could handle the server's wait (`adjust`) and the slot released during the wait (`sleep`). But its
//! closures only receive the error of an attempt. Here the number of attempts depends on whether the host answered
//! other requests in the meantime. Schedule, condition and limit would all have to be closures of this module.

use super::attempt::{Attempt, HttpCall, ResponseParser, is_event_stream};
use super::batch::{BatchAnswer, BatchRequest, BatchResult, HttpBatch};
use super::client::HttpClient;
use super::clock::now;
use super::failure::HttpFailure;
use super::first_answers::MAX_SAME_FAILURES;
use super::host_limiter::{AttemptEnd, AttemptOutcome, Rejected};
use super::reply::{BodyReader, ReplyReader, StreamedReply};
use super::retry_course::{FailedAttempt, RetryCourse};
use super::server_health::Loss;
use super::statistics::Counters;
use crate::api::{BackendError, BackendErrorKind, Reply, RequestTiming};
use crate::cancellation::{cancellation_point, has_failed_before, retry_pause, waiting};
use crate::conversation::tokens_of;
use base64::Engine as _;
use gage_core::ModelOutput;
use gage_secrets::{redact, redact_value_and_numbers};
use reqwest::header::HeaderMap;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Number of outstanding requests from which on a wait that is too long may concern all of them.
const MIN_OUTSTANDING: usize = 3;

/// Returns true if a text contains a known secret.
fn is_secret(body: &[u8]) -> bool {
    matches!(redact(&String::from_utf8_lossy(body)), Cow::Owned(_))
}

/// An attempt that has ended.
struct EndedAttempt<T> {
    attempt: Attempt<T>,
    latency: Duration,
    /// True if the host is away.
    is_away: bool,
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
        // Boxed, so that other requests reserve no space for it.
        if let Some(batch) = &self.batch
            && let Some(answer) = Box::pin(self.answer_in_bulk(batch, call, &reader, &reading)).await
        {
            return answer;
        }
        self.check_key()?;
        Counters::add(&self.counters.requests, 1);
        let _outstanding = self.host.enter();
        let digest = self.recording.as_ref().map(|_| self.digest_of(call));
        let mut course = RetryCourse::new(has_failed_before());
        let omits = self.omits_temperature.load(Ordering::Relaxed);
        let mut reduced = omits.then(|| call.without_temperature()).flatten();
        loop {
            let sent = reduced.as_deref().unwrap_or(call);
            let answers_before = self.host.answers();
            // Code that only recordings need is boxed, so that other requests reserve no space for it.
            let ended = match &digest {
                Some(digest) => {
                    Box::pin(self.replayed_or_sent(sent, digest, &reader, &reading, &course)).await?
                }
                None => self.send_once(sent, &reader, &reading, &course).await?,
            };
            let EndedAttempt { attempt, latency, is_away } = ended;
            course.attempts += 1;
            let failure = match attempt.result {
                Ok(output) => {
                    Counters::add(&self.counters.answered, 1);
                    self.first_answers.on_answer();
                    if reduced.is_some() {
                        self.omit_temperature();
                    }
                    if let Some(recorded) = attempt.recorded {
                        Box::pin(self.record(call, digest, *recorded)).await?;
                    }
                    let attempts = course.attempts;
                    let timing = RequestTiming { latency, attempts, first_token: attempt.first };
                    return Ok(Reply { output, timing });
                }
                Err(failure) => failure,
            };
            if failure.refuses_temperature && reduced.is_none() && !self.is_replay() {
                reduced = call.without_temperature();
                if reduced.is_some() {
                    self.counters.count_retry(failure.kind);
                    continue;
                }
            }
            course.has_answered = self.host.answers() > answers_before;
            let failure = self.check_retry_after(failure, course.has_answered);
            let is_hopeless = self.first_answers.on_failed_attempt(&failure);
            if !is_hopeless && self.may_retry(&mut course, &failure, attempt.outcome, is_away) {
                self.counters.count_retry(failure.kind);
                Box::pin(self.wait_for_retry(call, &mut course, &failure, attempt.outcome, is_away)).await;
                continue;
            }
            self.counters.count_failure(failure.kind);
            if let Some(recorded) = attempt.recorded {
                Box::pin(self.record(call, digest, *recorded)).await?;
            }
            return Err(self.final_error(call, failure, course.attempts));
        }
    }

    /// Returns true if a request is sent again, after adding the cost of the failed attempt.
    fn may_retry(
        &self,
        course: &mut RetryCourse,
        failure: &HttpFailure,
        outcome: AttemptOutcome,
        is_away: bool,
    ) -> bool {
        let attempt = FailedAttempt {
            is_throttled: failure.kind == BackendErrorKind::RateLimited,
            is_overloaded: outcome == AttemptOutcome::Overloaded,
            is_away,
            answers: self.host.answers(),
            now: now(),
        };
        let has_retries = course.on_failure(attempt, &self.config.retry);
        failure.may_pass && has_retries && !self.is_replay()
    }

    /// Waits before a retry, without holding a slot.
    async fn wait_for_retry(
        &self,
        call: &HttpCall<'_>,
        course: &mut RetryCourse,
        failure: &HttpFailure,
        outcome: AttemptOutcome,
        is_away: bool,
    ) {
        // The waits below may end at once, and the next attempt may be a probe that is due. A run that is stopping would
        // then never end the request.
        cancellation_point().await;
        // A request to a host that is away waits for its turn as a probe.
        if is_away && failure.retry_after.is_none() {
            course.is_early = false;
            return;
        }
        let RetryCourse { attempts, .. } = *course;
        let wait = self.backoff.wait(call.id, attempts, failure.retry_after);
        tracing::debug!(
            request = %call.id, attempts, ?wait, "sent again: {}", redact(&failure.message)
        );
        // Starting another sample now would only get it refused as well and use up its retries, unless refusals are
        // unrelated to load. An overloaded host that answers nothing may be away, which further samples show.
        let is_refusal = match outcome {
            AttemptOutcome::Throttled => true,
            AttemptOutcome::Overloaded => course.has_answered,
            _ => false,
        };
        let invites = !is_refusal || self.host.refuses_at_random();
        let pause = self.host.retry_wait(wait, failure.retry_after.is_some());
        course.is_early = retry_pause(pause, invites).await;
    }

    /// Waits for a slot of the host, sends a request once, and reports the outcome to the host.
    async fn send_once<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        course: &RetryCourse,
    ) -> Result<EndedAttempt<R::Output>, BackendError> {
        let Ok(_permit) = waiting(self.permits.acquire()).await else {
            return Err(BackendError::new(BackendErrorKind::Internal, "the backend was closed"));
        };
        let permit = match waiting(self.host.acquire(call.tokens, course.is_early)).await {
            Ok(permit) => permit,
            Err(rejected) => return Err(self.rejection_error(&rejected, course.attempts)),
        };
        Counters::add(&self.counters.bytes_sent, call.body.len());
        let began = now();
        let mut attempt = self.attempt(call, reader, reading, began).await;
        attempt.result = attempt.result.map_err(HttpFailure::shortened);
        let latency = now().saturating_duration_since(began);
        let limit = self.config.retry.max_retry_after;
        let (mut cause, asked, used_tokens) = match &attempt.result {
            Ok(output) => (String::new(), None, (reading.tokens)(output)),
            Err(failure) => (failure.cause().to_owned(), failure.retry_after, None),
        };
        let too_long_wait = asked.and_then(|wait| self.too_long_wait(wait));
        if let Some(wait) = &too_long_wait {
            cause = format!("{cause}; {wait}");
        }
        let is_away = permit.end(&AttemptEnd {
            outcome: attempt.outcome,
            request: call.id,
            is_suspect: course.is_suspect,
            cause: &cause,
            retry_after: asked.filter(|wait| *wait <= limit),
            is_wait_too_long: too_long_wait.is_some(),
            exhausted: attempt.exhausted.map(|wait| wait.min(limit)),
            used_tokens,
        });
        Ok(EndedAttempt { attempt, latency, is_away })
    }

    /// Takes the attempt from a recording if there is one, or else sends the request once.
    async fn replayed_or_sent<R: ReplyReader>(
        &self,
        call: &HttpCall<'_>,
        digest: &str,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
        course: &RetryCourse,
    ) -> Result<EndedAttempt<R::Output>, BackendError> {
        match self.replayed(call, digest, reader, reading).await {
            Some(attempt) => Ok(EndedAttempt { attempt, latency: Duration::ZERO, is_away: false }),
            None => self.send_once(call, reader, reading, course).await,
        }
    }

    fn is_replay(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.is_replay())
    }

    /// Ends a request if the server asks to wait longer than `retry_after_limit`, unless that may concern all requests:
    /// then the health of the host decides.
    fn check_retry_after(&self, failure: HttpFailure, has_answered: bool) -> HttpFailure {
        let asked = failure.retry_after.filter(|_| failure.may_pass);
        let Some(wait) = asked.and_then(|asked| self.too_long_wait(asked)) else {
            return failure;
        };
        let concerns_all = !has_answered && self.host.outstanding() >= MIN_OUTSTANDING;
        let message = format!("{}; {wait}", failure.message);
        HttpFailure { may_pass: concerns_all, retry_after: None, message, ..failure }
    }

    /// Describes a wait that the server asks for, if it is longer than `retry_after_limit`.
    fn too_long_wait(&self, asked: Duration) -> Option<String> {
        let limit = self.config.retry.max_retry_after;
        (asked > limit).then(|| {
            let (asked, limit) = (asked.as_secs(), limit.as_secs());
            format!("the server asks to wait {asked} s, and `retry_after_limit` is {limit} s")
        })
    }

    /// Returns the error of a request that ended without an answer.
    fn final_error(&self, call: &HttpCall<'_>, failure: HttpFailure, attempts: u32) -> BackendError {
        let is_hopeless = self.first_answers.on_failure(&failure);
        let advice = match failure.cause() {
            "status 400" | "status 422" if !failure.message.contains("; set `") => {
                "; correct what the server names: the model, or a parameter of the request"
            }
            // The others have advice of their own.
            _ => "",
        };
        let error = self.error(call, failure, attempts);
        if !is_hopeless {
            return error;
        }
        let message = format!("none of {MAX_SAME_FAILURES} requests was answered: {}{advice}", error.message);
        BackendError { kind: BackendErrorKind::NeverAnswered, message, attempts }
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

    fn rejection_error(&self, rejected: &Rejected, attempts: u32) -> BackendError {
        let (kind, message) = match rejected {
            Rejected::Closed => (BackendErrorKind::Internal, "the backend was closed".to_owned()),
            Rejected::Lost(loss) => {
                let Loss { cause, lasted, is_throttled } = loss;
                let (host, seconds) = (&self.host_name, lasted.as_secs_f64().ceil());
                let message = if *is_throttled {
                    format!(
                        "{host} has refused every request for {seconds} s ({cause}); see `retry_after_limit`"
                    )
                } else {
                    let hint = &self.proxy_hint;
                    format!("{host} has answered nothing for {seconds} s ({cause}); see `outage_limit`{hint}")
                };
                (BackendErrorKind::ServerLost, message)
            }
        };
        self.counters.count_failure(kind);
        BackendError { kind, message, attempts }
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
        let result = self.read_stored(exchange.status, &exchange.content_type, body, reader, reading);
        Some(Attempt::new(result, AttemptOutcome::Answered))
    }

    /// Reads an answer from a file as if the server had sent it now.
    fn read_stored<R: ReplyReader>(
        &self,
        status: u16,
        content_type: &str,
        body: Vec<u8>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
    ) -> Result<R::Output, HttpFailure> {
        if !(200..300).contains(&status) {
            return self.refused(status, &HeaderMap::new(), &body, reading);
        }
        let streamed = is_event_stream(content_type).then(|| StreamedReply::new(reader(), now()));
        let most = self.config.connection.most_response_bytes;
        let mut body_reader = BodyReader::new(streamed, false, most);
        body_reader.push(body.into())?;
        body_reader.finish(reader).result
    }

    /// Answers a request from the results of a batch, or writes it down for one. `None` if it is sent. A request without a
    /// good result stays open: the next batch may answer it, or the server itself.
    async fn answer_in_bulk<R: ReplyReader>(
        &self,
        batch: &HttpBatch,
        call: &HttpCall<'_>,
        reader: &(impl Fn() -> R + Send + Sync),
        reading: &ResponseParser<R::Output>,
    ) -> Option<Result<Reply<R::Output>, BackendError>> {
        let open = |message: String| {
            Some(Err(BackendError { kind: BackendErrorKind::AwaitsBatch, message, attempts: 0 }))
        };
        if batch.keeps_requests() && is_secret(&call.body) {
            let message = "the request contains a secret, which is not written to a file; ask it live";
            return Some(Err(BackendError::new(BackendErrorKind::Unsupported, message)));
        }
        let request = BatchRequest {
            backend_id: &self.backend_id,
            kind: self.config.kind,
            place: call.place.as_ref(),
            path: call.url.path(),
            body: &call.body,
        };
        let (result, id) = match batch.answer(request).await? {
            BatchAnswer::Result(result, id) => (result, id),
            BatchAnswer::Open(message) => return open(message.to_owned()),
        };
        Counters::add(&self.counters.requests, 1);
        let read = match result {
            BatchResult::Reply { status, body } => {
                self.read_stored(status, "application/json", body, reader, reading)
            }
            BatchResult::Failed(message) => Err(HttpFailure::lasting(BackendErrorKind::Rejected, message)),
        };
        match read.map_err(HttpFailure::shortened) {
            Ok(output) => {
                Counters::add(&self.counters.answered, 1);
                batch.note_taken();
                // A result of a batch is paid for as one attempt.
                let timing = RequestTiming { attempts: 1, ..RequestTiming::default() };
                Some(Ok(Reply { output, timing }))
            }
            Err(failure) => {
                let message = redact(&failure.message).into_owned();
                self.counters.count_failure(failure.kind);
                batch.note_failed(&id, &message);
                open(message)
            }
        }
    }
}
