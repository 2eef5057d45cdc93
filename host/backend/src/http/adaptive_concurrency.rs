//! Adaptive concurrency: the number of requests that a host takes at the same time, learned during the run. Knows
//! no clock.
//!
//! The limit doubles with each round of answers until the host is overloaded for the first time (slow
//! start), and grows by its square root a round from then on: as long as half of it, and later four fifths, are in
//! use. A round of requests of which too many were refused for now (429, 503) or not answered in time cuts the
//! limit to seven tenths, as a probe: where the host was overloaded, an answer costs less of its slots then. Where
//! it costs as much as before, the limit was not what was wrong; it is given back, and that share of failures is
//! put up with. So a server that fails at random is still kept busy.
//!
//! A round is of requests that were sent one after the other, and is judged when nearly all of them have ended.
//! A refusal takes a moment and an answer takes its time, so that among what ended last there are always more
//! refusals than among what was sent.

use std::collections::VecDeque;
use std::time::Duration;

/// The initial limit, unless [`INITIAL_SHARE`] of the maximum is higher: a suite that allows thousands of requests has a
/// server that takes hundreds.
const INITIAL_LIMIT: f64 = 32.0;
/// The share of the maximum that a limit starts at, if that is more than [`INITIAL_LIMIT`].
const INITIAL_SHARE: f64 = 1.0 / 16.0;
/// The factor by which a limit that was too high is decreased.
const DECREASE_FACTOR: f64 = 0.7;
/// A share of overloaded replies up to this is always tolerated.
const OVERLOAD_SHARE_MARGIN: f64 = 0.05;
/// The largest share of overloaded replies that is tolerated if a decrease of the limit does not reduce it.
const MAX_TOLERATED_OVERLOAD_SHARE: f64 = 0.3;
/// The number of requests of a round.
const ROUND_SIZE_RANGE: std::ops::RangeInclusive<u32> = 16..=256;
/// The share of a round that must have ended before it is judged: one request in a hundred may hang for minutes.
const MIN_ENDED_SHARE: f64 = 0.95;

/// The limit, and what it rests on.
#[derive(Debug)]
pub(super) struct AdaptiveConcurrency {
    limit: f64,
    most: f64,
    is_adaptive: bool,
    is_slow_start: bool,
    cuts: u32,
    /// Those that are not judged yet, the one that requests join last.
    rounds: VecDeque<LimitRound>,
    /// The number of the first of them.
    first: u64,
    probe: Option<Probe>,
    tolerated: f64,
    /// Whether most requests of the round that was judged last were refused.
    is_refusing: bool,
}

/// How a request ended, as far as the limit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestEnd {
    /// The host accepted it.
    Accepted,
    /// The host refused it for now, by a status such as 429.
    Throttled,
    /// It was not answered in time.
    TimedOut,
}

/// Requests that were sent one after the other.
#[derive(Debug, Default)]
struct LimitRound {
    size: u32,
    sent: u32,
    /// Most requests that were in flight when one of these was sent, itself among them.
    fullest: usize,
    ended: u32,
    refused: u32,
    late: u32,
    /// For how long all of them together had a slot, in seconds; without those that were late.
    spent: f64,
}

impl LimitRound {
    fn is_over(&self) -> bool {
        self.sent >= self.size && f64::from(self.ended) >= (f64::from(self.size) * MIN_ENDED_SHARE).floor()
    }

    fn overloaded(&self) -> f64 {
        f64::from(self.refused + self.late)
    }

    fn share(&self) -> f64 {
        self.overloaded() / f64::from(self.ended.max(1))
    }

    /// Returns how long a slot is taken for each request that the host had time for.
    fn cost(&self) -> f64 {
        self.spent / (f64::from(self.ended) - self.overloaded())
    }

    /// Returns whether more were overloaded than a share explains, chance included (two standard deviations).
    fn exceeds(&self, share: f64) -> bool {
        let ended = f64::from(self.ended);
        self.overloaded() > ended * share + 2.0 * (ended * share * (1.0 - share)).sqrt()
    }
}

/// A cut of which it is not yet known whether it helps.
#[derive(Debug)]
struct Probe {
    share: f64,
    cost: f64,
    /// The limit before, and whether it still doubled.
    limit: f64,
    was_slow_start: bool,
}

impl AdaptiveConcurrency {
    /// A limit that is never above `most`, and is always there where it does not adapt.
    pub(super) fn new(most: usize, is_adaptive: bool) -> AdaptiveConcurrency {
        let most = most.max(1) as f64;
        AdaptiveConcurrency {
            limit: if is_adaptive { first(most) } else { most },
            most,
            is_adaptive,
            is_slow_start: true,
            cuts: 0,
            rounds: VecDeque::new(),
            first: 0,
            probe: None,
            tolerated: 0.0,
            is_refusing: false,
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

    /// Returns how often the limit was cut.
    pub(super) fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Returns whether the host refuses most requests.
    pub(super) fn is_refusing(&self) -> bool {
        self.is_refusing
    }

    /// Returns whether a share of overloaded answers is put up with, since a lower limit does not help.
    pub(super) fn tolerates(&self) -> bool {
        self.tolerated > 0.0
    }

    /// Returns whether the limit still doubles.
    pub(super) fn is_slow_start(&self) -> bool {
        self.is_adaptive && self.is_slow_start && self.limit < self.most
    }

    /// Doubles the limit before the answers are there, where nothing speaks against it: refusals come at once, and
    /// answers may take minutes.
    pub(super) fn slow_start_tick(&mut self) {
        let thresholds = self.threshold();
        if self.is_slow_start() && !self.rounds.iter().any(|round| round.exceeds(thresholds)) {
            self.limit = (self.limit * 2.0).min(self.most);
        }
    }

    /// Counts a request that is sent, and returns the number of its round. `in_flight` includes it.
    pub(super) fn sent(&mut self, in_flight: usize) -> u64 {
        if self.rounds.back().is_none_or(|round| round.sent >= round.size) {
            let size = (self.limit as u32).clamp(*ROUND_SIZE_RANGE.start(), *ROUND_SIZE_RANGE.end());
            self.rounds.push_back(LimitRound { size, ..LimitRound::default() });
        }
        if let Some(round) = self.rounds.back_mut() {
            round.sent += 1;
            round.fullest = round.fullest.max(in_flight);
        }
        self.first + self.rounds.len() as u64 - 1
    }

    /// A request of a round was given up, and says nothing.
    pub(super) fn abandoned(&mut self, number: u64) {
        if let Some(round) = self.round(number) {
            round.size -= 1;
            round.sent -= 1;
        }
    }

    /// A request of a round ended after a while.
    pub(super) fn ended(&mut self, number: u64, end: RequestEnd, took: Duration) {
        let Some(round) = self.round(number) else { return };
        round.ended += 1;
        round.refused += u32::from(end == RequestEnd::Throttled);
        round.late += u32::from(end == RequestEnd::TimedOut);
        if end != RequestEnd::TimedOut {
            round.spent += took.as_secs_f64();
        }
        let is_over = round.is_over();
        let fullest = round.fullest as f64;
        // Where the limit is not what holds requests back, a higher one would be a guess. Not those that are in flight now
        // say so: many answers may come at once, before anything is sent in their places.
        let (step, full) = if self.is_slow_start { (1.0, 0.5) } else { (1.0 / self.limit.sqrt(), 0.8) };
        let is_full = fullest >= self.limit.floor() * full;
        if self.is_adaptive && end == RequestEnd::Accepted && is_full && self.probe.is_none() {
            self.limit = (self.limit + step).min(self.most);
        }
        if is_over {
            // Those before have requests that take longer than all of this.
            while self.first <= number {
                let Some(round) = self.rounds.pop_front() else { break };
                self.first += 1;
                if self.first > number {
                    self.judge(&round);
                }
            }
        }
    }

    fn round(&mut self, number: u64) -> Option<&mut LimitRound> {
        self.rounds.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The share of overloaded replies that is tolerated.
    fn threshold(&self) -> f64 {
        self.tolerated * 1.25 + OVERLOAD_SHARE_MARGIN
    }

    fn judge(&mut self, round: &LimitRound) {
        let probe = self.probe.take();
        // Where the limit can still be the remedy, that is tried first.
        let is_cut = probe.is_some() || !self.is_adaptive || self.limit < 2.0;
        self.is_refusing = is_cut && round.refused * 2 > round.ended;
        if !self.is_adaptive {
            return;
        }
        let share = round.share();
        if !round.exceeds(self.threshold()) {
            self.tolerated *= if share < self.tolerated / 2.0 { 0.9 } else { 1.0 };
            return;
        }
        if let Some(probe) = &probe
            && !round.exceeds(MAX_TOLERATED_OVERLOAD_SHARE)
            // Halfway, in proportion, between what it cost and what it would cost a host that is overloaded.
            && round.cost() > probe.cost * (self.limit / probe.limit).sqrt()
        {
            self.tolerated = share.max(probe.share).min(MAX_TOLERATED_OVERLOAD_SHARE);
            self.limit = self.limit.max(probe.limit);
            self.is_slow_start = probe.was_slow_start;
            return;
        }
        let was_slow_start = std::mem::take(&mut self.is_slow_start);
        let begun = Probe { share, cost: round.cost(), limit: self.limit, was_slow_start };
        self.probe = Some(probe.unwrap_or(begun));
        self.limit = (self.limit * DECREASE_FACTOR).max(1.0);
        self.cuts = self.cuts.saturating_add(1);
        // Requests from before say nothing about the new limit.
        self.first += self.rounds.len() as u64;
        self.rounds.clear();
    }
}

/// Where a limit begins that is never above `most`.
fn first(most: f64) -> f64 {
    most.min(INITIAL_LIMIT).max((most * INITIAL_SHARE).floor())
}

#[cfg(test)]
mod tests;
