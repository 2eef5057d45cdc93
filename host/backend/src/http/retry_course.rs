//! Course of a request: its attempts so far, and whether it may be sent again. It is passed the current time, and never
//! waits.

use gage_config::HttpRetry;
use std::time::Instant;

/// Cost of an attempt, in quarters of a retry.
const RETRY_COST: u32 = 4;

/// Cost of a temporary refusal while others were answered: the host is healthy, and the request will get its turn.
const REFUSED_RETRY_COST: u32 = 1;

/// The attempts of a request so far.
#[derive(Default)]
pub(super) struct RetryCourse {
    pub(super) attempts: u32,
    /// What they cost, in quarters of a retry.
    cost: u32,
    /// First failure of the request.
    failing_since: Option<Instant>,
    /// First failure of the request since which the host has answered nothing, and the number of answers until then.
    unanswered: Option<(Instant, u64)>,
    /// True if the host answered others between two failures of the request, now or in an earlier process. The request
    /// itself is then more likely at fault than the host.
    pub(super) is_suspect: bool,
    /// True if the host answered other requests during the last attempt.
    pub(super) has_answered: bool,
    /// True if the next attempt is not yet due.
    pub(super) is_early: bool,
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedAttempt {
    /// True if the host throttled it (429).
    pub(super) is_throttled: bool,
    /// True if the host refused it because of its load (503, 529).
    pub(super) is_overloaded: bool,
    /// True if the host is away.
    pub(super) is_away: bool,
    /// Number of requests that the host has answered.
    pub(super) answers: u64,
    /// Time of the failure.
    pub(super) now: Instant,
}

impl RetryCourse {
    /// Creates the course of a request without attempts. `is_suspect` is true if it failed in an earlier process, while
    /// others were answered.
    pub(super) fn new(is_suspect: bool) -> RetryCourse {
        RetryCourse { is_suspect, ..RetryCourse::default() }
    }

    /// Adds the cost of the last attempt, which failed. Returns true if the request has retries left.
    ///
    /// A refusal says nothing about the request: other requests, or other processes, were faster. It costs little, or
    /// only time if the host answered nothing during the attempt: up to `outage_limit`, or `retry_after_limit` if the
    /// host throttles the request. A refusal by load costs little again after `outage_limit`, if the host answered others
    /// meanwhile: it may always refuse this request. Other failures cost only time, too, while the host answers nothing at
    /// all.
    pub(super) fn on_failure(&mut self, attempt: FailedAttempt, retry: &HttpRetry) -> bool {
        let FailedAttempt { is_throttled, is_overloaded, is_away, answers, now } = attempt;
        // While the host answers nothing, neither this request nor the host is known to be at fault: only time decides.
        let streak = self.unanswered.filter(|(_, before)| *before == answers);
        self.is_suspect |= self.unanswered.is_some() && streak.is_none();
        self.unanswered = streak.or(Some((now, answers)));
        let lasted = streak.map(|(since, _)| now.saturating_duration_since(since));
        let failing_since = *self.failing_since.get_or_insert(now);
        let is_refusal = is_throttled || is_overloaded;
        let is_always_refused = is_overloaded
            && self.is_suspect
            && now.saturating_duration_since(failing_since) >= retry.outage_limit;
        let costs_time = is_refusal && !self.has_answered && !is_always_refused;
        let is_free = is_away || costs_time;
        self.cost = self.cost.saturating_add(match () {
            () if is_free => 0,
            () if is_refusal => REFUSED_RETRY_COST,
            () => RETRY_COST,
        });
        let has_retries = if costs_time {
            let limit = if is_throttled { retry.max_retry_after } else { retry.outage_limit };
            lasted.is_none_or(|lasted| lasted < limit) || self.attempts <= retry.max_retries
        } else {
            self.cost <= retry.max_retries.saturating_mul(RETRY_COST)
                || (!self.is_suspect && lasted.is_some_and(|lasted| lasted < retry.outage_limit))
        };
        // Whether a host that is away is lost, is decided by its health.
        (has_retries || is_away) && retry.max_retries > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const RETRY: HttpRetry = HttpRetry {
        max_retries: 2,
        first_wait: Duration::from_millis(500),
        max_wait: Duration::from_secs(30),
        max_retry_after: Duration::from_secs(600),
        outage_limit: Duration::from_secs(60),
        outage_after: 16,
    };

    /// Returns the number of attempts that a request has, one each second, up to a thousand. The host answers
    /// `answered` other requests between two attempts, and one during an attempt if `has_answered`.
    fn attempts(status: u16, answered: u64, has_answered: bool, retry: &HttpRetry) -> u32 {
        let start = Instant::now();
        let mut course = RetryCourse { has_answered, ..RetryCourse::default() };
        while course.attempts < 1_000 {
            let number = course.attempts;
            course.attempts += 1;
            let attempt = FailedAttempt {
                is_throttled: status == 429,
                is_overloaded: status == 503,
                is_away: false,
                answers: u64::from(number) * answered,
                now: start + Duration::from_secs(u64::from(number)),
            };
            if !course.on_failure(attempt, retry) {
                break;
            }
        }
        course.attempts
    }

    #[test]
    fn refusals_cost_little_and_nothing_while_others_were_faster() {
        for (status, answered, has_answered, expected) in [
            // The host answers other requests between the attempts and during them, or only between them, or never.
            (429, 1, true, 9),
            (503, 1, true, 9),
            (500, 1, true, 3),
            (429, 1, false, 1_000),
            // A minute for nothing, and eight quarters of a retry.
            (503, 1, false, 69),
            (500, 1, false, 3),
            (429, 0, false, 601),
            (503, 0, false, 61),
            (500, 0, false, 61),
        ] {
            let found = attempts(status, answered, has_answered, &RETRY);
            assert_eq!(
                found, expected,
                "{status}, {answered} answers in between, one meanwhile: {has_answered}"
            );
            let none = HttpRetry { max_retries: 0, ..RETRY };
            assert_eq!(attempts(status, answered, has_answered, &none), 1, "{status}");
            // A short limit leaves the retries that `max_retries` grants.
            let short = HttpRetry { outage_limit: Duration::ZERO, max_retry_after: Duration::ZERO, ..RETRY };
            assert!(attempts(status, answered, has_answered, &short) >= 3, "{status}");
        }
    }
}
