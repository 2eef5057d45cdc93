//! Several processes on one simulated server, in virtual time. Each has a limiter of its own, and knows nothing of the
//! others.

use super::{limits, retry};
use crate::http::clock::now;
use crate::http::failure::Backoff;
use crate::http::host_limiter::{AttemptEnd, AttemptOutcome, HostLimiter};
use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

const PROCESSES: usize = 8;
/// Requests that each process has in flight, or waiting for a retry.
const REQUESTS: usize = 64;
/// Maximum number of requests that have begun, if refused requests let others begin.
const MAX_STARTED: usize = 512;
/// Time that the server takes for an answer.
const ANSWER_TIME: Duration = Duration::from_millis(50);
/// Maximum time on the network, in each direction.
const MAX_NETWORK_MICROSECONDS: u64 = 1000;
/// Time at the beginning in which answers are not counted: the limits are too high at first.
const WARM_UP: Duration = Duration::from_secs(2);
/// Time in which answers of a fast server are counted.
const COUNTED: Duration = Duration::from_secs(30);
/// Time in which answers of a server with less than 100 per second are counted.
const COUNTED_IF_SLOW: Duration = Duration::from_secs(120);

/// Limit of a server.
#[derive(Clone, Copy, Debug)]
enum ServerLimit {
    /// It works on up to this many requests at once.
    Slots(usize),
    /// It answers up to this many requests per second, and a tenth of them at once after a pause.
    Rate(u32),
}

impl ServerLimit {
    /// Returns the answers per second that the server can give.
    fn answers_per_second(self) -> f64 {
        match self {
            ServerLimit::Slots(slots) => slots as f64 / ANSWER_TIME.as_secs_f64(),
            ServerLimit::Rate(rate) => f64::from(rate),
        }
    }

    /// Returns the time in which answers are counted.
    fn counted(self) -> Duration {
        if self.answers_per_second() < 100.0 { COUNTED_IF_SLOW } else { COUNTED }
    }
}

/// Server that refuses the requests above its limit.
struct SharedServer {
    limit: ServerLimit,
    in_flight: usize,
    /// Requests that a limit per second leaves now.
    left: f64,
    /// Time up to which they are counted.
    counted_at: Instant,
}

impl SharedServer {
    /// Returns true if a request that arrives now is answered.
    fn accepts(&mut self, now: Instant) -> bool {
        let accepts = match self.limit {
            ServerLimit::Slots(slots) => self.in_flight < slots,
            ServerLimit::Rate(rate) => {
                let rate = f64::from(rate);
                let earned = (now - self.counted_at).as_secs_f64() * rate;
                self.left = (self.left + earned).min((rate / 10.0).max(1.0));
                self.counted_at = now;
                let accepts = self.left >= 1.0;
                self.left -= if accepts { 1.0 } else { 0.0 };
                accepts
            }
        };
        self.in_flight += usize::from(accepts);
        accepts
    }
}

/// Refusal of a server.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    outcome: AttemptOutcome,
    retry_after: Option<Duration>,
}

/// One of the processes.
struct Process {
    number: usize,
    host: HostLimiter,
    /// Slots in which a request may begin.
    slots: Semaphore,
    backoff: Backoff,
    /// Number of answers after the warm-up.
    answers: Cell<u32>,
}

impl Process {
    fn new(number: usize) -> Process {
        let seed = number as u64;
        let backoff = Backoff { base: Duration::from_millis(500), limit: Duration::from_secs(30), seed };
        let (host, slots) = (HostLimiter::new(&limits(64), &retry()), Semaphore::new(REQUESTS));
        Process { number, host, slots, backoff, answers: Cell::new(0) }
    }

    /// Asks one request after another, without an end.
    async fn ask(
        &self,
        worker: usize,
        server: &RefCell<SharedServer>,
        refusal: Refusal,
        counted_from: Instant,
    ) {
        for request in 0_u64.. {
            let name = format!("process {}, worker {worker}, request {request}", self.number);
            self.answer(&name, server, refusal).await;
            if now() >= counted_from {
                self.answers.set(self.answers.get() + 1);
            }
        }
    }

    /// Sends a request until it is answered.
    async fn answer(&self, name: &str, server: &RefCell<SharedServer>, refusal: Refusal) {
        let mut slot = Some(self.slots.acquire().await.expect("it stays open"));
        let _outstanding = self.host.enter();
        let mut is_early = false;
        for attempt in 1_u32.. {
            let permit = self.host.acquire(1, is_early).await.expect("the server is not lost");
            tokio::time::sleep(network_time(name, attempt, "there")).await;
            let is_answered = server.borrow_mut().accepts(now());
            if is_answered {
                tokio::time::sleep(ANSWER_TIME).await;
                server.borrow_mut().in_flight -= 1;
            }
            tokio::time::sleep(network_time(name, attempt, "back")).await;
            if is_answered {
                permit.end(&AttemptEnd { request: name, ..AttemptEnd::of(AttemptOutcome::Answered) });
                return;
            }
            let Refusal { outcome, retry_after } = refusal;
            let is_away = permit.end(&AttemptEnd { request: name, retry_after, ..AttemptEnd::of(outcome) });
            let wait = self.backoff.wait(name, attempt, retry_after);
            // A request to a server that is away waits for its turn as a probe.
            if is_away && retry_after.is_none() {
                is_early = false;
                continue;
            }
            // Another request may begin in its slot.
            slot = slot.filter(|_| !self.host.refuses_at_random());
            is_early = self.host.retry_wait(wait, retry_after.is_some()).await;
            if slot.is_none() {
                slot = Some(self.slots.acquire().await.expect("it stays open"));
            }
        }
    }
}

/// Returns the time of a message on the network, which differs from one to the next.
fn network_time(name: &str, attempt: u32, direction: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    (name, attempt, direction).hash(&mut hasher);
    Duration::from_micros(hasher.finish() % MAX_NETWORK_MICROSECONDS)
}

/// Returns the number of answers that each process gets.
async fn answers_of_all(limit: ServerLimit, refusal: Refusal) -> Vec<f64> {
    let began = now();
    let server = &RefCell::new(SharedServer { limit, in_flight: 0, left: 0.0, counted_at: began });
    let processes: Vec<Process> = (0..PROCESSES).map(Process::new).collect();
    let workers = processes.iter().flat_map(|process| {
        (0..MAX_STARTED).map(move |worker| process.ask(worker, server, refusal, began + WARM_UP))
    });
    let end = tokio::time::timeout(WARM_UP + limit.counted(), futures::future::join_all(workers)).await;
    assert!(end.is_err(), "the requests have no end");
    processes.iter().map(|process| f64::from(process.answers.get())).collect()
}

/// No process is starved, and the server is busy. Before a limit of one could grow, some processes had a fifth of their
/// share, and before refusals by load were borne for some seconds, some had no answer at all. A process that took
/// refusals by load for random ones sent ever more requests, and had four times its share.
#[tokio::test(start_paused = true)]
async fn processes_on_one_server_get_about_equal_shares() {
    let second = Some(Duration::from_secs(1));
    let throttled = |retry_after| Refusal { outcome: AttemptOutcome::Throttled, retry_after };
    let overloaded = |retry_after| Refusal { outcome: AttemptOutcome::Overloaded, retry_after };
    for (limit, refusal) in [
        (ServerLimit::Slots(40), throttled(None)),
        (ServerLimit::Slots(40), overloaded(None)),
        (ServerLimit::Slots(40), overloaded(second)),
        (ServerLimit::Slots(4), overloaded(None)),
        (ServerLimit::Rate(200), throttled(None)),
        (ServerLimit::Rate(200), throttled(second)),
        (ServerLimit::Rate(20), throttled(None)),
        (ServerLimit::Rate(20), throttled(second)),
    ] {
        let answers = answers_of_all(limit, refusal).await;
        let total: f64 = answers.iter().sum();
        let least = answers.iter().copied().fold(f64::INFINITY, f64::min) * PROCESSES as f64 / total;
        // Jain's index: 1 if all shares are equal, and 1/8 if one process gets everything.
        let squares: f64 = answers.iter().map(|answers| answers * answers).sum();
        let fairness = total * total / (PROCESSES as f64 * squares);
        let used = total / (limit.answers_per_second() * limit.counted().as_secs_f64());
        assert!(
            least >= 0.6 && fairness >= 0.9 && used >= 0.9,
            "{limit:?}, {refusal:?}: least {least:.2} of a share, fairness {fairness:.2}, {used:.2} of the limit: {answers:?}"
        );
    }
}
