//! Pace of retries that are not yet due. It is passed the current time, and never waits.
//!
//! Requests draw their backoff while the host is busy, and would sleep through it when the host is idle later. An idle
//! host gets them one after another instead. The interval adapts: it shrinks with each answer and doubles with each
//! refusal.

use std::time::{Duration, Instant};

const FIRST_INTERVAL: Duration = Duration::from_millis(20);
const MIN_INTERVAL: Duration = Duration::from_millis(1);
const MAX_INTERVAL: Duration = Duration::from_millis(250);
/// Interval after a refusal, at least.
const MIN_REFUSED_INTERVAL: Duration = Duration::from_millis(10);
/// Factor of the interval after an answer.
const ANSWERED_FACTOR: f64 = 0.8;

/// Times of early retries.
#[derive(Debug)]
pub(super) struct EarlyRetries {
    interval: Duration,
    /// Interval after the first of the refusals without an answer in between; `None` after an answer.
    after_refusal: Option<Duration>,
    last: Option<Instant>,
}

impl Default for EarlyRetries {
    fn default() -> EarlyRetries {
        EarlyRetries { interval: FIRST_INTERVAL, after_refusal: None, last: None }
    }
}

impl EarlyRetries {
    /// Takes the turn of the next retry, or returns its time.
    pub(super) fn next(&mut self, now: Instant) -> Result<(), Instant> {
        let at = self.last.and_then(|last| last.checked_add(self.interval)).unwrap_or(now);
        if at > now {
            return Err(at);
        }
        self.last = Some(now);
        Ok(())
    }

    /// Records the end of an early retry.
    pub(super) fn on_end(&mut self, is_answered: bool) {
        if is_answered {
            let restored = self.after_refusal.take().filter(|interval| *interval < self.interval);
            let shrunk = self.interval.mul_f64(ANSWERED_FACTOR).max(MIN_INTERVAL);
            self.interval = restored.unwrap_or(shrunk);
        } else {
            self.interval = (self.interval * 2).clamp(MIN_REFUSED_INTERVAL, MAX_INTERVAL);
            self.after_refusal.get_or_insert(self.interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes early retries for a minute, and returns how many are answered and refused. `server` decides by the time.
    fn one_minute(mut server: impl FnMut(Duration) -> bool) -> (f64, f64) {
        let start = Instant::now();
        let (mut retries, mut now) = (EarlyRetries::default(), start);
        let (mut answered, mut refused) = (0.0, 0.0);
        while now < start + Duration::from_secs(60) {
            match retries.next(now) {
                Err(at) => now = at,
                Ok(()) => {
                    let is_answered = server(now - start);
                    *if is_answered { &mut answered } else { &mut refused } += 1.0;
                    retries.on_end(is_answered);
                }
            }
        }
        (answered, refused)
    }

    /// Little of what the host could answer is left unused, and most retries are answered.
    #[test]
    fn the_pace_follows_what_the_host_answers() {
        for per_second in [5.0, 20.0, 200.0] {
            let mut given = 0.0;
            let (answered, refused) = one_minute(|time| {
                let is_answered = given < time.as_secs_f64() * per_second;
                given += if is_answered { 1.0 } else { 0.0 };
                is_answered
            });
            assert!(answered > 60.0 * per_second * 0.9, "{per_second}: {answered}");
            assert!(refused < answered, "{per_second}: {refused} of {answered} refused");
        }
    }

    /// The answers of a window of a second are lost unless they are fetched within half a second.
    #[test]
    fn allowance_of_a_window_is_used_at_once() {
        for per_window in [20_u32, 50, 100] {
            let mut windows = [0_u32; 60];
            let (answered, refused) = one_minute(|time| {
                let given = &mut windows[time.as_secs() as usize];
                let is_answered = time.subsec_millis() < 500 && *given < per_window;
                *given += u32::from(is_answered);
                is_answered
            });
            assert!(answered > f64::from(60 * per_window) * 0.95, "{per_window}: {answered}");
            assert!(refused < answered, "{per_window}: {refused} of {answered} refused");
        }
    }
}
