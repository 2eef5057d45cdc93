//! Throttle state: tells whether a host that refuses requests accepts others in the meantime. Uses no clock.
//!
//! A host with a limit per second refuses the excess immediately, and accepts some requests all the time. Only refused
//! requests need to wait. A host with a limit per minute accepts no requests until the minute is over, so all of them
//! may as well wait.

use std::time::{Duration, Instant};

/// Recent acceptances and refusals of a host.
#[derive(Default)]
pub(super) struct ThrottleState {
    /// Time when the refused request was sent, if no request sent later is known to be answered.
    refusing_since: Option<Instant>,
    /// Time of the last answer.
    answered: Option<Instant>,
    /// Number of answers.
    answers: u64,
    /// Moving average of the latency of answers, in seconds.
    latency: f64,
    /// Moving average of the interval between answers, in seconds.
    gap: f64,
}

impl ThrottleState {
    /// Returns the number of answered requests.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// Records the answer to a request sent at `sent`.
    pub(super) fn on_success(&mut self, sent: Instant, now: Instant) {
        self.answers += 1;
        let approach = |mean: &mut f64, seen: Duration| *mean += (seen.as_secs_f64() - *mean) / 4.0;
        match self.answered.replace(now) {
            Some(before) => {
                approach(&mut self.latency, now.saturating_duration_since(sent));
                approach(&mut self.gap, now.saturating_duration_since(before));
            }
            None => self.latency = now.saturating_duration_since(sent).as_secs_f64(),
        }
        self.refusing_since = self.refusing_since.filter(|since| sent <= *since);
    }

    /// Records the refusal of a request sent at `sent`.
    pub(super) fn on_refusal(&mut self, sent: Instant) {
        self.refusing_since.get_or_insert(sent);
    }

    /// Records that all requests are paused. Earlier refusals say nothing about requests sent after the pause.
    pub(super) fn on_pause(&mut self) {
        self.refusing_since = None;
    }

    /// Returns true if an answer to a request sent after the refused ones may merely still be pending.
    ///
    /// That is within twice the usual latency plus four times the usual interval between answers.
    pub(super) fn may_still_answer(&self, now: Instant) -> bool {
        let longest = Duration::try_from_secs_f64(2.0 * self.latency + 4.0 * self.gap).unwrap_or_default();
        self.answered.is_some()
            && self.refusing_since.is_none_or(|since| now.saturating_duration_since(since) <= longest)
    }
}
