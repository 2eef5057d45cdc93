//! Detects a server that will answer no request: a wrong model name, a web page in place of an API, a redirect, an
//! untrusted certificate.

use super::failure::HttpFailure;
use crate::api::BackendErrorKind;
use parking_lot::Mutex;

/// Number of first requests that end with the same failure, without any answer, after which the run ends.
///
/// After this number of attempts with the same failure, no request is retried.
pub(super) const MAX_SAME_FAILURES: u32 = 64;

/// The ends of the first requests of a backend.
pub(super) struct FirstAnswers(Mutex<Ends>);

struct Ends {
    attempts: Evidence,
    requests: Evidence,
}

#[derive(Clone)]
enum Evidence {
    /// None has ended.
    None,
    /// Each one failed, all in the same way.
    SameFailure { kind: BackendErrorKind, cause: String, count: u32 },
    /// One was answered, or failed in another way.
    Refuted,
}

impl FirstAnswers {
    /// Creates them; `has_answered_before` is true if an earlier process got answers.
    pub(super) fn new(has_answered_before: bool) -> FirstAnswers {
        let evidence = if has_answered_before { Evidence::Refuted } else { Evidence::None };
        FirstAnswers(Mutex::new(Ends { attempts: evidence.clone(), requests: evidence }))
    }

    /// Records an answer.
    pub(super) fn on_answer(&self) {
        let mut ends = self.0.lock();
        let Ends { attempts, requests } = &mut *ends;
        for evidence in [attempts, requests] {
            if !matches!(*evidence, Evidence::Refuted) {
                *evidence = Evidence::Refuted;
            }
        }
    }

    /// Records an attempt without an answer. Returns true if no retry will fare better.
    pub(super) fn on_failed_attempt(&self, failure: &HttpFailure) -> bool {
        let mut ends = self.0.lock();
        if failure.kind == BackendErrorKind::Connection {
            // The server may come back, and `outage_limit` says how long that may take.
            ends.attempts = Evidence::Refuted;
        }
        ends.attempts.add(failure)
    }

    /// Records a request that ended without an answer. Returns true if no request will fare better.
    pub(super) fn on_failure(&self, failure: &HttpFailure) -> bool {
        self.0.lock().requests.add(failure)
    }
}

impl Evidence {
    /// Adds a failure. Returns true if there are enough, all the same.
    fn add(&mut self, failure: &HttpFailure) -> bool {
        match (&mut *self, failure.kind) {
            (Evidence::Refuted, _) => {}
            // These have a limit of their own, or concern a single request.
            (
                _,
                BackendErrorKind::Timeout
                | BackendErrorKind::RateLimited
                | BackendErrorKind::Server
                | BackendErrorKind::ContextLength
                | BackendErrorKind::NotRecorded,
            ) => *self = Evidence::Refuted,
            (Evidence::None, kind) => {
                *self = Evidence::SameFailure { kind, cause: failure.cause().to_owned(), count: 1 };
            }
            (Evidence::SameFailure { kind, cause, count }, _) => {
                if *kind != failure.kind || *cause != failure.cause() {
                    *self = Evidence::Refuted;
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

    /// Retries of thousands of requests would only repeat the failure.
    #[test]
    fn retries_end_after_the_same_failure_of_all_attempts() {
        let page = HttpFailure::protocol("the answer is a page in HTML");
        let broken = HttpFailure::passing(BackendErrorKind::Connection, "the answer broke off");
        let first = FirstAnswers::new(false);
        assert_eq!((0..200).position(|_| first.on_failed_attempt(&page)), Some(63));
        assert!(!first.on_failure(&page), "attempts do not count as requests");
        let first = FirstAnswers::new(false);
        assert!((0..200).all(|_| !first.on_failed_attempt(&broken)), "the server may come back");
        let first = FirstAnswers::new(false);
        first.on_answer();
        assert!((0..200).all(|_| !first.on_failed_attempt(&page)));
    }

    #[test]
    fn one_answer_is_enough_to_go_on() {
        let first = FirstAnswers::new(false);
        assert!(!first.on_failure(&rejected(404, "no")));
        first.on_answer();
        assert!((0..200).all(|_| !first.on_failure(&rejected(404, "no"))));
    }
}
