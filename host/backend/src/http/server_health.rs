//! Health of a server, with a circuit breaker. It is passed the current time, and never waits.
//!
//! ```text
//!            a failure                 a series of failures               outage_limit,
//!           ┌──────────▶ degraded ───────────────────────▶ away ──────────────────▶ lost
//!   healthy │                │                               │      last probe fails
//!           └────────────────┴───────────────────────────────┘
//!                              an answer
//! ```
//!
//! Requests that failed before, while others were answered, are no evidence: they may fail by themselves each time.
//! Refusals by load (503, 529) need some time as well: the server may be answering other processes meanwhile.
//!
//! *Degraded*: requests are sent and retried as usual. *Away*: all requests wait, except for a probe every few
//! seconds, and failures are not counted as attempts. *Lost*: no further request is sent, and the run ends.
//!
//! `failsafe` 1.3 lets every call through when it is half open, and does not say when to retry. Here one probe goes
//! first, and the others wait until a known time.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

/// Maximum interval between two probes.
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum interval between two probes of a server that refuses requests by load. It may answer other processes, so
/// that a single probe in a few seconds would be too late each time.
const MAX_OVERLOAD_PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// Minimum number of failures, and of different requests with failures, that a series needs. One request that fails
/// each time says something about itself, not about the server.
const MIN_SERIES: usize = 3;

/// Minimum time of a series that consists of refusals by load. A server that is shared with other processes may refuse
/// this one for seconds.
const MIN_OVERLOAD_TIME: Duration = Duration::from_secs(5);

/// The minimum time of such a series is at most this part of the outage limit.
const OVERLOAD_PART: u32 = 4;

/// Limits of the states.
#[derive(Clone, Copy, Debug)]
pub(super) struct HealthSettings {
    /// Number of failures without an answer in between after which the server is away. Fewer are enough if fewer
    /// requests are outstanding.
    pub(super) outage_after: u32,
    /// Time from the beginning of an outage to the first probe. It doubles with each probe, up to
    /// [`MAX_PROBE_INTERVAL`], or [`MAX_OVERLOAD_PROBE_INTERVAL`] if the server only refuses requests by load.
    pub(super) first_probe: Duration,
    /// Time without an answer after which the server is lost.
    pub(super) outage_limit: Duration,
    /// Time in which every request is throttled (429) after which the server is lost.
    pub(super) throttle_limit: Duration,
}

/// Decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Send it. `is_probe` is true if the server is away.
    Go { is_probe: bool },
    /// Check again at this time, or when the state changes.
    Wait(Instant),
    /// Do not send it: the server is lost.
    Refuse(Loss),
}

/// Why a server is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// The last failure, such as `connection refused`.
    pub(super) cause: String,
    /// Time without an answer.
    pub(super) lasted: Duration,
    /// True if the server throttled every request.
    pub(super) is_throttled: bool,
}

/// State of a server, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthState {
    /// It answers.
    Healthy,
    /// Requests fail, and some may still be answered.
    Degraded {
        /// The last failure, such as `status 502`.
        cause: String,
        /// Time since the first failure without an answer after it.
        lasted: Duration,
    },
    /// No request is answered. All wait, except for probes.
    Away {
        /// The last failure.
        cause: String,
        /// Time without an answer.
        lasted: Duration,
        /// Time until it is lost.
        remaining: Duration,
    },
    /// It was away for too long, and the run ends.
    Lost {
        /// The last failure.
        cause: String,
    },
}

/// A failure, as far as the server's health is concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerFailure<'f> {
    /// Name of the request.
    pub(super) request: &'f str,
    /// True if the request itself is more likely at fault than the server.
    pub(super) is_suspect: bool,
    /// What happened, such as `connection refused`.
    pub(super) cause: &'f str,
    /// Time from the start of the attempt to its end.
    pub(super) attempt_time: Duration,
    /// True if the connection could not be made, which no single request can cause.
    pub(super) is_unreachable: bool,
    /// True if the server refused the request because of its load (503, 529).
    pub(super) is_overloaded: bool,
    /// True if the server asks for a wait above the limit.
    pub(super) is_wait_too_long: bool,
}

/// Failures without an answer in between.
#[derive(Debug)]
struct Series {
    /// Start of the time that counts towards a limit.
    since: Instant,
    /// Start of the time without an answer: the first failed attempt began then, or the last answer arrived.
    silent_since: Instant,
    count: u32,
    /// Digests of the first different requests with failures.
    requests: Vec<u64>,
    is_unreachable: bool,
    /// True if all failures are refusals by load that ask for no long wait.
    is_only_overload: bool,
    cause: String,
}

impl Series {
    fn new(since: Instant, silent_since: Instant) -> Series {
        Series {
            since,
            silent_since,
            count: 0,
            requests: Vec::new(),
            is_unreachable: false,
            is_only_overload: true,
            cause: String::new(),
        }
    }

    fn add(&mut self, failure: ServerFailure<'_>) {
        let mut hasher = DefaultHasher::new();
        failure.request.hash(&mut hasher);
        let request = hasher.finish();
        let is_new = !failure.is_suspect && !self.requests.contains(&request);
        if self.requests.len() < MIN_SERIES && is_new {
            self.requests.push(request);
        }
        self.count = self.count.saturating_add(1);
        self.is_unreachable |= failure.is_unreachable;
        self.is_only_overload &= failure.is_overloaded && !failure.is_wait_too_long;
        failure.cause.clone_into(&mut self.cause);
    }

    /// Returns true if it concerns the server, not only single requests.
    fn concerns_server(&self) -> bool {
        self.is_unreachable || self.requests.len() >= MIN_SERIES
    }

    /// Returns true if it concerns the server and is long enough to act on it.
    fn is_conclusive(&self, outage_after: u32, outstanding: usize) -> bool {
        let most = usize::try_from(outage_after).unwrap_or(usize::MAX);
        let enough = outstanding.max(MIN_SERIES).min(most);
        usize::try_from(self.count).unwrap_or(usize::MAX) >= enough && self.concerns_server()
    }
}

#[derive(Debug)]
struct Outage {
    next_probe: Instant,
    interval: Duration,
    /// Number of probes in flight.
    probes: u32,
    /// True if the last probe, at the outage limit, was sent.
    is_last_sent: bool,
}

/// Health of a server.
#[derive(Debug)]
pub(super) struct ServerHealth {
    settings: HealthSettings,
    failures: Option<Series>,
    throttled: Option<Series>,
    outage: Option<Outage>,
    loss: Option<Loss>,
    outages: u32,
    /// Time of the last answer or refusal.
    last_reply: Option<Instant>,
}

impl ServerHealth {
    pub(super) fn new(settings: HealthSettings) -> ServerHealth {
        ServerHealth {
            settings,
            failures: None,
            throttled: None,
            outage: None,
            loss: None,
            outages: 0,
            last_reply: None,
        }
    }

    /// Returns how often the server went away.
    pub(super) fn outages(&self) -> u32 {
        self.outages
    }

    /// Returns true if the server is away or lost.
    pub(super) fn is_away(&self) -> bool {
        self.outage.is_some() || self.loss.is_some()
    }

    /// Returns the state at a time.
    pub(super) fn state(&self, now: Instant) -> HealthState {
        let lasted = |series: &Series| now.saturating_duration_since(series.since);
        match (&self.loss, &self.outage, &self.failures, &self.throttled) {
            (Some(loss), ..) => HealthState::Lost { cause: loss.cause.clone() },
            (None, Some(_), Some(series), _) => HealthState::Away {
                cause: series.cause.clone(),
                lasted: lasted(series),
                remaining: self.settings.outage_limit.saturating_sub(lasted(series)),
            },
            (None, _, Some(series), _) | (None, _, None, Some(series)) => {
                HealthState::Degraded { cause: series.cause.clone(), lasted: lasted(series) }
            }
            (None, _, None, None) => HealthState::Healthy,
        }
    }

    /// Decides whether a request may be sent now.
    pub(super) fn admit(&mut self, now: Instant) -> Admission {
        if let Some(loss) = &self.loss {
            return Admission::Refuse(loss.clone());
        }
        let (Some(outage), Some(series)) = (&mut self.outage, &self.failures) else {
            return Admission::Go { is_probe: false };
        };
        let end = series.since.checked_add(self.settings.outage_limit).unwrap_or(now);
        if now >= end {
            if !outage.is_last_sent {
                outage.is_last_sent = true;
                outage.probes += 1;
                return Admission::Go { is_probe: true };
            }
            // The end of a probe changes the state.
            return Admission::Wait(now.checked_add(MAX_PROBE_INTERVAL).unwrap_or(now));
        }
        if now < outage.next_probe {
            return Admission::Wait(outage.next_probe.min(end));
        }
        outage.probes += 1;
        let longest = if series.is_only_overload { MAX_OVERLOAD_PROBE_INTERVAL } else { MAX_PROBE_INTERVAL };
        outage.next_probe = now.checked_add(outage.interval.min(longest)).unwrap_or(now);
        outage.interval = (outage.interval * 2).min(MAX_PROBE_INTERVAL);
        Admission::Go { is_probe: true }
    }

    /// Records an answer, or a refusal that shows that the server works.
    pub(super) fn on_answer(&mut self, now: Instant) {
        self.last_reply = Some(now);
        if self.loss.is_none() {
            self.failures = None;
            self.throttled = None;
            self.outage = None;
        }
    }

    /// Records that the server throttled a request: it can be reached, but does not answer.
    /// `outstanding` is the number of requests that have not ended, with this one.
    pub(super) fn on_throttled(&mut self, now: Instant, failure: ServerFailure<'_>, outstanding: usize) {
        if self.loss.is_some() {
            return;
        }
        self.last_reply = Some(now);
        self.failures = None;
        self.outage = None;
        let series = self.throttled.get_or_insert_with(|| Series::new(now, now));
        series.add(failure);
        let lasted = now.saturating_duration_since(series.since);
        let is_over = match failure.is_wait_too_long {
            true => series.is_conclusive(self.settings.outage_after, outstanding),
            false => lasted >= self.settings.throttle_limit && series.concerns_server(),
        };
        if is_over {
            self.loss = Some(Loss { cause: series.cause.clone(), lasted, is_throttled: true });
        }
    }

    /// Records a failure of a request. `outstanding` is the number of requests that have not ended, with this one.
    pub(super) fn on_failure(
        &mut self,
        now: Instant,
        failure: ServerFailure<'_>,
        is_probe: bool,
        outstanding: usize,
    ) {
        if self.loss.is_some() {
            return;
        }
        let began = now.checked_sub(failure.attempt_time).unwrap_or(now);
        let silent_since = self.last_reply.map_or(began, |reply| began.max(reply));
        // A server that accepted the request may have worked on its answer until now.
        let since = if failure.is_unreachable { silent_since } else { now };
        let series = self.failures.get_or_insert_with(|| Series::new(since, silent_since));
        series.add(failure);
        match &mut self.outage {
            Some(outage) => {
                outage.probes = outage.probes.saturating_sub(u32::from(is_probe));
                if outage.is_last_sent && outage.probes == 0 {
                    let lasted = now.saturating_duration_since(series.silent_since);
                    self.loss = Some(Loss { cause: series.cause.clone(), lasted, is_throttled: false });
                }
            }
            None => {
                let overload_time = MIN_OVERLOAD_TIME.min(self.settings.outage_limit / OVERLOAD_PART);
                let may_be_busy =
                    series.is_only_overload && now.saturating_duration_since(series.since) < overload_time;
                if series.is_conclusive(self.settings.outage_after, outstanding) && !may_be_busy {
                    self.outages += 1;
                    let interval = self.settings.first_probe.min(MAX_PROBE_INTERVAL);
                    self.outage = Some(Outage {
                        next_probe: now.checked_add(interval).unwrap_or(now),
                        interval: (interval * 2).min(MAX_PROBE_INTERVAL),
                        probes: 0,
                        is_last_sent: false,
                    });
                }
            }
        }
    }

    /// Records that a request ended without information about the server.
    pub(super) fn on_abandoned(&mut self, is_probe: bool) {
        if let Some(outage) = self.outage.as_mut().filter(|_| is_probe) {
            outage.probes = outage.probes.saturating_sub(1);
            // Another request takes its turn.
            outage.is_last_sent &= outage.probes > 0;
        }
    }
}

#[cfg(test)]
mod tests;
