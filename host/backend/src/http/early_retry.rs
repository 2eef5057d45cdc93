//! Pace of retries that are not yet due. It is passed the current time, and never waits.
//!
//! Requests draw their backoff while the host is busy, and would sleep through it when the host is idle later. An idle
//! host gets them one after another instead. The interval adapts: it shrinks with each answer and doubles with each
//! refusal.

use std::time::{Duration, Instant};

const FIRST_INTERVAL: Duration = Duration::from_millis(20);
const MIN_INTERVAL: Duration = Duration::from_millis(1);
const MAX_INTERVAL: Duration = Duration::from_millis(500);
/// Interval after a refusal, at least.
const MIN_REFUSED_INTERVAL: Duration = Duration::from_millis(10);
/// Factor of the interval after an answer.
const ANSWERED_FACTOR: f64 = 0.8;

/// Times of early retries.
#[derive(Debug)]
pub(super) struct EarlyRetries {
    interval: Duration,
    last: Option<Instant>,
}

impl Default for EarlyRetries {
    fn default() -> EarlyRetries {
        EarlyRetries { interval: FIRST_INTERVAL, last: None }
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
        self.interval = if is_answered {
            self.interval.mul_f64(ANSWERED_FACTOR).max(MIN_INTERVAL)
        } else {
            (self.interval * 2).clamp(MIN_REFUSED_INTERVAL, MAX_INTERVAL)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of what the host could answer must not be left unused, and most retries must be answered.
    #[test]
    fn the_pace_follows_what_the_host_answers() {
        for per_second in [2.0, 20.0, 200.0] {
            let start = Instant::now();
            let (mut retries, mut now) = (EarlyRetries::default(), start);
            let (mut answered, mut refused) = (0_u32, 0_u32);
            while now < start + Duration::from_secs(60) {
                match retries.next(now) {
                    Err(at) => now = at,
                    Ok(()) => {
                        let is_answered = f64::from(answered) < (now - start).as_secs_f64() * per_second;
                        if is_answered {
                            answered += 1
                        } else {
                            refused += 1
                        };
                        retries.on_end(is_answered);
                    }
                }
            }
            assert!(f64::from(answered) > 60.0 * per_second * 0.9, "{per_second}: {answered}");
            assert!(refused < answered, "{per_second}: {refused} of {answered} refused");
        }
    }
}
