//! Simulated servers that accept, refuse and delay requests, on a simulated clock.

use super::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const ANSWER: Duration = Duration::from_millis(50);
const REFUSAL: Duration = Duration::from_millis(1);
const HANG: Duration = Duration::from_secs(1);
/// Wait of a refused request.
const RETRY: Duration = Duration::from_millis(110);

/// Behavior of a server.
#[derive(Clone, Copy, Debug)]
enum Server {
    /// Answers every request.
    Willing,
    /// Refuses 20 of a hundred requests, fails 8 in other ways and never answers one, regardless of load.
    Storm,
    /// Processes up to this many requests at once and refuses the others.
    Slots(usize),
    /// Like `Slots`, but also refuses a fifth of the other requests.
    StormySlots(usize),
    /// Processes up to this many requests at full speed. More requests slow all down, until they time out.
    Shared(usize),
    /// Accepts this many requests per second, with a small burst after a pause, and refuses the others.
    Rate(u32),
}

/// Remaining allowance of a server with a limit per second.
#[derive(Default)]
struct Bucket {
    tokens: f64,
    filled: Duration,
}

impl Bucket {
    fn takes(&mut self, now: Duration, rate: u32) -> bool {
        let rate = f64::from(rate);
        let more = (now - self.filled).as_secs_f64() * rate;
        self.tokens = (self.tokens + more).min(rate / 4.0);
        self.filled = now;
        let takes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(takes));
        takes
    }
}

impl Server {
    /// Returns the outcome of a request that arrives at `now`, its duration, and whether it is answered. `in_flight`
    /// includes it.
    fn take(
        self,
        chance: u64,
        in_flight: usize,
        now: Duration,
        bucket: &mut Bucket,
    ) -> (RequestEnd, Duration, bool) {
        let refused = (RequestEnd::Throttled, REFUSAL, false);
        let answered = (RequestEnd::Accepted, ANSWER, true);
        match self {
            Server::Rate(rate) if !bucket.takes(now, rate) => refused,
            Server::Rate(_) => answered,
            Server::Willing => answered,
            Server::Slots(slots) if in_flight > slots => refused,
            Server::Slots(_) => answered,
            Server::StormySlots(slots) if in_flight > slots || chance < 20 => refused,
            Server::StormySlots(_) => answered,
            Server::Storm => match chance {
                0..20 => refused,
                20..28 => (RequestEnd::Accepted, REFUSAL, false),
                28 => (RequestEnd::TimedOut, HANG, false),
                _ => answered,
            },
            Server::Shared(slots) => {
                let took = ANSWER.mul_f64(in_flight.max(slots) as f64 / slots as f64);
                if took > HANG {
                    (RequestEnd::TimedOut, HANG, false)
                } else {
                    (RequestEnd::Accepted, took, true)
                }
            }
        }
    }
}

/// Result of a simulation.
struct Simulation {
    /// Average number of requests at the server.
    busy: f64,
    /// Average number of those that it will answer.
    answering: f64,
    /// Maximum number of attempts of a request.
    attempts: u32,
    concurrency: AdaptiveConcurrency,
}

/// Sends as many requests as the limit allows, for twenty seconds.
fn play(server: Server, most: usize) -> Simulation {
    let mut concurrency = AdaptiveConcurrency::new(most, true);
    // Times at which a request ends, or may be retried.
    let mut events: BinaryHeap<Reverse<(Duration, u64, Option<(u64, u8)>)>> = BinaryHeap::new();
    let (mut ready, mut attempts, mut next) = (VecDeque::<u64>::new(), HashMap::<u64, u32>::new(), 0);
    let (mut now, mut in_flight) = (Duration::ZERO, 0);
    let (mut busy, mut answering) = (Duration::ZERO, Duration::ZERO);
    let mut most_attempts = 0;
    let mut bucket = Bucket::default();
    let ends = [RequestEnd::Accepted, RequestEnd::Throttled, RequestEnd::TimedOut];
    let mut under_way: HashMap<u64, (Duration, bool)> = HashMap::new();
    while now < Duration::from_secs(20) {
        while in_flight < concurrency.limit() {
            let sample = ready.pop_front().unwrap_or_else(|| {
                next += 1;
                next
            });
            let attempt = attempts.entry(sample).or_insert(0);
            *attempt += 1;
            most_attempts = most_attempts.max(*attempt);
            let mut hasher = DefaultHasher::new();
            (sample, *attempt).hash(&mut hasher);
            in_flight += 1;
            let (end, took, is_answer) = server.take(hasher.finish() % 100, in_flight, now, &mut bucket);
            busy += took;
            answering += if is_answer { took } else { Duration::ZERO };
            let round = concurrency.sent(in_flight);
            let kind = ends.iter().position(|known| *known == end).expect("it is among them") as u8;
            under_way.insert(sample, (took, is_answer));
            events.push(Reverse((now + took, sample, Some((round, kind)))));
        }
        let Some(Reverse((moment, sample, ended))) = events.pop() else { break };
        now = moment;
        let Some((round, kind)) = ended else {
            ready.push_back(sample);
            continue;
        };
        let (took, is_answer) = under_way.remove(&sample).expect("it was sent");
        concurrency.ended(round, ends[usize::from(kind)], took);
        in_flight -= 1;
        if is_answer {
            attempts.remove(&sample);
        } else {
            events.push(Reverse((now + RETRY, sample, None)));
        }
    }
    let average = |time: Duration| time.as_secs_f64() / now.as_secs_f64();
    Simulation { busy: average(busy), answering: average(answering), attempts: most_attempts, concurrency }
}

#[test]
fn failures_unrelated_to_load_keep_slots_busy() {
    for most in [4, 16, 64, 256] {
        let played = play(Server::Storm, most);
        let share = played.busy / most as f64;
        assert!(share >= 0.9, "{most}: {share:.2} {:?}", played.concurrency);
    }
}

#[test]
fn a_host_that_is_overloaded_gets_about_what_it_takes() {
    for (server, slots, most, least) in [
        (Server::Slots(100), 100, 256, 0.75),
        (Server::Slots(100), 100, 4_096, 0.75),
        (Server::Slots(10), 10, 256, 0.7),
        (Server::Slots(3), 3, 256, 0.6),
        (Server::StormySlots(100), 100, 256, 0.7),
        (Server::Shared(64), 64, 256, 0.75),
        // This rate keeps a twentieth of them busy.
        (Server::Rate(80), 4, 64, 0.95),
        (Server::Rate(1_000), 50, 256, 0.95),
        (Server::Rate(20), 1, 64, 0.95),
    ] {
        let played = play(server, most);
        let share = played.answering / slots as f64;
        assert!(share >= least, "{server:?}: {share:.2} {:?}", played.concurrency);
        assert!(played.attempts <= 20, "{server:?}: {} attempts", played.attempts);
    }
    let overshot = play(Server::Slots(100), 4_096);
    assert!((40..=180).contains(&overshot.concurrency.limit()) && overshot.concurrency.cuts() > 3);
}

#[test]
fn a_host_that_takes_all_soon_gets_all() {
    assert_eq!(AdaptiveConcurrency::new(4_096, true).limit(), 256);
    for (most, first) in [(8, 8), (64, 32), (256, 32)] {
        assert_eq!(AdaptiveConcurrency::new(most, true).limit(), first);
        let played = play(Server::Willing, most);
        assert_eq!((played.concurrency.limit(), played.concurrency.cuts()), (most, 0));
        assert!(played.busy >= 0.99 * most as f64, "{most}: {:.1}", played.busy);
    }
}

#[test]
fn limit_doubles_only_if_it_is_used() {
    for (in_flight, limit) in [(32, 62), (20, 41), (8, 32)] {
        let mut concurrency = AdaptiveConcurrency::new(256, true);
        let rounds: Vec<u64> = (0..32).map(|number| concurrency.sent(in_flight.min(number + 1))).collect();
        rounds.iter().for_each(|round| concurrency.ended(*round, RequestEnd::Accepted, ANSWER));
        assert_eq!(concurrency.limit(), limit, "{in_flight} at once");
    }
}

#[test]
fn slow_start_doubles_until_a_refusal() {
    let mut concurrency = AdaptiveConcurrency::new(4_096, true);
    let rounds: Vec<u64> = (0..256).map(|number| concurrency.sent(number + 1)).collect();
    for limit in [512, 1_024] {
        concurrency.slow_start_tick();
        assert_eq!(concurrency.limit(), limit);
    }
    for round in rounds.iter().take(40) {
        concurrency.ended(*round, RequestEnd::Throttled, REFUSAL);
    }
    concurrency.slow_start_tick();
    assert_eq!(concurrency.limit(), 1_024, "the host has had enough");
}

#[test]
fn a_request_that_was_given_up_is_not_waited_for() {
    let mut concurrency = AdaptiveConcurrency::new(256, true);
    let rounds: Vec<u64> = (0..32).map(|number| concurrency.sent(number + 1)).collect();
    for round in rounds.iter().take(16) {
        concurrency.abandoned(*round);
    }
    for round in rounds.iter().skip(16) {
        concurrency.ended(*round, RequestEnd::TimedOut, HANG);
    }
    assert_eq!(concurrency.cuts(), 1);
}

/// Other processes cause the refusals. The limit would stay at one if it needed a round with few of them.
#[test]
fn a_limit_of_one_grows_with_answers() {
    let mut concurrency = AdaptiveConcurrency::new(64, true);
    let mut ask = |end| {
        let round = concurrency.sent(1);
        concurrency.ended(round, end, ANSWER);
        concurrency.limit()
    };
    while ask(RequestEnd::Throttled) > 1 {}
    let ends = [RequestEnd::Throttled, RequestEnd::Accepted].into_iter().cycle().take(64);
    let highest = ends.map(ask).max();
    assert_eq!(highest, Some(2), "half of the requests were answered, one after another");
}

#[test]
fn one_is_always_left_and_a_fixed_limit_stays() {
    for (is_adaptive, limit) in [(true, 1), (false, 100)] {
        let mut concurrency = AdaptiveConcurrency::new(100, is_adaptive);
        for _ in 0..50 {
            let rounds: Vec<u64> = (0..128).map(|number| concurrency.sent(number + 1)).collect();
            rounds.iter().for_each(|round| concurrency.ended(*round, RequestEnd::Throttled, REFUSAL));
        }
        assert_eq!(concurrency.limit(), limit);
        assert!(concurrency.is_refusing());
    }
}
