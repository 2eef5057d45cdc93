//! Throttle state: whether a host that refuses requests accepts others meanwhile. Knows no clock.
//!
//! A host that allows so many a second refuses the rest at once, and takes some all the time: whoever is refused waits, and nobody
//! else. One that allows so many in a minute takes nobody until that is over, so that all may as well wait.

use std::time::{Duration, Instant};

/// What a host took and refused of late.
#[derive(Default)]
pub(super) struct ThrottleState {
    /// When a request was sent that was refused, where none is known to be answered that was sent later.
    refusing_since: Option<Instant>,
    /// When an answer came last, and how many there were.
    answered: Option<Instant>,
    answers: u64,
    /// In seconds, weighted towards the last ones: how long answers take, and what lies between them.
    latency: f64,
    gap: f64,
}

impl ThrottleState {
    /// Returns how many requests were answered.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// A request that was sent then is answered now.
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

    /// A request that was sent then is refused.
    pub(super) fn on_refusal(&mut self, sent: Instant) {
        self.refusing_since.get_or_insert(sent);
    }

    /// All requests wait; earlier refusals say nothing about what is sent after the pause.
    pub(super) fn on_pause(&mut self) {
        self.refusing_since = None;
    }

    /// Returns whether an answer to a request that was sent after the refused ones may only not be there yet:
    /// within twice the time that
    /// answers take, and four times what usually lies between them.
    pub(super) fn may_still_answer(&self, now: Instant) -> bool {
        let longest = Duration::try_from_secs_f64(2.0 * self.latency + 4.0 * self.gap).unwrap_or_default();
        self.answered.is_some()
            && self.refusing_since.is_none_or(|since| now.saturating_duration_since(since) <= longest)
    }
}
