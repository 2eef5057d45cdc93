//! Failures of requests, and whether a retry may help.

use crate::api::BackendErrorKind;
use gage_secrets::redact;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// Maximum length of a server's error message that is kept.
const MAX_SHOWN_CHARACTERS: usize = 500;

/// Maximum number of tool calls in an answer whose calls are collected one by one.
pub(crate) const MAX_TOOL_CALLS: usize = 1024;

/// Maximum length of the message of a failure. Servers choose parts of it, such as names of tools.
const MAX_MESSAGE_CHARACTERS: usize = 2_000;

/// Failure of one attempt of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HttpFailure {
    pub(crate) kind: BackendErrorKind,
    pub(crate) message: String,
    /// True if the same request may succeed later.
    pub(crate) may_pass: bool,
    /// Wait requested by the server.
    pub(crate) retry_after: Option<Duration>,
    /// True if the model accepts no temperature, or only its own.
    pub(crate) refuses_temperature: bool,
}

impl HttpFailure {
    pub(crate) fn passing(kind: BackendErrorKind, message: impl Into<String>) -> HttpFailure {
        HttpFailure {
            kind,
            message: message.into(),
            may_pass: true,
            retry_after: None,
            refuses_temperature: false,
        }
    }

    pub(crate) fn lasting(kind: BackendErrorKind, message: impl Into<String>) -> HttpFailure {
        HttpFailure { may_pass: false, ..HttpFailure::passing(kind, message) }
    }

    /// Creates the failure for an error received in place of an answer. `what` says where it was.
    ///
    /// It is classified like the same error with an HTTP status. If it is not recognized, a retry may bring an answer.
    pub(crate) fn instead_of_answer(what: &str, body: &Value) -> HttpFailure {
        let text = body.get("error").unwrap_or(body).to_string();
        let refusal = Refusal { status: 200, body, text: &text };
        let message = format!("{what}: {}", shown(&refusal.message()));
        match refusal.implied_status() {
            None => HttpFailure::protocol(message),
            Some(status) => {
                let (kind, may_pass) = Refusal { status, ..refusal }.kind();
                HttpFailure { may_pass, ..HttpFailure::passing(kind, message) }
            }
        }
    }

    /// Returns what happened in a few words, such as `status 502` or `connection refused`.
    pub(super) fn cause(&self) -> &str {
        let cause = self.message.strip_prefix("cannot connect: ").unwrap_or(&self.message);
        match cause.split(": ").next().unwrap_or(cause) {
            unresolved if unresolved.contains("lookup address") => "no such host",
            cause => cause,
        }
    }

    /// Checks that the body is not an error in place of an answer.
    pub(crate) fn check(what: &str, body: &Value) -> Result<(), HttpFailure> {
        match body.get("error") {
            Some(error) if !error.is_null() => Err(HttpFailure::instead_of_answer(what, body)),
            _ => Ok(()),
        }
    }

    /// Creates the failure for a reply with more than [`MAX_TOOL_CALLS`] tool calls.
    pub(crate) fn too_many_calls() -> HttpFailure {
        HttpFailure::protocol(format!("the answer has more than {MAX_TOOL_CALLS} tool calls"))
    }

    /// Creates the failure for a stream with pieces of several answers.
    pub(crate) fn mixed_stream() -> HttpFailure {
        HttpFailure::protocol("pieces of another answer are mixed into the stream")
    }

    /// Returns the failure with a message of limited length.
    pub(super) fn shortened(self) -> HttpFailure {
        HttpFailure { message: start_of(&self.message, MAX_MESSAGE_CHARACTERS), ..self }
    }

    /// Creates the failure for a reply that violates the protocol. A retry may bring a better one.
    pub(crate) fn protocol(message: impl Into<String>) -> HttpFailure {
        HttpFailure::passing(BackendErrorKind::Protocol, message)
    }
}

/// A server's refusal of a request, for classification.
pub(crate) struct Refusal<'b> {
    pub(crate) status: u16,
    /// Body; null if it is not JSON.
    pub(crate) body: &'b Value,
    pub(crate) text: &'b str,
}

impl Refusal<'_> {
    /// Returns the values of `error.code`, `error.type`, `error.status` and similar fields, in lower case.
    pub(crate) fn codes(&self) -> Vec<String> {
        let error = self.body.get("error");
        let places = [error, Some(self.body)];
        let words = places.into_iter().flatten().flat_map(|place| {
            ["code", "type", "status", "error_type"].into_iter().filter_map(|key| place.get(key)?.as_str())
        });
        words.map(str::to_lowercase).collect()
    }

    /// Returns the HTTP status that an error without one implies, by its own number or by its codes.
    fn implied_status(&self) -> Option<u16> {
        let error = self.body.get("error");
        let number = [error, Some(self.body)].into_iter().flatten().find_map(|place| {
            let number = place.get("code").or_else(|| place.get("status_code"))?.as_u64()?;
            u16::try_from(number).ok().filter(|status| (400..600).contains(status))
        });
        number.or_else(|| {
            self.codes().iter().find_map(|code| {
                Some(match code.as_str() {
                    "invalid_api_key" | "authentication_error" | "unauthenticated" => 401,
                    "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" => 402,
                    "permission_error" | "permission_denied" => 403,
                    "not_found_error" | "not_found" | "model_not_found" => 404,
                    "rate_limit_exceeded"
                    | "rate_limit_error"
                    | "too_many_requests"
                    | "resource_exhausted"
                    | "overloaded" => 429,
                    "overloaded_error" | "unavailable" | "service_unavailable" => 503,
                    "server_error"
                    | "internal_error"
                    | "internal_server_error"
                    | "api_error"
                    | "internal" => 500,
                    "context_length_exceeded"
                    | "invalid_request_error"
                    | "invalid_argument"
                    | "validation" => 400,
                    _ => return None,
                })
            })
        })
    }

    /// Returns the human-readable message.
    pub(crate) fn message(&self) -> String {
        let error = self.body.get("error");
        let said = error
            .and_then(|error| error.get("message").or(Some(error)))
            .or_else(|| self.body.get("message"))
            .or_else(|| self.body.get("detail"))
            .and_then(Value::as_str);
        said.unwrap_or(self.text).trim().to_owned()
    }

    /// Classifies the refusal, for servers without special cases.
    pub(crate) fn kind(&self) -> (BackendErrorKind, bool) {
        let message = self.message().to_lowercase();
        let codes = self.codes();
        let has_code = |wanted: &[&str]| codes.iter().any(|code| wanted.contains(&code.as_str()));
        let says = |wanted: &[&str]| wanted.iter().any(|part| message.contains(part));
        if self.status == 402
            || has_code(&["insufficient_quota", "billing_hard_limit_reached", "billing_error"])
            || (matches!(self.status, 400 | 403) && says(&["credit balance is too low"]))
        {
            return (BackendErrorKind::QuotaExhausted, false);
        }
        // Here a single text is refused, not the key.
        let is_moderated = has_code(&["moderation", "content_policy_violation", "content_filter"])
            || says(&["flagged", "content policy"]);
        match self.status {
            403 if is_moderated => (BackendErrorKind::Rejected, false),
            401 | 403 => (BackendErrorKind::Unauthorized, false),
            400 | 413 | 422
                if has_code(&["context_length_exceeded"])
                    || says(&[
                        "maximum context length",
                        "context length exceeded",
                        "prompt is too long",
                        "input is too long",
                        "exceeds the maximum number of tokens",
                    ]) =>
            {
                (BackendErrorKind::ContextLength, false)
            }
            429 => (BackendErrorKind::RateLimited, true),
            408 | 425 => (BackendErrorKind::Timeout, true),
            409 => (BackendErrorKind::Rejected, true),
            500..=599 => (BackendErrorKind::Server, true),
            _ => (BackendErrorKind::Rejected, false),
        }
    }
}

/// Returns the start of a server's text, with secrets redacted first: a truncated secret would not be recognized.
pub(crate) fn shown(text: &str) -> String {
    start_of(text.trim(), MAX_SHOWN_CHARACTERS)
}

fn start_of(text: &str, max_characters: usize) -> String {
    let text = redact(text);
    match text.char_indices().nth(max_characters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    }
}

/// Backoff of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// Maximum of the first wait; it doubles with each further retry.
    pub(super) base: Duration,
    /// Maximum wait that the server did not request.
    pub(super) limit: Duration,
    /// Differs between processes, so that two of them do not retry the same requests at the same times.
    pub(super) seed: u64,
}

impl Backoff {
    /// Returns the wait before the attempt after number `attempts`, with full jitter.
    ///
    /// The jitter depends on the request, so that requests that failed together are not retried together. The wait is
    /// never shorter than what the server asks for.
    pub(super) fn wait(&self, request: &str, attempts: u32, asked: Option<Duration>) -> Duration {
        let Backoff { base, limit, seed } = *self;
        let factor = 2_u32.saturating_pow(attempts.saturating_sub(1).min(20));
        let doubled = base.saturating_mul(factor).min(limit);
        let mut hasher = DefaultHasher::new();
        (seed, request, attempts).hash(&mut hasher);
        let share = f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        match asked {
            // A little later than requested, and not all at once.
            Some(asked) => asked.saturating_add(doubled.min(asked / 4 + base / 4).mul_f64(share)),
            None => doubled.mul_f64(share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn waits_grow_are_jittered_and_obey_the_server() {
        let (base, limit) = (Duration::from_millis(100), Duration::from_secs(1));
        let backoff = Backoff { base, limit, seed: 1 };
        let mut longest = Duration::ZERO;
        for attempts in 1..40 {
            for request in 0..50 {
                let wait = backoff.wait(&format!("q{request}"), attempts, None);
                assert!(wait <= limit.min(base * 2_u32.pow(attempts.min(5) - 1)), "{attempts}: {wait:?}");
                longest = longest.max(wait);
            }
        }
        assert!(longest > limit.mul_f64(0.9), "{longest:?}");
        assert_ne!(backoff.wait("a", 1, None), backoff.wait("b", 1, None));
        assert_ne!(backoff.wait("a", 1, None), Backoff { seed: 2, ..backoff }.wait("a", 1, None));
        for asked in [0, 900, 900_000].map(Duration::from_millis) {
            let wait = backoff.wait("a", 1, Some(asked));
            assert!(wait >= asked && wait <= asked + limit, "{wait:?}");
        }
    }

    #[test]
    fn a_message_has_a_limited_length() {
        let failure = HttpFailure::protocol("é".repeat(MAX_MESSAGE_CHARACTERS + 1)).shortened();
        assert_eq!(
            failure.message.chars().count(),
            MAX_MESSAGE_CHARACTERS + 1,
            "the mark of the cut included"
        );
        assert_eq!(HttpFailure::protocol("short").shortened(), HttpFailure::protocol("short"));
    }

    #[test]
    fn a_failure_has_a_short_cause() {
        for (message, cause) in [
            ("cannot connect: connection refused", "connection refused"),
            (
                "cannot connect: failed to lookup address information: Name or service not known",
                "no such host",
            ),
            ("status 502: <html>", "status 502"),
            ("no answer in time", "no answer in time"),
        ] {
            assert_eq!(HttpFailure::protocol(message).cause(), cause);
        }
    }

    #[test]
    fn a_status_and_its_body_say_what_is_the_matter() {
        use BackendErrorKind as Kind;
        let error = |code: &str| json!({"error": {"message": "no", "code": code}});
        let says = |message: &str| json!({"error": {"message": message}});
        for (status, body, kind, may_pass) in [
            (429, json!(null), Kind::RateLimited, true),
            (429, error("rate_limit_exceeded"), Kind::RateLimited, true),
            (429, error("insufficient_quota"), Kind::QuotaExhausted, false),
            (402, json!(null), Kind::QuotaExhausted, false),
            (400, says("Your credit balance is too low to access the API"), Kind::QuotaExhausted, false),
            (401, json!(null), Kind::Unauthorized, false),
            (403, error("x"), Kind::Unauthorized, false),
            (403, says("Your input was flagged"), Kind::Rejected, false),
            (400, says("This model's maximum context length is 8 tokens"), Kind::ContextLength, false),
            (400, says("no such field"), Kind::Rejected, false),
            (404, json!({"detail": "Not Found"}), Kind::Rejected, false),
            (302, json!(null), Kind::Rejected, false),
            (408, json!(null), Kind::Timeout, true),
            (500, json!({"error": "boom"}), Kind::Server, true),
            (529, error("overloaded_error"), Kind::Server, true),
        ] {
            let refusal = Refusal { status, body: &body, text: "" };
            assert_eq!(refusal.kind(), (kind, may_pass), "{status} {body}");
        }
    }

    #[test]
    fn errors_in_the_place_of_answers_mean_what_they_mean_elsewhere() {
        use BackendErrorKind as Kind;
        for (body, kind, may_pass) in [
            (json!({"error": {"message": "no", "code": "insufficient_quota"}}), Kind::QuotaExhausted, false),
            (json!({"error": {"message": "no", "code": "invalid_api_key"}}), Kind::Unauthorized, false),
            (json!({"error": {"message": "no", "type": "overloaded_error"}}), Kind::Server, true),
            (json!({"error": {"message": "no", "code": 429}}), Kind::RateLimited, true),
            (json!({"error": {"message": "no", "status": "RESOURCE_EXHAUSTED"}}), Kind::RateLimited, true),
            (
                json!({"error": {"message": "no", "code": "context_length_exceeded"}}),
                Kind::ContextLength,
                false,
            ),
            (json!({"error": "too many", "error_type": "overloaded"}), Kind::RateLimited, true),
            (json!({"error": {"message": "no", "type": "invalid_request_error"}}), Kind::Rejected, false),
            (json!({"error": {"message": "no", "code": 7}}), Kind::Protocol, true),
            (json!({"error": "boom"}), Kind::Protocol, true),
        ] {
            let failure = HttpFailure::instead_of_answer("the answer is an error", &body);
            assert_eq!((failure.kind, failure.may_pass), (kind, may_pass), "{body}");
            assert!(failure.message.starts_with("the answer is an error: "), "{}", failure.message);
        }
    }
}
