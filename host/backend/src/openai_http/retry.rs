//! Which failures may pass, and how long to wait for it.

use crate::api::BackendErrorKind;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// How much of a server's error is kept.
const SHOWN_CHARACTERS: usize = 500;

/// A request that failed once.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: BackendErrorKind,
    pub(crate) message: String,
    /// Whether the same request may succeed later.
    pub(crate) may_pass: bool,
    /// How long the server asks to wait.
    pub(crate) asked: Option<Duration>,
}

impl Failure {
    pub(crate) fn passing(kind: BackendErrorKind, message: String) -> Failure {
        Failure { kind, message, may_pass: true, asked: None }
    }

    pub(crate) fn lasting(kind: BackendErrorKind, message: String) -> Failure {
        Failure { kind, message, may_pass: false, asked: None }
    }
}

/// What a status that is not a success means.
pub(crate) fn of_status(status: u16, body: &str, asked: Option<Duration>) -> Failure {
    let (kind, may_pass) = match status {
        429 => (BackendErrorKind::RateLimited, true),
        408 | 425 => (BackendErrorKind::Timeout, true),
        401 | 403 => (BackendErrorKind::Unauthorized, false),
        500..=599 => (BackendErrorKind::Server, true),
        _ => (BackendErrorKind::Rejected, false),
    };
    let said: String = message_of(body).chars().take(SHOWN_CHARACTERS).collect();
    let message =
        if said.is_empty() { format!("status {status}") } else { format!("status {status}: {said}") };
    Failure { kind, message, may_pass, asked }
}

/// The message in an error body of the OpenAI shape, or the body itself.
fn message_of(body: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|value| {
        let error = value.get("error")?;
        error.get("message").or(Some(error))?.as_str()
    });
    message.unwrap_or(body).trim().to_owned()
}

/// How the waits between attempts grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) base: Duration,
    pub(crate) limit: Duration,
}

impl Wait {
    /// The wait before the attempt that follows number `attempts`: the base, doubled each time,
    /// of which at least half is waited; or as long as the server asks. Never more than the
    /// limit. The jitter depends on the request, so that requests which failed together do not
    /// come back together.
    pub(crate) fn before(self, request: &str, attempts: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1).min(20)));
        let mut hasher = DefaultHasher::new();
        (request, attempts).hash(&mut hasher);
        let share = f64::from(u32::try_from(hasher.finish() >> 32).unwrap_or(0)) / f64::from(u32::MAX);
        let jittered = doubled.min(self.limit).mul_f64(0.5 + share / 2.0);
        jittered.max(asked.unwrap_or(Duration::ZERO)).min(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_limit_and_differ_between_requests() {
        let wait = Wait { base: Duration::from_millis(100), limit: Duration::from_secs(1) };
        for attempts in 1..40 {
            let pause = wait.before("q1", attempts, None);
            let doubled = Duration::from_millis(100 * 2_u64.pow(attempts.min(5) - 1)).min(wait.limit);
            assert!(pause >= doubled / 2 && pause <= wait.limit, "{attempts}: {pause:?}");
            assert_eq!(pause, wait.before("q1", attempts, None));
        }
        assert_ne!(wait.before("q1", 1, None), wait.before("q2", 1, None));
        assert_eq!(wait.before("q1", 1, Some(Duration::from_millis(900))), Duration::from_millis(900));
        assert_eq!(wait.before("q1", 1, Some(Duration::from_secs(900))), wait.limit);
    }

    #[test]
    fn a_status_says_whether_it_may_pass() {
        for (status, kind, may_pass) in [
            (429, BackendErrorKind::RateLimited, true),
            (500, BackendErrorKind::Server, true),
            (503, BackendErrorKind::Server, true),
            (400, BackendErrorKind::Rejected, false),
            (401, BackendErrorKind::Unauthorized, false),
            (403, BackendErrorKind::Unauthorized, false),
            (302, BackendErrorKind::Rejected, false),
        ] {
            let failure = of_status(status, r#"{"error": {"message": "no"}}"#, None);
            assert_eq!((failure.kind, failure.may_pass), (kind, may_pass), "{status}");
            assert_eq!(failure.message, format!("status {status}: no"));
        }
    }
}
