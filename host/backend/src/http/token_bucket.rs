//! Rate limits per minute. A bucket is passed the current time, and never waits.
//!
//! `governor` 0.10 refuses an amount above its burst (`InsufficientCapacity`), and cannot take back tokens. The tokens
//! of a reply are known, and settled, only when it arrives.

use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// Token bucket that fills at a constant rate.
///
/// Up to a tenth of a minute's worth may be spent at once, so that the rate is even from the beginning. Later requests
/// wait until the bucket has refilled.
#[derive(Debug)]
pub(super) struct TokenBucket {
    per_minute: f64,
    /// Time when everything spent so far will have been refilled.
    earned_at: Option<Instant>,
}

impl TokenBucket {
    pub(super) fn new(per_minute: u64) -> TokenBucket {
        TokenBucket { per_minute: per_minute.max(1) as f64, earned_at: None }
    }

    /// Lowers the rate to `per_minute`, if it is higher.
    pub(super) fn lower(&mut self, per_minute: u64) {
        self.per_minute = self.per_minute.min(per_minute.max(1) as f64);
    }

    /// Returns the earliest time at which something may be spent; `now` if that is already possible.
    pub(super) fn ready(&self, now: Instant) -> Instant {
        let from = self.earned_at.map_or(now, |earned| earned.max(now));
        from.checked_sub(MINUTE / 10).map_or(now, |early| early.max(now))
    }

    /// Spends an amount.
    pub(super) fn spend(&mut self, amount: u64, now: Instant) {
        let from = self.earned_at.map_or(now, |earned| earned.max(now));
        self.earned_at = from.checked_add(self.time_for(amount)).or(Some(from));
    }

    /// Corrects a spent amount to the amount that was used.
    pub(super) fn settle(&mut self, taken: u64, used: u64) {
        let Some(earned) = self.earned_at else { return };
        let settled = if used > taken {
            earned.checked_add(self.time_for(used - taken))
        } else {
            earned.checked_sub(self.time_for(taken - used))
        };
        self.earned_at = settled.or(Some(earned));
    }

    fn time_for(&self, amount: u64) -> Duration {
        MINUTE.mul_f64((amount as f64 / self.per_minute).min(1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_of_requests_takes_a_minute() {
        let now = Instant::now();
        let mut budget = TokenBucket::new(600);
        assert_eq!(budget.ready(now), now);
        (0..660).for_each(|_| budget.spend(1, now));
        assert_eq!(budget.ready(now) - now, Duration::from_secs(60));
    }

    #[test]
    fn what_was_not_used_is_given_back() {
        let now = Instant::now();
        let mut budget = TokenBucket::new(6_000);
        budget.spend(6_000, now);
        assert_eq!(budget.ready(now) - now, Duration::from_secs(54));
        budget.settle(6_000, 1_000);
        assert_eq!(budget.ready(now) - now, Duration::from_secs(4));
        budget.settle(0, 1_000);
        assert_eq!(budget.ready(now) - now, Duration::from_secs(14));
        // An idle minute is not saved up.
        let later = now + Duration::from_secs(600);
        budget.spend(600, later);
        assert_eq!(budget.ready(later), later);
        budget.spend(600, later);
        assert_eq!(budget.ready(later) - later, Duration::from_secs(6));
    }
}
