//! Detects a server that will answer no request: a wrong model name, a web page in place of an API, a redirect, an
//! untrusted certificate.

use super::failure::HttpFailure;
use crate::api::BackendErrorKind;
use parking_lot::Mutex;

/// Number of first requests that end with the same failure, without any answer, after which the run ends.
pub(super) const MAX_SAME_FAILURES: u32 = 64;

/// The ends of the first requests of a backend.
pub(super) struct FirstAnswers(Mutex<Evidence>);

enum Evidence {
    /// No request has ended.
    None,
    /// Every request failed, all in the same way.
    SameFailure { kind: BackendErrorKind, cause: String, count: u32 },
    /// A request was answered, or failed in another way.
    Refuted,
}

impl FirstAnswers {
    /// Creates them; `has_answered_before` is true if an earlier process got answers.
    pub(super) fn new(has_answered_before: bool) -> FirstAnswers {
        FirstAnswers(Mutex::new(if has_answered_before { Evidence::Refuted } else { Evidence::None }))
    }

    /// Records an answer.
    pub(super) fn on_answer(&self) {
        let mut evidence = self.0.lock();
        if !matches!(*evidence, Evidence::Refuted) {
            *evidence = Evidence::Refuted;
        }
    }

    /// Records a request that ended without an answer. Returns true if no request will fare better.
    pub(super) fn on_failure(&self, failure: &HttpFailure) -> bool {
        let mut evidence = self.0.lock();
        match (&mut *evidence, failure.kind) {
            (Evidence::Refuted, _) => {}
            // These have a limit of their own, or concern a single request.
            (
                _,
                BackendErrorKind::Timeout
                | BackendErrorKind::RateLimited
                | BackendErrorKind::Server
                | BackendErrorKind::ContextLength
                | BackendErrorKind::NotRecorded,
            ) => *evidence = Evidence::Refuted,
            (Evidence::None, kind) => {
                *evidence = Evidence::SameFailure { kind, cause: failure.cause().to_owned(), count: 1 };
            }
            (Evidence::SameFailure { kind, cause, count }, _) => {
                if *kind != failure.kind || *cause != failure.cause() {
                    *evidence = Evidence::Refuted;
                    return false;
                }
                *count += 1;
                return *count >= MAX_SAME_FAILURES;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(status: u16, text: &str) -> HttpFailure {
        HttpFailure::lasting(BackendErrorKind::Rejected, format!("status {status}: {text}"))
    }

    /// Returns the number of failures after which no request is expected to be answered.
    fn hopeless_after(failures: impl Iterator<Item = HttpFailure>) -> Option<usize> {
        let first = FirstAnswers::new(false);
        failures.take(200).position(|failure| first.on_failure(&failure)).map(|place| place + 1)
    }

    #[test]
    fn the_same_failure_of_all_first_requests_ends_the_run() {
        let missing = (0..).map(|number| rejected(404, &format!("no such model, request {number}")));
        assert_eq!(hopeless_after(missing), Some(64));
        let mixed = (0..).map(|number| rejected(if number == 9 { 400 } else { 404 }, "no"));
        assert_eq!(hopeless_after(mixed), None);
        let long =
            (0..).map(|_| HttpFailure::lasting(BackendErrorKind::ContextLength, "status 400: too long"));
        assert_eq!(hopeless_after(long), None);
    }

    #[test]
    fn one_answer_is_enough_to_go_on() {
        let first = FirstAnswers::new(false);
        assert!(!first.on_failure(&rejected(404, "no")));
        first.on_answer();
        assert!((0..200).all(|_| !first.on_failure(&rejected(404, "no"))));
    }
}
