//! Adaptive concurrency: learns during the run how many requests a host can handle at the same time. Uses no clock.
//!
//! The limit doubles with each round of answers until the host is overloaded for the first time (slow start). From then
//! on it grows by its square root per round. It grows only while at least half of it is in use, or four fifths after
//! slow start.
//!
//! If too many requests of a round are refused temporarily (429, 503) or time out, the limit is cut to seven tenths as
//! a probe. If the host was overloaded, an answer then costs less slot time. If it costs as much as before, the limit
//! was not the cause: the limit is restored, and that share of failures is tolerated. So a server that fails at random
//! is still kept busy.
//!
//! Other processes may take what a cut leaves free, so that cuts do not help, and some of them may then tolerate
//! refusals. A limit of one cannot be cut any further. It grows again with each answer, even if too many requests are
//! refused, so that every process gets its share.
//!
//! A round consists of requests sent one after another, and is judged when nearly all of them have ended. Judging the
//! requests that ended last would be biased: refusals are quick and answers are slow, so refusals would be
//! overrepresented.

use std::collections::VecDeque;
use std::time::Duration;

/// Initial limit, unless [`INITIAL_SHARE`] of the maximum is higher: a suite that allows thousands of requests has a
/// server that can handle hundreds.
const INITIAL_LIMIT: f64 = 32.0;
/// Initial limit as a share of the maximum, if that is more than [`INITIAL_LIMIT`].
const INITIAL_SHARE: f64 = 1.0 / 16.0;
/// Factor by which a limit that was too high is decreased.
const DECREASE_FACTOR: f64 = 0.7;
/// Share of overloaded replies that is always tolerated.
const OVERLOAD_SHARE_MARGIN: f64 = 0.05;
/// Maximum share of overloaded replies that is tolerated if decreasing the limit does not reduce it.
const MAX_TOLERATED_OVERLOAD_SHARE: f64 = 0.3;
/// Number of requests per round.
const ROUND_SIZE_RANGE: std::ops::RangeInclusive<u32> = 16..=256;
/// Share of a round that must have ended before it is judged: one request in a hundred may hang for minutes.
const MIN_ENDED_SHARE: f64 = 0.95;

/// Adaptive limit and its state.
#[derive(Debug)]
pub(super) struct AdaptiveConcurrency {
    limit: f64,
    most: f64,
    is_adaptive: bool,
    is_slow_start: bool,
    cuts: u32,
    /// Rounds that are not yet judged; new requests join the last one.
    rounds: VecDeque<LimitRound>,
    /// Number of the first of these rounds.
    first: u64,
    probe: Option<Probe>,
    tolerated: f64,
    /// True if most requests of the last judged round were refused.
    is_refusing: bool,
    /// True if more of the last judged round were overloaded than is tolerated.
    is_exceeded: bool,
}

/// Outcome of a request, as far as the limit is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestEnd {
    /// The host accepted it.
    Accepted,
    /// The host refused it temporarily, by a status such as 429.
    Throttled,
    /// The request timed out.
    TimedOut,
}

/// A round of requests sent one after another.
#[derive(Debug, Default)]
struct LimitRound {
    size: u32,
    sent: u32,
    /// Maximum number of requests in flight when one of these was sent, including itself.
    fullest: usize,
    ended: u32,
    refused: u32,
    late: u32,
    /// Total slot time of all these requests in seconds, excluding timeouts.
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

    /// Returns the slot time per request that the host had capacity for.
    fn cost(&self) -> f64 {
        self.spent / (f64::from(self.ended) - self.overloaded())
    }

    /// Returns true if more were overloaded than `share` explains, allowing for chance (two standard deviations).
    fn exceeds(&self, share: f64) -> bool {
        let ended = f64::from(self.ended);
        self.overloaded() > ended * share + 2.0 * (ended * share * (1.0 - share)).sqrt()
    }
}

/// A cut of the limit whose effect is not yet known.
#[derive(Debug)]
struct Probe {
    share: f64,
    cost: f64,
    /// Limit before the cut.
    limit: f64,
    /// True if the limit still doubled then.
    was_slow_start: bool,
}

impl AdaptiveConcurrency {
    /// Creates a limit of at most `most`. If it is not adaptive, it always equals `most`.
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
            is_exceeded: false,
        }
    }

    /// Raises the maximum, for another backend at the same host.
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

    /// Returns the current maximum number of requests in flight.
    pub(super) fn limit(&self) -> usize {
        // At least one, and the configuration bounds it far below any usize.
        self.limit as usize
    }

    /// Returns the number of cuts.
    pub(super) fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Returns true if the host refuses most requests.
    pub(super) fn is_refusing(&self) -> bool {
        self.is_refusing
    }

    /// Forgets that the host refuses most requests, since all of them are now paused: another round must show it again.
    pub(super) fn on_pause(&mut self) {
        self.is_refusing = false;
    }

    /// Returns true if a share of overloaded replies is tolerated, because a lower limit does not help, and the host
    /// overloads no larger share.
    pub(super) fn tolerates(&self) -> bool {
        self.tolerated > 0.0 && !self.is_exceeded
    }

    /// Returns true if the limit still doubles.
    pub(super) fn is_slow_start(&self) -> bool {
        self.is_adaptive && self.is_slow_start && self.limit < self.most
    }

    /// Doubles the limit before answers arrive, unless there is evidence against it: refusals are immediate, while
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

    /// Removes a cancelled request from its round, since it gives no information.
    pub(super) fn abandoned(&mut self, number: u64) {
        if let Some(round) = self.round(number) {
            round.size -= 1;
            round.sent -= 1;
        }
    }

    /// Records the end of a request of a round, and the time it took.
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
        // If the limit is not the bottleneck, raising it would be a guess. The current number in flight cannot show
        // this: many answers may arrive at once, before new requests are sent.
        let (step, full) = if self.is_slow_start { (1.0, 0.5) } else { (1.0 / self.limit.sqrt(), 0.8) };
        let is_full = fullest >= self.limit.floor() * full;
        if self.is_adaptive && end == RequestEnd::Accepted && is_full && self.probe.is_none() {
            self.limit = (self.limit + step).min(self.most);
        }
        if is_over {
            // Drop earlier rounds too: they have requests that take longer than this whole round.
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

    /// Returns the share of overloaded replies that is tolerated.
    fn threshold(&self) -> f64 {
        self.tolerated * 1.25 + OVERLOAD_SHARE_MARGIN
    }

    fn judge(&mut self, round: &LimitRound) {
        let probe = self.probe.take();
        // As long as a lower limit may still help, try that first.
        let is_cut = probe.is_some() || !self.is_adaptive || self.limit < 2.0;
        self.is_refusing = is_cut && round.refused * 2 > round.ended;
        if !self.is_adaptive {
            return;
        }
        let share = round.share();
        self.is_exceeded = round.exceeds(self.threshold());
        if !self.is_exceeded {
            self.tolerated *= if share < self.tolerated / 2.0 { 0.9 } else { 1.0 };
            return;
        }
        if let Some(probe) = &probe
            && !round.exceeds(MAX_TOLERATED_OVERLOAD_SHARE)
            // Geometric mean of the earlier cost and the cost expected from an overloaded host.
            && round.cost() > probe.cost * (self.limit / probe.limit).sqrt()
        {
            self.tolerated = share.max(probe.share).min(MAX_TOLERATED_OVERLOAD_SHARE);
            self.limit = self.limit.max(probe.limit);
            self.is_slow_start = probe.was_slow_start;
            self.is_exceeded = false;
            return;
        }
        let was_slow_start = std::mem::take(&mut self.is_slow_start);
        if self.limit < 2.0 {
            // Nothing is left to cut. Without a probe, the limit grows with the next answers.
            self.limit = 1.0;
            return;
        }
        let begun = Probe { share, cost: round.cost(), limit: self.limit, was_slow_start };
        self.probe = Some(probe.unwrap_or(begun));
        self.limit *= DECREASE_FACTOR;
        self.cuts = self.cuts.saturating_add(1);
        // Earlier requests say nothing about the new limit.
        self.first += self.rounds.len() as u64;
        self.rounds.clear();
    }
}

/// Returns the initial limit for a maximum of `most`.
fn first(most: f64) -> f64 {
    most.min(INITIAL_LIMIT).max((most * INITIAL_SHARE).floor())
}

#[cfg(test)]
mod tests;
