//! Timer of a check that is repeated while the run goes on. The caller passes the time in.

use std::time::{Duration, Instant};

/// Time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Timer of a repeated check.
pub(super) struct CheckTimer {
    due: Instant,
}

impl CheckTimer {
    /// Creates a timer that is due one interval after `now`.
    pub(super) fn new(now: Instant) -> CheckTimer {
        CheckTimer { due: now + CHECK_INTERVAL }
    }

    /// Returns the time until the next check.
    pub(super) fn time_left(&self, now: Instant) -> Duration {
        self.due.saturating_duration_since(now)
    }

    /// Returns whether the check is due. If so, the next one is due one interval later.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + CHECK_INTERVAL;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_is_due_once_in_each_interval() {
        let begin = Instant::now();
        let mut timer = CheckTimer::new(begin);
        for (milliseconds, time_left, is_due) in
            [(0, 1_000, false), (999, 1, false), (1_000, 0, true), (1_001, 999, false), (2_500, 0, true)]
        {
            let now = begin + Duration::from_millis(milliseconds);
            assert_eq!(timer.time_left(now), Duration::from_millis(time_left), "{milliseconds}");
            assert_eq!(timer.is_due(now), is_due, "{milliseconds}");
        }
        assert_eq!(timer.time_left(begin + Duration::from_millis(2_500)), CHECK_INTERVAL, "late, not twice");
    }
}
