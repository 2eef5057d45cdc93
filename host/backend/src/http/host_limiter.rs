//! Limiter of one host, shared by all backends of the process that use it: decides which requests may be sent, and
//! which wait.

use super::adaptive_concurrency::{AdaptiveConcurrency, RequestEnd};
use super::circuit_breaker::{Admission, BreakerSettings, CircuitBreaker};
use super::throttle_state::ThrottleState;
use super::token_bucket::TokenBucket;
use gage_config::{HttpLimits, HttpRetry};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{AcquireError, Notify, Semaphore, SemaphorePermit};

/// Time without a refusal after which the limit may double before answers arrive.
///
/// A refusal takes less time than this from any host.
const SLOW_START_TICK: Duration = Duration::from_millis(100);

/// Hosts used by the backends of a process, each with its limits.
#[derive(Clone, Default)]
pub struct HttpHosts(Arc<Mutex<HashMap<String, Arc<HostLimiter>>>>);

impl HttpHosts {
    /// Returns the limiter of a host, after applying the limits of another backend.
    ///
    /// The larger concurrency limit and the smaller budgets apply.
    pub(super) fn host(&self, name: &str, limits: &HttpLimits, retry: &HttpRetry) -> Arc<HostLimiter> {
        let mut hosts = self.0.lock();
        let host = hosts.entry(name.to_owned()).or_insert_with(|| Arc::new(HostLimiter::new(limits, retry)));
        host.add(limits);
        Arc::clone(host)
    }
}

/// Outcome of an attempt, as far as the host is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    /// The host answered.
    Answered,
    /// The host refused it temporarily (429) or reported overload.
    Throttled,
    /// The request timed out.
    TimedOut,
    /// The connection failed or broke.
    ConnectionError,
}

/// Reason why a request is not sent at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// The host has been unreachable for this long.
    OutOfReach(Duration),
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
    breaker: CircuitBreaker,
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
    fn new(limits: &HttpLimits, retry: &HttpRetry) -> HostLimiter {
        let concurrency = AdaptiveConcurrency::new(limits.max_concurrency, limits.is_adaptive);
        let permits = concurrency.limit();
        let breaker = CircuitBreaker::new(BreakerSettings {
            after: retry.outage_after,
            base: retry.first_wait,
            limit: retry.max_wait,
            outage: retry.outage_limit,
        });
        let state = HostState {
            concurrency,
            permits,
            excess: 0,
            in_flight: 0,
            paused_until: None,
            throttle: ThrottleState::default(),
            next_tick: None,
            breaker,
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
        }
    }

    fn add(&self, limits: &HttpLimits) {
        let mut state = self.state();
        state.concurrency.raise(limits.max_concurrency, limits.is_adaptive);
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

    /// Waits until a request of about `tokens` tokens, which takes at most `longest`, may be sent.
    pub(super) async fn acquire(
        &self,
        tokens: u64,
        longest: Duration,
    ) -> Result<RequestPermit<'_>, Rejected> {
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
            let until = {
                let mut state = self.state();
                let now = now();
                match state.paused_until.filter(|until| *until > now) {
                    Some(until) => until,
                    None => match state.breaker.admit(now, longest) {
                        Admission::Wait(until) => until,
                        Admission::Refuse(lasted) => return Err(Rejected::OutOfReach(lasted)),
                        Admission::Go => {
                            state.in_flight += 1;
                            let in_flight = state.in_flight;
                            request_permit.sent =
                                Some(SentRequest { round: state.concurrency.sent(in_flight), at: now });
                            return Ok(request_permit);
                        }
                    },
                }
            };
            Box::pin(tokio::time::sleep_until(tokio::time::Instant::from_std(until))).await;
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

    /// Returns what was learned about the host.
    pub(super) fn statistics(&self) -> gage_core::Object {
        let state = self.state();
        gage_core::Object::from_iter([
            ("concurrency_limit".to_owned(), json!(state.concurrency.limit())),
            ("concurrency_cuts".to_owned(), json!(state.concurrency.cuts())),
            ("pauses".to_owned(), json!(state.pauses)),
            ("paused_s".to_owned(), json!(state.paused.as_secs_f64())),
            ("outages".to_owned(), json!(state.breaker.openings())),
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
}

impl RequestPermit<'_> {
    /// Records the outcome of the request.
    ///
    /// `retry_after` is the wait requested by the server. `exhausted` is the pause for all requests if the server's
    /// allowance is used up.
    pub(super) fn end(
        mut self,
        outcome: AttemptOutcome,
        retry_after: Option<Duration>,
        exhausted: Option<Duration>,
        used_tokens: Option<u64>,
    ) {
        let mut state = self.host.state();
        let now = now();
        if let Some(sent) = self.sent.take() {
            match outcome {
                AttemptOutcome::Answered => state.throttle.on_success(sent.at, now),
                AttemptOutcome::Throttled => state.throttle.on_refusal(sent.at),
                AttemptOutcome::TimedOut | AttemptOutcome::ConnectionError => {}
            }
            let end = match outcome {
                AttemptOutcome::Throttled => RequestEnd::Throttled,
                AttemptOutcome::TimedOut => RequestEnd::TimedOut,
                AttemptOutcome::Answered | AttemptOutcome::ConnectionError => RequestEnd::Accepted,
            };
            state.concurrency.ended(sent.round, end, now.saturating_duration_since(sent.at));
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        match outcome {
            AttemptOutcome::Answered | AttemptOutcome::Throttled => state.breaker.on_response(),
            AttemptOutcome::ConnectionError => state.breaker.on_connection_error(now),
            AttemptOutcome::TimedOut => state.breaker.abandoned(),
        }
        // One refusal among many answers concerns that request only. If most requests are refused, and no later one is
        // answered, all wait.
        let concerns_all = outcome == AttemptOutcome::Throttled
            && state.concurrency.is_refusing()
            && !state.throttle.may_still_answer(now);
        if let Some(wait) = retry_after.filter(|_| concerns_all) {
            HostLimiter::pause(&mut state, wait);
            state.throttle.on_pause();
        }
        if let Some(wait) = exhausted {
            HostLimiter::pause(&mut state, wait);
        }
        if let (Some(used), Some(budget)) = (used_tokens, &mut state.tokens) {
            budget.settle(self.tokens, used);
            self.host.settled.notify_one();
        }
        self.release(&mut state);
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
                state.breaker.abandoned();
                state.concurrency.abandoned(sent.round);
                state.in_flight = state.in_flight.saturating_sub(1);
            }
            self.release(&mut state);
        }
    }
}

/// Returns the time of the runtime's clock, which tests can pause.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(most: usize) -> HttpLimits {
        HttpLimits {
            max_concurrency: most,
            is_adaptive: true,
            requests_per_minute: None,
            tokens_per_minute: None,
        }
    }

    fn retry() -> HttpRetry {
        HttpRetry {
            max_retries: 0,
            first_wait: Duration::from_secs(1),
            max_wait: Duration::from_secs(4),
            max_retry_after: Duration::from_secs(600),
            outage_limit: Duration::from_secs(30),
            outage_after: 3,
        }
    }

    const MAX_BACKOFF: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn when_most_are_refused_all_wait_as_long_as_the_server_asks() {
        let hosts = HttpHosts::default();
        let host = hosts.host("http://h", &limits(64), &retry());
        let began = now();
        // Two rounds: after the first one, the limit is cut, which might have helped.
        for _ in 0..32 + 22 {
            let request_permit = host.acquire(1, MAX_BACKOFF).await.expect("a permit");
            assert_eq!(now(), began, "few refusals are the matter of those who were refused");
            request_permit.end(AttemptOutcome::Throttled, Some(Duration::from_secs(7)), None, None);
        }
        host.acquire(1, MAX_BACKOFF).await.expect("a permit").end(AttemptOutcome::Answered, None, None, None);
        assert_eq!((now() - began).as_secs(), 7);
        assert_eq!(host.statistics()["pauses"], 1);
        // Another backend at this host waits too.
        let other = hosts.host("http://h", &limits(4), &retry());
        assert!(Arc::ptr_eq(&host, &other));
        let request_permit = other.acquire(1, MAX_BACKOFF).await.expect("a permit");
        request_permit.end(AttemptOutcome::Answered, None, Some(Duration::from_secs(5)), None);
        let began = now();
        drop(host.acquire(1, MAX_BACKOFF).await.expect("a permit"));
        assert_eq!((now() - began).as_secs(), 5);
    }

    /// Sends requests to a host for twenty seconds, as fast as its limit allows. Refused requests are asked to wait for
    /// `wait`.
    ///
    /// Returns the number of accepted and refused requests, and of pauses.
    async fn asked(mut takes: impl FnMut(Duration) -> bool, wait: Duration) -> (u32, u32, u64) {
        let host = HostLimiter::new(&limits(64), &retry());
        let began = now();
        let (mut taken, mut refused) = (0, 0);
        let mut under_way: Vec<(Instant, RequestPermit<'_>)> = Vec::new();
        while now() - began < Duration::from_secs(20) {
            while under_way.first().is_some_and(|(end, _)| *end <= now()) {
                under_way.remove(0).1.end(AttemptOutcome::Answered, None, None, None);
            }
            let entered = tokio::time::timeout(Duration::from_millis(1), host.acquire(1, MAX_BACKOFF)).await;
            let Ok(request_permit) = entered else { continue };
            let request_permit = request_permit.expect("a permit");
            if takes(now() - began) {
                taken += 1;
                under_way.push((now() + Duration::from_millis(50), request_permit));
            } else {
                refused += 1;
                request_permit.end(AttemptOutcome::Throttled, Some(wait), None, None);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let pauses = host.statistics()["pauses"].as_u64().expect("a number");
        (taken, refused, pauses)
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_host_that_refuses_everyone_is_paused() {
        let second = Duration::from_secs(1);
        for rate in [10_u32, 80, 400] {
            // A steady supply of tokens, and a few saved ones.
            let mut given = 0;
            let by_rate = |time: Duration| {
                let there = 4 + (time.as_secs_f64() * f64::from(rate)) as u32;
                let takes = given < there;
                given += u32::from(takes);
                takes
            };
            let (taken, refused, pauses) = asked(by_rate, second).await;
            // At first the interval between answers is unknown.
            assert!(taken >= 20 * rate * 9 / 10 && pauses <= 1, "{rate}: {taken} {refused} {pauses}");
        }
        for (most, window) in [(60, 10), (20, 4), (200, 5)] {
            let (mut given, mut number) = (0, 0);
            let by_window = |time: Duration| {
                if time.as_secs() / window != number {
                    (given, number) = (0, time.as_secs() / window);
                }
                given += u32::from(given < most);
                given < most
            };
            let (taken, refused, pauses) = asked(by_window, Duration::from_secs(window)).await;
            let windows = 20 / window;
            assert!(pauses >= windows - 1, "{most} in {window}: {taken} {refused} {pauses}");
            assert!(u64::from(refused) <= 250 * windows, "{most} in {window}: {taken} {refused} {pauses}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unreachable_host_is_probed_for_a_bounded_time() {
        let host = HostLimiter::new(&limits(64), &retry());
        let began = now();
        let mut sent = 0;
        let lasted = loop {
            match host.acquire(1, MAX_BACKOFF).await {
                Ok(request_permit) => {
                    sent += 1;
                    request_permit.end(AttemptOutcome::ConnectionError, None, None, None);
                }
                Err(Rejected::OutOfReach(lasted)) => break lasted,
                Err(Rejected::Closed) => panic!("closed"),
            }
        };
        assert_eq!(lasted.as_secs(), 30);
        assert_eq!((now() - began).as_secs(), 30);
        assert!((8..=14).contains(&sent), "{sent}");
    }

    #[tokio::test(start_paused = true)]
    async fn budgets_of_a_minute_are_kept_and_the_smaller_one_counts() {
        let hosts = HttpHosts::default();
        let per_minute =
            |requests| HttpLimits { requests_per_minute: Some(requests), is_adaptive: false, ..limits(64) };
        let _first = hosts.host("http://h", &per_minute(600), &retry());
        let host = hosts.host("http://h", &per_minute(60), &retry());
        let began = now();
        for _ in 0..66 {
            host.acquire(1, MAX_BACKOFF).await.expect("a permit").end(
                AttemptOutcome::Answered,
                None,
                None,
                None,
            );
        }
        let waited = now() - began;
        assert!((58..=60).contains(&waited.as_secs()), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn permits_follow_the_limit_and_none_is_lost() {
        let host = Arc::new(HostLimiter::new(&limits(512), &retry()));
        for (ending, rounds) in
            [(AttemptOutcome::Answered, 200), (AttemptOutcome::TimedOut, 30), (AttemptOutcome::Answered, 900)]
        {
            for _ in 0..rounds {
                let mut passes = Vec::new();
                while passes.len() < host.state().concurrency.limit() {
                    passes.push(host.acquire(1, MAX_BACKOFF).await.expect("a permit"));
                }
                passes.drain(..).for_each(|request_permit| request_permit.end(ending, None, None, None));
            }
            let state = host.state();
            assert_eq!((state.in_flight, state.excess), (0, 0));
            assert_eq!(state.permits, state.concurrency.limit());
            assert_eq!(host.permits.available_permits(), state.permits);
        }
        assert_eq!(host.statistics()["concurrency_limit"], 512);
    }
}
