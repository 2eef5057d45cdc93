//! Limiter of one host, shared by all backends of the process that use it: decides which requests may be sent, and
//! which wait.

use super::adaptive_concurrency::{AdaptiveConcurrency, RequestEnd};
use super::clock::now;
use super::early_retry::EarlyRetries;
use super::server_health::{Admission, HealthSettings, HealthState, Loss, ServerFailure, ServerHealth};
use super::throttle_state::ThrottleState;
use super::token_bucket::TokenBucket;
use gage_config::{HttpLimits, HttpRetry};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{AcquireError, Notify, Semaphore, SemaphorePermit};

/// Time without a refusal after which the limit may double before answers arrive.
///
/// A refusal takes less time than this from any host.
const SLOW_START_TICK: Duration = Duration::from_millis(100);

/// Outcome of an attempt, as far as the host is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    /// The host answered, or refused this request for good.
    Answered,
    /// The host throttled it (429).
    Throttled,
    /// The host reported overload (503, 529).
    Overloaded,
    /// The host failed with another 5xx status.
    ServerError,
    /// The request timed out.
    TimedOut,
    /// The connection failed or broke before the answer.
    ConnectionError {
        /// True if it could not be made.
        is_unreachable: bool,
    },
    /// The attempt says nothing about the host.
    Unrelated,
}

impl AttemptOutcome {
    /// Returns true if the host refused the request only because of its load.
    pub(super) fn is_refusal(self) -> bool {
        matches!(self, AttemptOutcome::Throttled | AttemptOutcome::Overloaded)
    }
}

/// The end of an attempt.
pub(super) struct AttemptEnd<'e> {
    pub(super) outcome: AttemptOutcome,
    /// Name of the request.
    pub(super) request: &'e str,
    /// True if the request itself is more likely at fault than the host.
    pub(super) is_suspect: bool,
    /// What happened, if it failed: `connection refused`, `status 502`.
    pub(super) cause: &'e str,
    /// Wait that the server requested.
    pub(super) retry_after: Option<Duration>,
    /// True if that is longer than the limit.
    pub(super) is_wait_too_long: bool,
    /// Pause for all requests, if the server's allowance is used up.
    pub(super) exhausted: Option<Duration>,
    /// Number of tokens that the answer used.
    pub(super) used_tokens: Option<u64>,
}

impl AttemptEnd<'_> {
    /// Creates the end of an attempt with only an outcome.
    #[cfg(test)]
    fn of(outcome: AttemptOutcome) -> AttemptEnd<'static> {
        AttemptEnd {
            outcome,
            request: "q",
            is_suspect: false,
            cause: "a failure",
            retry_after: None,
            is_wait_too_long: false,
            exhausted: None,
            used_tokens: None,
        }
    }
}

/// Reason why a request is not sent at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The host is lost.
    Lost(Loss),
    /// The program is shutting down.
    Closed,
}

/// Limiter of a host.
pub(super) struct HostLimiter {
    state: Mutex<HostState>,
    permits: Semaphore,
    /// Permit whose holder runs the slow start for all waiting requests.
    slow_start_turn: Semaphore,
    /// Permit whose holder is the next to spend from the budgets.
    budget_turn: Semaphore,
    /// Notified when part of a budget was given back.
    settled: Notify,
    /// Permit whose holder is the next to be retried early.
    early_turn: Semaphore,
    /// Notified when requests that wait may be able to go ahead.
    changed: Notify,
    /// Number of requests that have not ended.
    outstanding: AtomicUsize,
}

struct HostState {
    concurrency: AdaptiveConcurrency,
    /// Number of permits, whether acquired or not.
    permits: usize,
    /// Number of permits to remove when they are released.
    excess: usize,
    in_flight: usize,
    paused_until: Option<Instant>,
    throttle: ThrottleState,
    /// Time when the limit may next double.
    next_tick: Option<Instant>,
    health: ServerHealth,
    early: EarlyRetries,
    requests: Option<TokenBucket>,
    tokens: Option<TokenBucket>,
    pauses: u64,
    paused: Duration,
}

impl HostState {
    fn has_budget(&self) -> bool {
        self.requests.is_some() || self.tokens.is_some()
    }

    fn acquire_budget(&mut self, tokens: u64, now: Instant) {
        for (budget, amount) in [(&mut self.requests, 1), (&mut self.tokens, tokens)] {
            if let Some(budget) = budget {
                budget.spend(amount, now);
            }
        }
    }
}

impl HostLimiter {
    pub(super) fn new(limits: &HttpLimits, retry: &HttpRetry) -> HostLimiter {
        let concurrency = AdaptiveConcurrency::new(limits.most_requests(), limits.is_adaptive);
        let permits = concurrency.limit();
        let health = ServerHealth::new(HealthSettings {
            outage_after: retry.outage_after,
            first_probe: retry.first_wait,
            outage_limit: retry.outage_limit,
            throttle_limit: retry.max_retry_after,
        });
        let state = HostState {
            concurrency,
            permits,
            excess: 0,
            in_flight: 0,
            paused_until: None,
            throttle: ThrottleState::default(),
            next_tick: None,
            health,
            early: EarlyRetries::default(),
            requests: None,
            tokens: None,
            pauses: 0,
            paused: Duration::ZERO,
        };
        HostLimiter {
            state: Mutex::new(state),
            permits: Semaphore::new(permits),
            slow_start_turn: Semaphore::new(1),
            budget_turn: Semaphore::new(1),
            settled: Notify::new(),
            early_turn: Semaphore::new(1),
            changed: Notify::new(),
            outstanding: AtomicUsize::new(0),
        }
    }

    /// Applies the limits of another backend: the larger concurrency limit and the smaller budgets.
    pub(super) fn add(&self, limits: &HttpLimits) {
        let mut state = self.state();
        state.concurrency.raise(limits.most_requests(), limits.is_adaptive);
        let budgets = [limits.requests_per_minute, limits.tokens_per_minute];
        let state_budgets = {
            let HostState { requests, tokens, .. } = &mut *state;
            [requests, tokens]
        };
        for (budget, per_minute) in state_budgets.into_iter().zip(budgets) {
            if let Some(per_minute) = per_minute {
                budget.get_or_insert_with(|| TokenBucket::new(per_minute)).lower(per_minute);
            }
        }
        self.follow_limit(&mut state);
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock()
    }

    /// Returns the number of requests that it answered.
    pub(super) fn answers(&self) -> u64 {
        self.state().throttle.answers()
    }

    /// Returns true if some requests are refused regardless of load.
    pub(super) fn refuses_at_random(&self) -> bool {
        self.state().concurrency.tolerates()
    }

    /// Counts a request as outstanding until the guard is dropped.
    pub(super) fn enter(&self) -> OutstandingGuard<'_> {
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        OutstandingGuard(&self.outstanding)
    }

    /// Returns the number of requests that have not ended.
    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.load(Ordering::Relaxed)
    }

    /// Waits before a retry. Returns true if it ended early, because the host was idle or is being probed. A wait that
    /// the server requested is never shortened.
    pub(super) async fn retry_wait(&self, wait: Duration, is_requested: bool) -> bool {
        if is_requested {
            tokio::time::sleep(wait).await;
            return false;
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(wait) => false,
            () = self.early_retry() => true,
        }
    }

    /// Waits until the host could answer a request that is not yet due. Requests take turns.
    async fn early_retry(&self) {
        // The semaphore is never closed.
        let _turn = self.early_turn.acquire().await;
        loop {
            let changed = self.changed.notified();
            let at = {
                let mut state = self.state();
                let now = now();
                let HostState { health, early, concurrency, in_flight, paused_until, .. } = &mut *state;
                if health.is_away() {
                    // It waits for its turn as a probe.
                    return;
                }
                match paused_until.filter(|until| *until > now) {
                    Some(until) => Some(until),
                    None if *in_flight * 2 >= concurrency.limit() => None,
                    None => match early.next(now) {
                        Ok(()) => return,
                        Err(at) => Some(at),
                    },
                }
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = sleep_until(at) => {}
            }
        }
    }

    /// Waits until a request of about `tokens` tokens may be sent. `is_early` is true for a retry that is not yet due.
    pub(super) async fn acquire(&self, tokens: u64, is_early: bool) -> Result<RequestPermit<'_>, Rejected> {
        // Waiting futures are boxed, so that requests that need not wait reserve no space for them.
        let permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => Box::pin(self.permit()).await.map_err(|_| Rejected::Closed)?,
        };
        let mut request_permit = RequestPermit { host: self, permit: Some(permit), sent: None, tokens };
        let has_budget = self.state().has_budget();
        if has_budget {
            Box::pin(self.acquire_budget(tokens)).await;
        }
        loop {
            let changed = self.changed.notified();
            let until = {
                let mut state = self.state();
                let now = now();
                match state.paused_until.filter(|until| *until > now) {
                    Some(until) => until,
                    None => match state.health.admit(now) {
                        Admission::Wait(until) => until,
                        Admission::Refuse(loss) => return Err(Rejected::Lost(loss)),
                        Admission::Go { is_probe } => {
                            state.in_flight += 1;
                            let in_flight = state.in_flight;
                            let round = state.concurrency.sent(in_flight);
                            request_permit.sent = Some(SentRequest { round, at: now, is_probe, is_early });
                            return Ok(request_permit);
                        }
                    },
                }
            };
            Box::pin(async move {
                tokio::select! {
                    biased;
                    () = changed => {}
                    () = sleep_until(Some(until)) => {}
                }
            })
            .await;
        }
    }

    /// Spends what a request needs from the budgets once it is available, in order of arrival.
    async fn acquire_budget(&self, tokens: u64) {
        // The semaphore is never closed.
        let _turn = self.budget_turn.acquire().await;
        loop {
            let settled = self.settled.notified();
            let until = {
                let mut state = self.state();
                let now = now();
                let ready =
                    [&state.requests, &state.tokens].map(|budget| budget.as_ref().map(|one| one.ready(now)));
                match ready.into_iter().flatten().max().filter(|ready| *ready > now) {
                    Some(until) => until,
                    None => return state.acquire_budget(tokens, now),
                }
            };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(tokio::time::Instant::from_std(until)) => {}
                // An answer used less than estimated.
                () = settled => {}
            }
        }
    }

    /// Waits until the limit permits another request.
    async fn permit(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        let mut permit = pin!(self.permits.acquire());
        while self.state().concurrency.is_slow_start() {
            tokio::select! {
                biased;
                permit = &mut permit => return permit,
                () = self.slow_start_tick() => {}
            }
        }
        permit.await
    }

    /// Doubles the limit after a while, unless there is evidence against it.
    async fn slow_start_tick(&self) {
        // The semaphore is never closed.
        let _turn = self.slow_start_turn.acquire().await;
        let at = {
            let now = now();
            *self.state().next_tick.get_or_insert_with(|| now.checked_add(SLOW_START_TICK).unwrap_or(now))
        };
        tokio::time::sleep_until(tokio::time::Instant::from_std(at)).await;
        let mut state = self.state();
        let now = now();
        state.next_tick = now.checked_add(SLOW_START_TICK);
        if state.paused_until.is_none_or(|until| until <= now) {
            state.concurrency.slow_start_tick();
            self.follow_limit(&mut state);
        }
    }

    /// Pauses all requests for as long as the server asks.
    fn pause(state: &mut HostState, wait: Duration) {
        let now = now();
        let Some(until) = now.checked_add(wait) else { return };
        let from = state.paused_until.map_or(now, |paused| paused.max(now));
        if until > from {
            state.pauses += u64::from(from == now);
            state.paused += until - from;
            state.paused_until = Some(until);
        }
    }

    /// Adjusts the number of permits to the limit. Acquired permits are removed when they are released.
    fn follow_limit(&self, state: &mut HostState) {
        let wanted = state.concurrency.limit();
        let there = state.permits - state.excess;
        if wanted > there {
            let mut missing = wanted - there;
            let kept = missing.min(state.excess);
            state.excess -= kept;
            missing -= kept;
            state.permits += missing;
            self.permits.add_permits(missing);
        } else {
            let surplus = there - wanted;
            let gone = self.permits.forget_permits(surplus);
            state.permits -= gone;
            state.excess += surplus - gone;
        }
    }

    /// Returns the state of its health.
    pub(super) fn health(&self) -> HealthState {
        self.state().health.state(now())
    }

    /// Returns what was learned about the host.
    pub(super) fn statistics(&self) -> gage_core::Object {
        let state = self.state();
        gage_core::Object::from_iter([
            ("concurrency_limit".to_owned(), json!(state.concurrency.limit())),
            ("concurrency_cuts".to_owned(), json!(state.concurrency.cuts())),
            ("pauses".to_owned(), json!(state.pauses)),
            ("paused_s".to_owned(), json!(state.paused.as_secs_f64())),
            ("outages".to_owned(), json!(state.health.outages())),
        ])
    }
}

/// Permit to send one request. If dropped without [`RequestPermit::end`], it gives no information about the host.
pub(super) struct RequestPermit<'h> {
    host: &'h HostLimiter,
    permit: Option<SemaphorePermit<'h>>,
    /// `None` until it is used.
    sent: Option<SentRequest>,
    tokens: u64,
}

#[derive(Clone, Copy)]
struct SentRequest {
    round: u64,
    at: Instant,
    is_probe: bool,
    is_early: bool,
}

/// Guard of an outstanding request.
pub(super) struct OutstandingGuard<'h>(&'h AtomicUsize);

impl Drop for OutstandingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RequestPermit<'_> {
    /// Records the end of the attempt. Returns true if the host is away, so that the attempt does not count.
    pub(super) fn end(mut self, end: &AttemptEnd<'_>) -> bool {
        let mut state = self.host.state();
        let (now, outcome) = (now(), end.outcome);
        if let Some(sent) = self.sent.take() {
            match outcome {
                AttemptOutcome::Answered => state.throttle.on_success(sent.at, now),
                AttemptOutcome::Throttled | AttemptOutcome::Overloaded => state.throttle.on_refusal(sent.at),
                _ => {}
            }
            let request_end = match outcome {
                AttemptOutcome::Throttled | AttemptOutcome::Overloaded => RequestEnd::Throttled,
                AttemptOutcome::TimedOut => RequestEnd::TimedOut,
                _ => RequestEnd::Accepted,
            };
            state.concurrency.ended(sent.round, request_end, now.saturating_duration_since(sent.at));
            state.in_flight = state.in_flight.saturating_sub(1);
            if sent.is_early {
                state.early.on_end(outcome == AttemptOutcome::Answered);
            }
            self.note_health(&mut state, now, sent, end);
        }
        // One refusal among many answers concerns that request only. If most requests are refused, and no later one is
        // answered, all wait.
        let concerns_all =
            outcome.is_refusal() && state.concurrency.is_refusing() && !state.throttle.may_still_answer(now);
        if let Some(wait) = end.retry_after.filter(|_| concerns_all) {
            HostLimiter::pause(&mut state, wait);
            state.throttle.on_pause();
            state.concurrency.on_pause();
        }
        if let Some(wait) = end.exhausted {
            HostLimiter::pause(&mut state, wait);
        }
        if let (Some(used), Some(budget)) = (end.used_tokens, &mut state.tokens) {
            budget.settle(self.tokens, used);
            self.host.settled.notify_one();
        }
        self.release(&mut state);
        state.health.is_away()
    }

    fn note_health(&self, state: &mut HostState, now: Instant, sent: SentRequest, end: &AttemptEnd<'_>) {
        let is_probe = sent.is_probe;
        let failure = |is_unreachable| ServerFailure {
            request: end.request,
            is_suspect: end.is_suspect,
            cause: end.cause,
            attempt_time: now.saturating_duration_since(sent.at),
            is_unreachable,
            is_overloaded: end.outcome == AttemptOutcome::Overloaded,
            is_wait_too_long: end.is_wait_too_long,
        };
        let outstanding = self.host.outstanding();
        let was_away = state.health.is_away();
        match end.outcome {
            AttemptOutcome::Answered => state.health.on_answer(now),
            AttemptOutcome::Throttled => state.health.on_throttled(now, failure(false), outstanding),
            AttemptOutcome::Overloaded | AttemptOutcome::ServerError | AttemptOutcome::TimedOut => {
                state.health.on_failure(now, failure(false), is_probe, outstanding);
            }
            AttemptOutcome::ConnectionError { is_unreachable } => {
                state.health.on_failure(now, failure(is_unreachable), is_probe, outstanding);
            }
            AttemptOutcome::Unrelated => state.health.on_abandoned(is_probe),
        }
        // Requests that wait for a retry or for an outage to end look at the host again.
        if was_away || state.health.is_away() || self.host.early_turn.available_permits() == 0 {
            self.host.changed.notify_waiters();
        }
    }

    fn release(&mut self, state: &mut HostState) {
        let Some(permit) = self.permit.take() else { return };
        if state.excess > 0 {
            state.excess -= 1;
            state.permits -= 1;
            permit.forget();
        } else {
            drop(permit);
        }
        self.host.follow_limit(state);
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        if self.permit.is_some() {
            let mut state = self.host.state();
            if let Some(sent) = self.sent.take() {
                state.health.on_abandoned(sent.is_probe);
                state.concurrency.abandoned(sent.round);
                state.in_flight = state.in_flight.saturating_sub(1);
                self.host.changed.notify_waiters();
            }
            self.release(&mut state);
        }
    }
}

/// Sleeps until a time; forever without one.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(tokio::time::Instant::from_std(at)).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
