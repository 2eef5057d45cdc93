use super::*;

const SETTINGS: HealthSettings = HealthSettings {
    outage_after: 16,
    first_probe: Duration::from_millis(500),
    outage_limit: Duration::from_secs(20),
    throttle_limit: Duration::from_secs(100),
};

fn failure(request: &str) -> ServerFailure<'_> {
    ServerFailure {
        request,
        is_suspect: false,
        cause: "status 502",
        attempt_time: Duration::ZERO,
        is_unreachable: false,
        is_overloaded: false,
        is_wait_too_long: false,
    }
}

/// A server that is away since a time, found by failures of three requests.
fn away(start: Instant) -> ServerHealth {
    let mut health = ServerHealth::new(SETTINGS);
    for request in ["a", "b", "c"] {
        assert_eq!(health.admit(start), Admission::Go { is_probe: false });
        health.on_failure(start, failure(request), false, 3);
    }
    assert!(health.is_away());
    health
}

#[test]
fn probes_follow_one_another_until_the_server_is_lost() {
    let start = Instant::now();
    let mut health = away(start);
    let mut probes = Vec::new();
    let mut now = start;
    let loss = loop {
        match health.admit(now) {
            Admission::Wait(until) => now = until,
            Admission::Go { is_probe } => {
                assert!(is_probe);
                probes.push((now - start).as_secs_f64());
                health.on_failure(now, failure("a"), true, 3);
            }
            Admission::Refuse(loss) => break loss,
        }
    };
    assert_eq!(probes, [0.5, 1.5, 3.5, 6.5, 9.5, 12.5, 15.5, 18.5, 20.0]);
    assert_eq!(loss, Loss { cause: "status 502".to_owned(), lasted: now - start, is_throttled: false });
    assert_eq!(health.outages(), 1);
    health.on_answer(now);
    assert!(matches!(health.admit(now), Admission::Refuse(_)), "the end of the run is decided");
}

#[test]
fn an_answer_ends_an_outage() {
    let start = Instant::now();
    let mut health = away(start);
    let probed = start + Duration::from_millis(500);
    assert_eq!(health.admit(probed), Admission::Go { is_probe: true });
    let (cause, lasted) = ("status 502".to_owned(), Duration::from_millis(500));
    let remaining = SETTINGS.outage_limit - lasted;
    assert_eq!(health.state(probed), HealthState::Away { cause: cause.clone(), lasted, remaining });
    health.on_answer(probed);
    assert_eq!(health.state(probed), HealthState::Healthy);
    assert_eq!(health.admit(probed), Admission::Go { is_probe: false });
    health.on_failure(probed, failure("a"), false, 3);
    assert_eq!(health.state(probed), HealthState::Degraded { cause, lasted: Duration::ZERO });
}

/// A slow answer may be on its way, so a server is not lost while a probe is in flight.
#[test]
fn a_probe_in_flight_delays_the_loss() {
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut health = away(start);
    assert_eq!(health.admit(at(1)), Admission::Go { is_probe: true });
    assert_eq!(health.admit(at(20)), Admission::Go { is_probe: true });
    health.on_failure(at(20), failure("b"), true, 3);
    assert_eq!(health.admit(at(30)), Admission::Wait(at(33)));
    health.on_failure(at(30), failure("a"), true, 3);
    assert!(matches!(health.admit(at(30)), Admission::Refuse(_)));
}

/// Connections that nothing accepts fail late. The time until then is part of the outage.
#[test]
fn outage_begins_with_the_attempt_that_failed() {
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    for (is_unreachable, end) in [(true, 21), (false, 30)] {
        let mut health = ServerHealth::new(SETTINGS);
        let late = |request| ServerFailure {
            attempt_time: Duration::from_secs(10),
            is_unreachable,
            ..failure(request)
        };
        // A reply during the first attempt.
        health.on_answer(at(1));
        for request in ["a", "b", "c"] {
            health.on_failure(at(10), late(request), false, 3);
        }
        assert_eq!(health.admit(at(end)), Admission::Go { is_probe: true });
        assert_eq!(health.admit(at(end)), Admission::Wait(at(end + 3)), "the last probe is sent");
        health.on_failure(at(end + 10), late("a"), true, 3);
        let Admission::Refuse(loss) = health.admit(at(end + 10)) else { panic!("it goes on") };
        assert_eq!(loss.lasted, Duration::from_secs(end + 9), "since the last reply");
    }
}

#[test]
fn a_cancelled_last_probe_is_replaced() {
    let start = Instant::now();
    let end = start + SETTINGS.outage_limit;
    let mut health = away(start);
    assert_eq!(health.admit(end), Admission::Go { is_probe: true });
    health.on_abandoned(true);
    assert_eq!(health.admit(end), Admission::Go { is_probe: true });
}

#[test]
fn a_series_needs_several_requests_or_a_dead_connection() {
    let start = Instant::now();
    let suspect = |request| ServerFailure { is_suspect: true, ..failure(request) };
    let unreachable = ServerFailure { is_unreachable: true, ..failure("a") };
    for (failures, outstanding, is_away) in [
        (vec![failure("a"); 100], 1, false),
        (vec![unreachable; 2], 1, false),
        (vec![unreachable; 3], 1, true),
        (vec![failure("a"), failure("b"), failure("c")], 1, true),
        (vec![failure("a"), failure("b"), suspect("c"), suspect("d")], 1, false),
        (vec![failure("a"), failure("b"), failure("c")], 4, false),
        (["a", "b", "c", "d"].map(failure).repeat(3), 64, false),
        (["a", "b", "c", "d"].map(failure).repeat(4), 64, true),
    ] {
        let mut health = ServerHealth::new(SETTINGS);
        failures.iter().for_each(|failure| health.on_failure(start, *failure, false, outstanding));
        assert_eq!(health.is_away(), is_away, "{} failures, {outstanding} outstanding", failures.len());
    }
}

/// A server that is busy with other processes refuses for a while. Other failures are evidence at once.
#[test]
fn refusals_by_load_are_an_outage_only_after_a_while() {
    let start = Instant::now();
    let busy = |request| ServerFailure { is_overloaded: true, ..failure(request) };
    let too_long = |request| ServerFailure { is_wait_too_long: true, ..busy(request) };
    for (seconds, third, is_away) in [
        (0, busy("c"), false),
        (4, busy("c"), false),
        (5, busy("c"), true),
        (0, failure("c"), true),
        (0, too_long("c"), true),
    ] {
        let mut health = ServerHealth::new(SETTINGS);
        health.on_failure(start, busy("a"), false, 3);
        health.on_failure(start, busy("b"), false, 3);
        health.on_failure(start + Duration::from_secs(seconds), third, false, 3);
        assert_eq!(health.is_away(), is_away, "after {seconds} s: {third:?}");
    }
    // A short outage limit leaves less time: a quarter of it.
    let settings = HealthSettings { outage_limit: Duration::from_secs(4), ..SETTINGS };
    let mut health = ServerHealth::new(settings);
    for request in ["a", "b", "c"] {
        health.on_failure(start, busy(request), false, 3);
    }
    assert!(!health.is_away());
    health.on_failure(start + Duration::from_secs(1), busy("a"), false, 3);
    assert!(health.is_away());
}

/// A server that is busy with other processes may have room only at moments.
#[test]
fn a_server_that_refuses_by_load_is_probed_often() {
    let start = Instant::now();
    for (is_overloaded, expected) in [(true, [500, 750, 1_000, 1_250]), (false, [500, 1_500, 3_500, 6_500])] {
        let mut health = ServerHealth::new(SETTINGS);
        let fail = |health: &mut ServerHealth, now| {
            for request in ["a", "b", "c"] {
                health.on_failure(now, ServerFailure { is_overloaded, ..failure(request) }, false, 3);
            }
        };
        fail(&mut health, start);
        let away = start + MIN_OVERLOAD_TIME;
        fail(&mut health, away);
        assert!(health.is_away());
        let began = if is_overloaded { away } else { start };
        let mut now = began;
        let probes = expected.map(|_| {
            let Admission::Wait(until) = health.admit(now) else { panic!("a probe is due at once") };
            now = until;
            assert_eq!(health.admit(now), Admission::Go { is_probe: true });
            (now - began).as_millis()
        });
        assert_eq!(probes, expected, "overloaded: {is_overloaded}");
    }
}

#[test]
fn a_server_that_throttles_everything_has_more_time() {
    let start = Instant::now();
    let at = |seconds: u64| start + Duration::from_secs(seconds);
    let mut health = ServerHealth::new(SETTINGS);
    for (second, request) in [(0, "a"), (50, "b"), (99, "c")] {
        health.on_throttled(at(second), failure(request), 3);
        assert_eq!(health.admit(at(second)), Admission::Go { is_probe: false });
    }
    health.on_throttled(at(100), failure("a"), 3);
    let Admission::Refuse(loss) = health.admit(at(100)) else { panic!("it goes on") };
    assert!(loss.is_throttled && loss.lasted == Duration::from_secs(100), "{loss:?}");
}

#[test]
fn a_server_that_asks_for_too_long_a_wait_is_lost_at_once() {
    let start = Instant::now();
    let mut health = ServerHealth::new(SETTINGS);
    for request in ["a", "b", "c"] {
        assert_eq!(health.admit(start), Admission::Go { is_probe: false });
        let failure = ServerFailure { is_wait_too_long: true, ..failure(request) };
        health.on_throttled(start, failure, 3);
    }
    assert!(matches!(health.admit(start), Admission::Refuse(_)));
}

#[test]
fn one_answer_in_between_begins_a_new_series() {
    let start = Instant::now();
    let mut health = ServerHealth::new(SETTINGS);
    for _ in 0..10 {
        health.on_failure(start, failure("a"), false, 3);
        health.on_failure(start, failure("b"), false, 3);
        health.on_answer(start);
    }
    assert!(!health.is_away());
}
