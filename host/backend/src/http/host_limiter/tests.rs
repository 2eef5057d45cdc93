mod shared_server;

use super::super::hosts::HttpHosts;
use super::*;
use std::sync::Arc;

fn limits(most: usize) -> HttpLimits {
    HttpLimits {
        max_concurrency: Some(most),
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

#[tokio::test(start_paused = true)]
async fn when_most_are_refused_all_wait_as_long_as_the_server_asks() {
    let hosts = HttpHosts::default();
    let host = hosts.host("http://h", &limits(64), &retry());
    let began = now();
    // Two rounds: after the first one, the limit is cut, which might have helped.
    for _ in 0..32 + 22 {
        let request_permit = host.acquire(1, false).await.expect("a permit");
        assert_eq!(now(), began, "few refusals are the matter of those who were refused");
        request_permit.end(&AttemptEnd {
            retry_after: Some(Duration::from_secs(7)),
            ..AttemptEnd::of(AttemptOutcome::Throttled)
        });
    }
    host.acquire(1, false).await.expect("a permit").end(&AttemptEnd::of(AttemptOutcome::Answered));
    assert_eq!((now() - began).as_secs(), 7);
    assert_eq!(host.statistics()["pauses"], 1);
    // Another backend at this host waits too.
    let other = hosts.host("http://h", &limits(4), &retry());
    assert!(Arc::ptr_eq(&host, &other));
    let request_permit = other.acquire(1, false).await.expect("a permit");
    request_permit.end(&AttemptEnd {
        exhausted: Some(Duration::from_secs(5)),
        ..AttemptEnd::of(AttemptOutcome::Answered)
    });
    let began = now();
    drop(host.acquire(1, false).await.expect("a permit"));
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
            under_way.remove(0).1.end(&AttemptEnd::of(AttemptOutcome::Answered));
        }
        let entered = tokio::time::timeout(Duration::from_millis(1), host.acquire(1, false)).await;
        let Ok(request_permit) = entered else { continue };
        let request_permit = request_permit.expect("a permit");
        if takes(now() - began) {
            taken += 1;
            under_way.push((now() + Duration::from_millis(50), request_permit));
        } else {
            refused += 1;
            request_permit
                .end(&AttemptEnd { retry_after: Some(wait), ..AttemptEnd::of(AttemptOutcome::Throttled) });
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
    let loss = loop {
        match host.acquire(1, false).await {
            Ok(request_permit) => {
                sent += 1;
                let outcome = AttemptOutcome::ConnectionError { is_unreachable: true };
                request_permit.end(&AttemptEnd::of(outcome));
            }
            Err(Rejected::Lost(loss)) => break loss,
            Err(Rejected::Closed) => panic!("closed"),
        }
    };
    assert_eq!((loss.lasted.as_secs(), (now() - began).as_secs()), (30, 30));
    assert_eq!(sent, 3 + 10 + 1, "failures, probes, and the last probe");
}

/// The host answers 50 requests a second and refuses the rest, without a hint. When there are no new
/// requests, those that were refused do not wait until they are due.
#[tokio::test(start_paused = true)]
async fn waiting_requests_go_ahead_when_the_host_is_idle() {
    let host = Arc::new(HostLimiter::new(&limits(64), &retry()));
    let (answered, began) = (Arc::new(AtomicUsize::new(0)), now());
    let requests = (0..300_u64).map(|number| {
        let (host, answered) = (Arc::clone(&host), Arc::clone(&answered));
        tokio::spawn(async move {
            let _outstanding = host.enter();
            let mut is_early = false;
            for attempt in 0_u64.. {
                let permit = host.acquire(1, is_early).await.expect("a permit");
                tokio::time::sleep(Duration::from_millis(2)).await;
                let allowance = 1.0 + (now() - began).as_secs_f64() * 50.0;
                let is_answered = (answered.load(Ordering::Relaxed) as f64) < allowance;
                answered.fetch_add(usize::from(is_answered), Ordering::Relaxed);
                let outcome = if is_answered { AttemptOutcome::Answered } else { AttemptOutcome::Throttled };
                permit.end(&AttemptEnd::of(outcome));
                if is_answered {
                    return attempt;
                }
                let wait = Duration::from_millis(1000 * (1 + (number * 7 + attempt * 13) % 30));
                is_early = host.retry_wait(wait, false).await;
            }
            unreachable!("the loop ends with an answer")
        })
    });
    let attempts: Vec<u64> =
        futures::future::join_all(requests).await.into_iter().map(|end| end.expect("no panic")).collect();
    let took = (now() - began).as_secs_f64();
    assert!(took < 300.0 / 50.0 * 1.2, "{took} s, {} refusals", attempts.iter().sum::<u64>());
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
        host.acquire(1, false).await.expect("a permit").end(&AttemptEnd::of(AttemptOutcome::Answered));
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
                passes.push(host.acquire(1, false).await.expect("a permit"));
            }
            passes.drain(..).for_each(|request_permit| {
                request_permit.end(&AttemptEnd::of(ending));
            });
        }
        let state = host.state();
        assert_eq!((state.in_flight, state.excess), (0, 0));
        assert_eq!(state.permits, state.concurrency.limit());
        assert_eq!(host.permits.available_permits(), state.permits);
    }
    assert_eq!(host.statistics()["concurrency_limit"], 512);
}
