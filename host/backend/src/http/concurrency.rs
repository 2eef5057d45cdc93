//! How many requests a host takes at the same time, found out as the run goes. Knows no clock.
//!
//! The limit doubles with each round of answers until the host is overloaded for the first time (slow
//! start), and grows by its square root a round from then on. A round in which the host was overloaded
//! (429, 503, no answer in time) cuts the limit to seven tenths. Where three cuts in a row do not make the
//! host any better they were not the remedy: they are taken back, and that share of failures is put up with.
//! So a server that fails at random is still kept busy.

/// Where a limit begins, unless a share of the most that is allowed is more: whoever allows thousands knows a
/// server that takes some hundreds. It is small, for cuts find back from a few times too many, and no further.
const FIRST: f64 = 32.0;
/// That share.
const FIRST_SHARE: f64 = 1.0 / 16.0;
/// What is left of a limit that was too high.
const CUT: f64 = 0.7;
/// A share of overloaded answers up to this is put up with.
const MARGIN: f64 = 0.05;
/// How far the share must have fallen for a cut to count as the remedy.
const REMEDY: f64 = 0.7;
/// So many cuts are tried before they count as useless.
const MOST_TRIED: u32 = 3;
/// How many answers a round has.
const ROUND: std::ops::RangeInclusive<u32> = 16..=256;

/// The limit, and what it rests on.
#[derive(Debug)]
pub(super) struct Concurrency {
    limit: f64,
    most: f64,
    is_adaptive: bool,
    is_slow_start: bool,
    /// Counts the cuts; answers to requests from before a cut say nothing about it.
    epoch: u32,
    answered: u32,
    overloaded: u32,
    tried: Option<Trial>,
    tolerated: f64,
}

/// Cuts of which it is not yet known whether they help.
#[derive(Debug)]
struct Trial {
    /// The largest share of overloaded answers so far.
    share: f64,
    /// The limit before the first of them, and whether it still doubled.
    limit: f64,
    was_slow_start: bool,
    cuts: u32,
}

impl Concurrency {
    /// A limit that is never above `most`, and is always there where it does not adapt.
    pub(super) fn new(most: usize, is_adaptive: bool) -> Concurrency {
        let most = most.max(1) as f64;
        Concurrency {
            limit: if is_adaptive { first(most) } else { most },
            most,
            is_adaptive,
            is_slow_start: true,
            epoch: 0,
            answered: 0,
            overloaded: 0,
            tried: None,
            tolerated: 0.0,
        }
    }

    /// Lets the limit grow further, for a second backend at the same host.
    pub(super) fn raise(&mut self, most: usize, is_adaptive: bool) {
        self.most = self.most.max(most as f64);
        self.is_adaptive &= is_adaptive;
        if self.is_slow_start {
            self.limit = self.limit.max(first(self.most));
        }
        if !self.is_adaptive {
            self.limit = self.most;
        }
    }

    /// Most requests in flight for now.
    pub(super) fn limit(&self) -> usize {
        // At least one, and a configuration bounds it far below any usize.
        self.limit as usize
    }

    /// How often the limit was cut.
    pub(super) fn cuts(&self) -> u32 {
        self.epoch
    }

    /// What a request that is sent now takes with it.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Takes note of an answer to a request of an epoch; `in_flight` were under way with it.
    pub(super) fn answered(&mut self, epoch: u32, is_overloaded: bool, in_flight: usize) {
        if !self.is_adaptive || epoch != self.epoch {
            return;
        }
        self.answered += 1;
        self.overloaded += u32::from(is_overloaded);
        // Where the limit is not what holds requests back, a higher one would be a guess.
        if !is_overloaded && in_flight as f64 >= self.limit * 0.8 {
            let step = if self.is_slow_start { 1.0 } else { 1.0 / self.limit.sqrt() };
            self.limit = (self.limit + step).min(self.most);
        }
        let round = (self.limit as u32).clamp(*ROUND.start(), *ROUND.end());
        if self.answered >= round {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let share = f64::from(self.overloaded) / f64::from(self.answered);
        (self.answered, self.overloaded) = (0, 0);
        if share <= self.tolerated * 1.25 + MARGIN {
            self.tried = None;
            self.tolerated *= if share < self.tolerated / 2.0 { 0.9 } else { 1.0 };
            return;
        }
        let trial = match self.tried.take() {
            Some(trial) if share > trial.share * REMEDY => {
                Trial { share: trial.share.max(share), cuts: trial.cuts + 1, ..trial }
            }
            _ => Trial { share, limit: self.limit, was_slow_start: self.is_slow_start, cuts: 1 },
        };
        if trial.cuts > MOST_TRIED {
            self.tolerated = trial.share;
            self.limit = self.limit.max(trial.limit);
            self.is_slow_start = trial.was_slow_start;
            return;
        }
        self.tried = Some(trial);
        self.is_slow_start = false;
        self.limit = (self.limit * CUT).max(1.0);
        self.epoch = self.epoch.wrapping_add(1);
    }
}

/// Where a limit begins that is never above `most`.
fn first(most: f64) -> f64 {
    most.min(FIRST).max((most * FIRST_SHARE).floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of requests, as many at a time as the limit allows; `is_overloaded` sees how many are in
    /// flight and a number that counts up.
    fn play(concurrency: &mut Concurrency, rounds: u32, is_overloaded: impl Fn(usize, u64) -> bool) {
        let mut number = 0;
        for _ in 0..rounds {
            let (epoch, in_flight) = (concurrency.epoch(), concurrency.limit());
            for index in 0..in_flight {
                number += 1;
                let failed = is_overloaded(index, number);
                // Whoever waits goes ahead as soon as the limit allows.
                concurrency.answered(epoch, failed, concurrency.limit());
            }
        }
    }

    #[test]
    fn a_host_that_takes_all_soon_gets_all() {
        for (most, first, rounds) in [(8, 8, 0), (64, 32, 1), (256, 32, 3), (4_096, 256, 4)] {
            let mut concurrency = Concurrency::new(most, true);
            assert_eq!(concurrency.limit(), first);
            play(&mut concurrency, rounds, |_, _| false);
            assert_eq!((concurrency.limit(), concurrency.cuts()), (most, 0));
        }
    }

    #[test]
    fn a_host_that_takes_a_hundred_gets_about_a_hundred() {
        let mut concurrency = Concurrency::new(4_096, true);
        play(&mut concurrency, 100, |index, _| index >= 100);
        assert!((50..=180).contains(&concurrency.limit()), "{concurrency:?}");
        assert!(concurrency.cuts() > 3, "{concurrency:?}");
    }

    #[test]
    fn failures_that_have_nothing_to_do_with_load_are_put_up_with() {
        let mut concurrency = Concurrency::new(256, true);
        // About a fifth, in an order without a period.
        play(&mut concurrency, 200, |_, number| {
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17).wrapping_mul(0xff51_afd7_ed55_8ccd)
                >> 40
                < (1 << 24) / 5
        });
        assert!(concurrency.limit() >= 128, "{concurrency:?}");
    }

    #[test]
    fn one_is_always_left_and_a_fixed_limit_stays() {
        let mut concurrency = Concurrency::new(8, true);
        for _ in 0..50 {
            play(&mut concurrency, 4, |_, _| true);
            assert!((1..=8).contains(&concurrency.limit()), "{concurrency:?}");
        }
        let mut fixed = Concurrency::new(100, false);
        play(&mut fixed, 20, |_, _| true);
        assert_eq!(fixed.limit(), 100);
    }
}
