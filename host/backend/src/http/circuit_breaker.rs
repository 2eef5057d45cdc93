//! Circuit breaker of a host. It is passed the current time, and never waits.
//!
//! `failsafe` 1.3 lets every call through when it is half open, and does not say when to retry. Here one probe goes
//! first, and the others wait until a known time.

use std::time::{Duration, Instant};

/// When to stop sending, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct BreakerSettings {
    /// Number of consecutive connection failures that opens the circuit.
    pub(super) after: u32,
    /// First wait; each later one is twice as long.
    pub(super) base: Duration,
    /// Maximum wait.
    pub(super) limit: Duration,
    /// Total time to wait before requests fail without being sent.
    pub(super) outage: Duration,
}

/// Decision on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Send it.
    Go,
    /// Check again at this time.
    Wait(Instant),
    /// Fail it: the host has been unreachable for this long.
    Refuse(Duration),
}

#[derive(Debug)]
struct Outage {
    since: Instant,
    waits: u32,
    next_probe: Instant,
    /// Time when the probe in flight counts as lost.
    probing_until: Option<Instant>,
}

/// Counts consecutive connection failures. After too many, all requests wait, except for a probe from time to time.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    settings: BreakerSettings,
    failures: u32,
    outage: Option<Outage>,
    openings: u32,
}

impl CircuitBreaker {
    pub(super) fn new(settings: BreakerSettings) -> CircuitBreaker {
        CircuitBreaker { settings, failures: 0, outage: None, openings: 0 }
    }

    /// Returns how often the host became unreachable.
    pub(super) fn openings(&self) -> u32 {
        self.openings
    }

    /// Decides whether a request may be sent now. `longest` is the maximum duration of a request.
    pub(super) fn admit(&mut self, now: Instant, longest: Duration) -> Admission {
        let Some(outage) = &mut self.outage else { return Admission::Go };
        if outage.probing_until.is_some_and(|until| now < until) || now < outage.next_probe {
            let lasted = now.saturating_duration_since(outage.since);
            if lasted >= self.settings.outage {
                return Admission::Refuse(lasted);
            }
            // Waiting requests try again when the probe may have returned.
            let pause = self.settings.base.max(Duration::from_millis(1));
            let probing = outage.probing_until.and_then(|_| now.checked_add(pause));
            let end = outage.since.checked_add(self.settings.outage);
            let next = probing.unwrap_or(outage.next_probe);
            return Admission::Wait(end.map_or(next, |end| next.min(end)));
        }
        outage.probing_until = now.checked_add(longest);
        Admission::Go
    }

    /// Records that the host answered, with any status.
    pub(super) fn on_response(&mut self) {
        self.failures = 0;
        self.outage = None;
    }

    /// Records that the connection failed or broke.
    pub(super) fn on_connection_error(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        match &mut self.outage {
            None if self.failures >= self.settings.after => {
                self.openings += 1;
                let next_probe = now.checked_add(self.settings.base).unwrap_or(now);
                self.outage = Some(Outage { since: now, waits: 0, next_probe, probing_until: None });
            }
            // Only a probe gives new information; the other requests were in flight when the host became unreachable.
            Some(outage) if outage.probing_until.is_some() => {
                outage.probing_until = None;
                outage.waits = (outage.waits + 1).min(20);
                let wait = self.settings.base.saturating_mul(1 << outage.waits).min(self.settings.limit);
                outage.next_probe = now.checked_add(wait).unwrap_or(now);
            }
            _ => {}
        }
    }

    /// Records that a request ended without information about the host.
    pub(super) fn abandoned(&mut self) {
        if let Some(outage) = &mut self.outage {
            outage.probing_until = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BreakerSettings = BreakerSettings {
        after: 3,
        base: Duration::from_secs(1),
        limit: Duration::from_secs(4),
        outage: Duration::from_secs(20),
    };
    const MAX_BACKOFF: Duration = Duration::from_secs(100);

    #[test]
    fn one_probe_goes_ahead_at_growing_distances_until_it_is_over() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut breaker = CircuitBreaker::new(SETTINGS);
        for _ in 0..3 {
            assert_eq!(breaker.admit(start, MAX_BACKOFF), Admission::Go);
            breaker.on_connection_error(start);
        }
        assert_eq!(breaker.admit(start, MAX_BACKOFF), Admission::Wait(at(1)));
        assert_eq!(breaker.admit(at(1), MAX_BACKOFF), Admission::Go);
        assert_eq!(breaker.admit(at(1), MAX_BACKOFF), Admission::Wait(at(2)), "the probe is under way");
        breaker.on_connection_error(at(1));
        assert_eq!(breaker.admit(at(1), MAX_BACKOFF), Admission::Wait(at(3)));
        for (probe, next) in [(3, 7), (7, 11), (11, 15), (15, 19)] {
            assert_eq!(breaker.admit(at(probe), MAX_BACKOFF), Admission::Go);
            breaker.on_connection_error(at(probe));
            assert_eq!(breaker.admit(at(probe), MAX_BACKOFF), Admission::Wait(at(next)));
        }
        assert_eq!(breaker.admit(at(19), MAX_BACKOFF), Admission::Go);
        breaker.on_connection_error(at(19));
        assert_eq!(breaker.admit(at(19), MAX_BACKOFF), Admission::Wait(at(20)));
        assert_eq!(breaker.admit(at(20), MAX_BACKOFF), Admission::Refuse(Duration::from_secs(20)));
        assert_eq!(breaker.admit(at(23), MAX_BACKOFF), Admission::Go, "there is always a next probe");
        breaker.on_response();
        assert_eq!(breaker.admit(at(23), MAX_BACKOFF), Admission::Go);
        assert_eq!(breaker.openings(), 1);
    }

    #[test]
    fn response_resets_the_count_and_lost_probe_is_replaced() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new(SETTINGS);
        for _ in 0..10 {
            breaker.on_connection_error(start);
            breaker.on_connection_error(start);
            breaker.on_response();
        }
        assert_eq!(breaker.admit(start, MAX_BACKOFF), Admission::Go);
        for _ in 0..3 {
            breaker.on_connection_error(start);
        }
        let probed = start + Duration::from_secs(1);
        assert_eq!(breaker.admit(probed, MAX_BACKOFF), Admission::Go);
        breaker.abandoned();
        assert_eq!(breaker.admit(probed, MAX_BACKOFF), Admission::Go);
    }
}
