//! Pace of a task, and its remaining time.

use std::collections::VecDeque;
use std::time::Duration;

/// Duration over which the rate is measured. The batches of a slow model are seconds apart.
const WINDOW: Duration = Duration::from_secs(15);
/// Maximum number of points within it.
const MAX_POINTS: u32 = 64;

/// Recent progress of a task: times and counts.
#[derive(Default)]
pub(super) struct Pace {
    points: VecDeque<(Duration, u64)>,
    now: Option<(Duration, u64)>,
}

impl Pace {
    /// Records how much is done after an elapsed time.
    pub(super) fn note(&mut self, elapsed: Duration, done: u64) {
        self.now = Some((elapsed, done));
        let step = WINDOW / MAX_POINTS;
        if self.points.back().is_none_or(|(last, _)| elapsed.saturating_sub(*last) >= step) {
            self.points.push_back((elapsed, done));
        }
        while self.points.get(1).is_some_and(|(at, _)| *at + WINDOW <= elapsed) {
            self.points.pop_front();
        }
    }

    /// Returns the rate in samples per second.
    pub(super) fn rate(&self) -> Option<f64> {
        let ((first, before), (last, now)) = (self.points.front()?, self.now?);
        let seconds = last.saturating_sub(*first).as_secs_f64();
        // Sample counts stay far below 2^53.
        (seconds > 0.0).then(|| now.saturating_sub(*before) as f64 / seconds)
    }

    /// Returns the estimated time to a total at the current rate.
    pub(super) fn left(&self, total: Option<u64>) -> Option<Duration> {
        let (_, done) = self.now?;
        let rate = self.rate().filter(|rate| *rate > 0.0)?;
        Duration::try_from_secs_f64(total?.saturating_sub(done) as f64 / rate).ok()
    }
}

/// Formats a duration: `0:07`, `12:30`, `3:05:00`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rate_is_that_of_the_last_moments() {
        let mut pace = Pace::default();
        assert_eq!((pace.rate(), pace.left(Some(10))), (None, None));
        for second in 0..=100_u64 {
            pace.note(Duration::from_secs(second), second * 10);
        }
        assert_eq!(pace.rate(), Some(10.0));
        assert_eq!(pace.left(Some(1_500)), Some(Duration::from_secs(50)));
        for second in 101..=200 {
            pace.note(Duration::from_secs(second), 1_000);
        }
        assert_eq!((pace.rate(), pace.left(Some(1_500)), pace.left(None)), (Some(0.0), None, None));
    }

    #[test]
    fn clocks_are_read_at_a_glance() {
        let cases = [(7, "0:07"), (750, "12:30"), (11_100, "3:05:00")];
        cases.iter().for_each(|(seconds, text)| assert_eq!(clock(Duration::from_secs(*seconds)), *text));
    }

    #[test]
    fn a_look_every_moment_is_no_reason_to_remember_the_beginning() {
        let mut pace = Pace::default();
        for tenth in 0..1_000_u64 {
            pace.note(Duration::from_millis(tenth * 100), if tenth < 500 { 0 } else { (tenth - 500) * 2 });
        }
        assert_eq!(pace.rate().map(f64::round), Some(20.0));
    }

    proptest! {
        #[test]
        fn points_are_bounded_and_rates_never_negative(
            steps in proptest::collection::vec((0_u64..5_000, 0_u64..50), 1..500)
        ) {
            let mut pace = Pace::default();
            let (mut elapsed, mut done) = (0, 0);
            for (milliseconds, more) in steps {
                elapsed += milliseconds;
                done += more;
                pace.note(Duration::from_millis(elapsed), done);
                prop_assert!(pace.points.len() <= MAX_POINTS as usize + 2, "{}", pace.points.len());
                prop_assert!(pace.rate().is_none_or(|rate| rate >= 0.0 && rate.is_finite()));
            }
        }
    }
}
